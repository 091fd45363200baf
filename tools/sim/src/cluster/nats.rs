//! The streams of a simulated JetStream: what it promises, and what it does not. Time and the way to it are its
//! callers' affair.

use std::collections::BTreeMap;

use bytes::Bytes;
use journal_nats::{Bounds, Outgoing, PublishError, Source};
use tokio::sync::watch;

/// Servers of a region; each stream has a replica on every one.
pub const SERVERS: u8 = 3;

/// How long a message's id is known, in ms.
const WINDOW_MS: u64 = 120_000;

/// One stream of a region.
pub struct Stream {
    /// Every message there ever was, in the order of its sequence; also those that were purged, for the checker.
    pub kept: Vec<Bytes>,
    first: u64,
    ids: BTreeMap<String, (u64, u64)>,
    tail: watch::Sender<u64>,
    pub leader: u8,
    /// Nobody answers for the stream until then.
    pub leaderless_until: u64,
    pub full: bool,
    /// Its subject was taken away: publishers find nobody, mirrors are filled.
    pub closed: bool,
    /// The region's epoch that its subject names, once it was opened by a promotion.
    pub opened: u64,
    damages: Vec<ReplicaDamage>,
    /// Who was asked last, when whoever wants to answers.
    asked: u8,
}

/// What is wrong with one replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaDamage {
    pub server: u8,
    pub damage: Damage,
}

/// How a replica differs from what was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// It ends early.
    Short { last: u64 },
    /// Some messages are missing in the middle.
    Gap { from: u64, through: u64 },
    /// The bytes of one message differ.
    Flipped { sequence: u64 },
}

impl Stream {
    pub fn new(leader: u8) -> Stream {
        Stream {
            kept: Vec::new(),
            first: 1,
            ids: BTreeMap::new(),
            tail: watch::channel(0).0,
            leader,
            leaderless_until: 0,
            full: false,
            closed: false,
            opened: 0,
            damages: Vec::new(),
            asked: 0,
        }
    }

    pub fn last(&self) -> u64 {
        self.kept.len() as u64
    }

    pub fn tail(&self) -> watch::Receiver<u64> {
        self.tail.subscribe()
    }

    pub fn bounds(&self) -> Bounds {
        let bytes = self.kept[self.first as usize - 1..].iter().map(|message| message.len() as u64).sum();
        let opened = (!self.closed).then_some(self.opened);
        Bounds { first: self.first, last: self.last(), bytes, opened }
    }

    /// Stores a message, or says why not. True when it was not there before.
    pub fn store(&mut self, message: &Outgoing, now: u64) -> Result<(u64, bool), PublishError> {
        if self.closed || epoch_of(&message.subject) != self.opened {
            return Err(PublishError::Unknown("no responders".to_owned()));
        }
        let known = message.message_id.as_ref().and_then(|id| self.ids.get(id));
        if let Some((sequence, _)) = known.filter(|(_, at)| at + WINDOW_MS > now) {
            return Ok((*sequence, false));
        }
        if message.expected_last.is_some_and(|expected| expected != self.last()) {
            return Err(PublishError::WrongLast);
        }
        if self.full {
            return Err(PublishError::Full);
        }
        self.add(message.payload.clone());
        if let Some(id) = &message.message_id {
            self.ids.insert(id.clone(), (self.last(), now));
        }
        Ok((self.last(), true))
    }

    /// A message comes from the stream that this one mirrors.
    pub fn add(&mut self, payload: Bytes) {
        self.kept.push(payload);
        self.tail.send_replace(self.last());
    }

    pub fn purge(&mut self, first: u64) {
        self.first = self.first.max(first.min(self.last() + 1));
    }

    /// A mirror begins where its origin does. Whether it had been cut, and is whole again.
    pub fn fill(&mut self, origin_first: u64) -> bool {
        let cut = self.first > origin_first;
        self.first = self.first.min(origin_first);
        cut
    }

    pub fn get(&mut self, sequence: u64, source: Source) -> Option<Bytes> {
        let server = match source {
            Source::Leader => self.leader,
            Source::AnyReplica => {
                self.asked = (self.asked + 1) % SERVERS;
                self.asked
            }
            Source::Pair => return self.whole(sequence),
        };
        self.on(server, sequence)
    }

    /// Messages of one replica, as it has them.
    pub fn range(&self, server: u8, from: u64, through: u64, bytes_max: usize) -> Vec<(u64, Bytes)> {
        let mut found = Vec::new();
        let mut bytes = 0;
        for sequence in from.max(self.first)..=through.min(self.last()) {
            if bytes >= bytes_max {
                break;
            }
            if let Some(message) = self.on(server, sequence) {
                bytes += message.len();
                found.push((sequence, message));
            }
        }
        found
    }

    pub fn damage_replica(&mut self, replica_damage: ReplicaDamage) {
        self.damages.push(replica_damage);
    }

    pub fn heal(&mut self) {
        self.damages.clear();
        self.full = false;
        self.leaderless_until = 0;
    }

    pub fn is_damaged(&self) -> bool {
        !self.damages.is_empty()
    }

    fn whole(&self, sequence: u64) -> Option<Bytes> {
        let there = sequence >= self.first && sequence > 0;
        there.then(|| self.kept.get(sequence as usize - 1).cloned()).flatten()
    }

    fn on(&self, server: u8, sequence: u64) -> Option<Bytes> {
        let mut message = self.whole(sequence)?;
        for replica_damage in self.damages.iter().filter(|replica_damage| replica_damage.server == server) {
            match replica_damage.damage {
                // The leader has every committed message.
                Damage::Short { last } if sequence > last && server != self.leader => return None,
                Damage::Gap { from, through } if (from..=through).contains(&sequence) => return None,
                Damage::Flipped { sequence: at } if at == sequence => message = flipped(&message),
                _ => {}
            }
        }
        Some(message)
    }
}

/// A subject is `sim.<kind>.<partition>`, and with a region's epoch appended after a promotion.
fn epoch_of(subject: &str) -> u64 {
    subject.split('.').nth(3).map_or(0, |epoch| epoch.parse().expect("an epoch is a number"))
}

fn flipped(message: &Bytes) -> Bytes {
    let mut bytes = message.to_vec();
    if let Some(byte) = bytes.last_mut() {
        *byte ^= 0x10;
    }
    bytes.into()
}
