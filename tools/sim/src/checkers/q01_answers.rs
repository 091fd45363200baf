//! Q1: what a sender or a consumer learned about messages is durable, and says the same.

use std::collections::{BTreeMap, BTreeSet};

use kernel::Event;
use kernel::queue::{Left, MessageFact, MessageNo, QueueFact};
use types::{PartitionId, Timestamp, Uid};

use super::{Checker, Violations};
use crate::observation::{DurableEvent, Observation, Settling};
use crate::queue_model::MessageStatus;

#[derive(Default)]
pub struct Answers {
    /// By partition and number: the name that it was sent to, and its id.
    sent: BTreeMap<(PartitionId, MessageNo), (String, String)>,
    /// The ids that a queue or topic has taken, as long as it is there.
    ids: BTreeMap<String, BTreeSet<String>>,
    /// Those that went with their queue, and when.
    gone: BTreeMap<(String, String), u64>,
    /// Those that are on their way: since when the first of how many.
    offered: BTreeMap<(String, String), (u64, u32)>,
    seen: u64,
    locked: BTreeSet<(Uid, MessageNo, Timestamp)>,
    renewed: BTreeSet<(Uid, Timestamp)>,
    settled: BTreeSet<(Uid, bool)>,
    taken: BTreeSet<MessageNo>,
}

impl Checker for Answers {
    fn id(&self) -> &'static str {
        "Q1"
    }

    fn observe(&mut self, observation: &Observation, violations: &mut Violations<'_>) {
        self.seen += 1;
        match observation {
            Observation::Crashed { .. } => self.offered.clear(),
            Observation::MessagesOffered { to, messages } => {
                for (id, _) in messages {
                    self.offered.entry((to.clone(), id.clone())).or_insert((self.seen, 0)).1 += 1;
                }
            }
            Observation::MessagesTaken { to, partition, messages } => {
                for (id, no) in messages {
                    let known = match no {
                        Some(no) => self.sent.get(&(*partition, *no)) == Some(&(to.clone(), id.clone())),
                        None => self.knew(to, id),
                    };
                    self.answered(to, id);
                    if !known {
                        violations.add_violation(format!(
                            "{id} was confirmed by {to} as {no:?} and is not durable"
                        ));
                    }
                }
            }
            Observation::MessageReceived { at, no, lock, .. } => {
                let known = match lock {
                    Some((token, until)) => self.locked.contains(&(*token, *no, *until)),
                    None => self.taken.contains(no),
                };
                if !known {
                    violations.add_violation(format!(
                        "message {} of {at} was handed out, which is not durable",
                        no.0
                    ));
                }
            }
            Observation::Settled { at, no, token, settling, until } => {
                let known = match (settling, until) {
                    (Settling::Renew, Some(until)) => self.renewed.contains(&(*token, *until)),
                    (Settling::Renew, None) => false,
                    (settling, _) => self.settled.contains(&(*token, *settling == Settling::Complete)),
                };
                if !known {
                    let no = no.0;
                    violations.add_violation(format!(
                        "message {no} of {at}: {settling:?} was confirmed and is not durable"
                    ));
                }
            }
            _ => {}
        }
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, _accusations: &mut Violations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        match &**fact {
            QueueFact::Sent(sent) => {
                let (name, id) = (sent.name.to_string(), sent.message.id.clone());
                self.ids.entry(name.clone()).or_default().insert(id.clone());
                self.sent.insert((durable.partition, sent.no), (name, id));
            }
            QueueFact::Deleted { name } => {
                for id in self.ids.remove(name.as_str()).unwrap_or_default() {
                    self.gone.insert((name.to_string(), id), self.seen);
                }
            }
            QueueFact::Message { queue, no, fact, .. } => {
                let kept = durable.queue_model.kept(durable.partition, *queue, *no);
                let token = kept.and_then(|(_, kept)| match kept.status {
                    MessageStatus::Locked { token, .. } => Some(token),
                    MessageStatus::Ready | MessageStatus::Scheduled { .. } => None,
                });
                self.note(*no, fact, token);
            }
            _ => {}
        }
    }
}

impl Answers {
    /// Whether a queue or topic has taken an id, at some moment since it was offered.
    fn knew(&self, name: &str, id: &str) -> bool {
        let place = (name.to_owned(), id.to_owned());
        let gone = self.gone.get(&place).zip(self.offered.get(&place));
        let gone_since = gone.is_some_and(|(gone, (from, _))| gone >= from);
        gone_since || self.ids.get(name).is_some_and(|ids| ids.contains(id))
    }

    fn answered(&mut self, name: &str, id: &str) {
        let place = (name.to_owned(), id.to_owned());
        if let Some((_, count)) = self.offered.get_mut(&place) {
            *count -= 1;
            if *count == 0 {
                self.offered.remove(&place);
            }
        }
    }

    fn note(&mut self, no: MessageNo, fact: &MessageFact, token: Option<Uid>) {
        match (fact, token) {
            (MessageFact::Locked { token, until }, _) => {
                self.locked.insert((*token, no, *until));
            }
            (MessageFact::Left { how: Left::Taken }, _) => {
                self.taken.insert(no);
            }
            (MessageFact::Renewed { until }, Some(token)) => {
                self.renewed.insert((token, *until));
            }
            (MessageFact::Left { how: Left::Completed }, Some(token)) => {
                self.settled.insert((token, true));
            }
            (MessageFact::Returned { .. } | MessageFact::DeadLettered { .. }, Some(token)) => {
                self.settled.insert((token, false));
            }
            _ => {}
        }
    }
}
