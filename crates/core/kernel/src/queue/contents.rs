//! One queue or subscription: its messages, where each stands, and what can be received next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use types::{QueueSpec, Timestamp, Uid};

use super::remembered_ids::RememberedIds;
use super::{MessageNo, SubQueue};

/// A queue or a subscription.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    pub spec: QueueSpec,
    pub version: u32,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
    pub(super) slots: BTreeMap<MessageNo, Slot>,
    pub(super) dead: BTreeMap<MessageNo, Dead>,
    pub(super) seen: RememberedIds,
    #[serde(skip)]
    pub(super) index: Index,
}

/// A message in a queue; its body is a row of the view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    pub sub_queue: SubQueue,
    pub state: MessageState,
    /// How often it was delivered.
    pub deliveries: u32,
    pub enqueued_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub session: Option<Arc<str>>,
    pub bytes: u32,
}

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageState {
    Scheduled { at: Timestamp },
    Ready,
    Locked { token: Uid, until: Timestamp },
}

/// Why a message is a dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dead {
    pub at: Timestamp,
    pub reason: String,
    pub description: String,
}

/// How many messages a queue has, by where they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub ready: usize,
    pub locked: usize,
    pub scheduled: usize,
    pub dead: usize,
    pub bytes: u64,
}

/// What is derived from the slots, to find them quickly.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Index {
    /// What can be received next: every ready message, or with sessions the first of each that has none locked.
    heads: BTreeSet<MessageNo>,
    dead_heads: BTreeSet<MessageNo>,
    /// Those of them that have a session. Dead letters of one may be received side by side.
    dead_in_session: BTreeSet<(Arc<str>, MessageNo)>,
    sessions: BTreeMap<Arc<str>, Session>,
    locks: BTreeMap<Uid, MessageNo>,
    counts: Counts,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Session {
    ready: BTreeSet<MessageNo>,
    locked: usize,
}

impl Slot {
    /// When it wants attention, if nothing comes in.
    pub(super) fn wake_at(&self) -> Option<Timestamp> {
        match self.state {
            MessageState::Scheduled { at } => Some(at),
            MessageState::Locked { until, .. } => Some(until),
            MessageState::Ready => self.expires_at.filter(|_| self.sub_queue == SubQueue::Main),
        }
    }
}

impl Queue {
    pub(super) fn new(spec: QueueSpec, at: Timestamp) -> Queue {
        Queue {
            spec,
            version: 1,
            created_at: at,
            changed_at: at,
            slots: BTreeMap::new(),
            dead: BTreeMap::new(),
            seen: RememberedIds::default(),
            index: Index::default(),
        }
    }

    /// Puts back what a snapshot leaves out.
    pub(super) fn restore(&mut self) {
        self.index = Index::default();
        self.seen.restore();
        for (no, slot) in &self.slots {
            self.index.note(*no, slot, self.spec.sessions);
        }
    }

    pub fn counts(&self) -> Counts {
        self.index.counts
    }

    pub fn slot(&self, no: MessageNo) -> Option<&Slot> {
        self.slots.get(&no)
    }

    /// The messages of a sub-queue from a number on, oldest first.
    pub fn slots(&self, sub_queue: SubQueue, from: MessageNo) -> impl Iterator<Item = (MessageNo, &Slot)> {
        // Dead letters are few among many, and have a list of their own.
        let dead = (sub_queue == SubQueue::Dead)
            .then(|| self.dead.range(from..).map(|(no, _)| (no, &self.slots[no])));
        let main = (sub_queue == SubQueue::Main).then(|| self.slots.range(from..));
        let main = main.into_iter().flatten().filter(|(_, slot)| slot.sub_queue == SubQueue::Main);
        dead.into_iter().flatten().chain(main).map(|(no, slot)| (*no, slot))
    }

    pub fn dead(&self, no: MessageNo) -> Option<&Dead> {
        self.dead.get(&no)
    }

    /// What a consumer gets next: of one session, if it names one.
    pub fn next(&self, sub_queue: SubQueue, session: Option<&str>) -> Option<MessageNo> {
        match (sub_queue, session) {
            (SubQueue::Dead, None) => self.index.dead_heads.first().copied(),
            (SubQueue::Dead, Some(session)) => self.index.dead_head_of(session),
            (SubQueue::Main, None) => self.index.heads.first().copied(),
            (SubQueue::Main, Some(session)) => self.index.head_of(session),
        }
    }

    /// The message that a lock is about.
    pub(super) fn locked(&self, token: Uid) -> Option<(MessageNo, &Slot)> {
        let no = *self.index.locks.get(&token)?;
        Some((no, &self.slots[&no]))
    }

    pub(super) fn insert(&mut self, no: MessageNo, slot: Slot) {
        self.index.note(no, &slot, self.spec.sessions);
        self.slots.insert(no, slot);
    }

    /// Changes a message and keeps the index in step.
    pub(super) fn change(&mut self, no: MessageNo, change: impl FnOnce(&mut Slot)) {
        let slot = self.slots.get_mut(&no).expect("a fact is about a message that is there");
        self.index.forget(no, slot, self.spec.sessions);
        change(slot);
        self.index.note(no, slot, self.spec.sessions);
    }

    pub(super) fn remove(&mut self, no: MessageNo) -> Slot {
        let slot = self.slots.remove(&no).expect("a fact is about a message that is there");
        self.index.forget(no, &slot, self.spec.sessions);
        self.dead.remove(&no);
        slot
    }
}

impl Index {
    fn head_of(&self, session: &str) -> Option<MessageNo> {
        let session = self.sessions.get(session).filter(|session| session.locked == 0)?;
        session.ready.first().copied()
    }

    fn dead_head_of(&self, session: &str) -> Option<MessageNo> {
        let first = (Arc::from(session), MessageNo(0));
        let (own, no) = self.dead_in_session.range(first..).next()?;
        (**own == *session).then_some(*no)
    }

    fn note(&mut self, no: MessageNo, slot: &Slot, sessions: bool) {
        *self.counts.of(slot) += 1;
        self.counts.bytes += u64::from(slot.bytes);
        if let MessageState::Locked { token, .. } = slot.state {
            self.locks.insert(token, no);
        }
        match (slot.sub_queue, &slot.session) {
            (SubQueue::Dead, session) => {
                if slot.state == MessageState::Ready {
                    self.dead_heads.insert(no);
                    self.dead_in_session.extend(session.clone().map(|session| (session, no)));
                }
            }
            (SubQueue::Main, Some(session)) if sessions => {
                self.note_in_session(session, no, slot.state, true)
            }
            (SubQueue::Main, _) => {
                if slot.state == MessageState::Ready {
                    self.heads.insert(no);
                }
            }
        }
    }

    /// Takes back what `note` did, before the message changes.
    fn forget(&mut self, no: MessageNo, slot: &Slot, sessions: bool) {
        *self.counts.of(slot) -= 1;
        self.counts.bytes -= u64::from(slot.bytes);
        if let MessageState::Locked { token, .. } = slot.state {
            self.locks.remove(&token);
        }
        match (slot.sub_queue, &slot.session) {
            (SubQueue::Dead, session) => {
                self.dead_heads.remove(&no);
                if let Some(session) = session {
                    self.dead_in_session.remove(&(session.clone(), no));
                }
            }
            (SubQueue::Main, Some(session)) if sessions => {
                self.note_in_session(session, no, slot.state, false)
            }
            (SubQueue::Main, _) => {
                self.heads.remove(&no);
            }
        }
    }

    fn note_in_session(&mut self, name: &Arc<str>, no: MessageNo, state: MessageState, enters: bool) {
        if let Some(head) = self.head_of(name) {
            self.heads.remove(&head);
        }
        let session = self.sessions.entry(name.clone()).or_default();
        match (state, enters) {
            (MessageState::Ready, true) => drop(session.ready.insert(no)),
            (MessageState::Ready, false) => drop(session.ready.remove(&no)),
            (MessageState::Locked { .. }, true) => session.locked += 1,
            (MessageState::Locked { .. }, false) => session.locked -= 1,
            (MessageState::Scheduled { .. }, _) => {}
        }
        if session.ready.is_empty() && session.locked == 0 {
            self.sessions.remove(name);
        }
        self.heads.extend(self.head_of(name));
    }
}

impl Counts {
    fn of(&mut self, slot: &Slot) -> &mut usize {
        match (slot.sub_queue, slot.state) {
            (SubQueue::Dead, _) => &mut self.dead,
            (SubQueue::Main, MessageState::Ready) => &mut self.ready,
            (SubQueue::Main, MessageState::Locked { .. }) => &mut self.locked,
            (SubQueue::Main, MessageState::Scheduled { .. }) => &mut self.scheduled,
        }
    }

    /// All messages, whatever they wait for.
    pub fn all(&self) -> usize {
        self.ready + self.locked + self.scheduled + self.dead
    }
}
