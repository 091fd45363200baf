//! What the clients sent and what they were told: the other side of every promise.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use crate::dice::Dice;

/// The memory of all clients together.
#[derive(Default)]
pub struct Posts {
    round: AtomicU32,
    // A lock because every client writes here; it is held for one insert at a time.
    log: Mutex<PostLog>,
    /// Posts that were answered with "later".
    pub refusals: AtomicU64,
}

/// A yes of a server.
#[derive(Debug, Clone)]
pub struct Acknowledgement {
    pub id: String,
    /// Who said it.
    pub by: SocketAddr,
    /// When the client heard it.
    pub at: Instant,
}

#[derive(Default)]
struct PostLog {
    sent: u64,
    /// In the order they were heard.
    acknowledged: Vec<Acknowledgement>,
    unanswered: BTreeSet<String>,
    wrong: BTreeMap<String, String>,
}

impl Posts {
    pub fn begin_round(&self) {
        self.round.fetch_add(1, Ordering::Relaxed);
    }

    /// A new id; from now on somebody may have heard of it.
    pub fn next_id(&self) -> String {
        let mut log = self.log();
        log.sent += 1;
        let id = format!("t-{}-{}", self.round.load(Ordering::Relaxed), log.sent);
        log.unanswered.insert(id.clone());
        id
    }

    /// An id that somebody chose; from now on somebody may have heard of it.
    pub fn note(&self, id: &str) {
        self.log().unanswered.insert(id.to_owned());
    }

    /// The server said yes.
    pub fn acknowledge(&self, id: &str, by: SocketAddr) {
        let mut log = self.log();
        log.unanswered.remove(id);
        log.acknowledged.push(Acknowledgement { id: id.to_owned(), by, at: Instant::now() });
    }

    /// The server said what it must not say.
    pub fn accuse(&self, id: &str, what: String) {
        let mut log = self.log();
        log.unanswered.remove(id);
        log.wrong.insert(id.to_owned(), what);
    }

    pub fn acknowledged(&self) -> Vec<String> {
        self.log().acknowledged.iter().map(|acknowledged| acknowledged.id.clone()).collect()
    }

    /// Who acknowledged what and when, in the order it was heard.
    pub fn answers(&self) -> Vec<Acknowledgement> {
        self.log().acknowledged.clone()
    }

    pub fn acknowledged_count(&self) -> usize {
        self.log().acknowledged.len()
    }

    /// Some of the ids that were acknowledged, drawn.
    pub fn sample(&self, dice: &mut Dice, most: usize) -> Vec<String> {
        let log = self.log();
        let count = log.acknowledged.len() as u64;
        let draws = if count == 0 { 0 } else { most };
        (0..draws).map(|_| log.acknowledged[dice.range(0, count) as usize].id.clone()).collect()
    }

    /// Ids that were sent and never answered; the server may have heard of them or not.
    pub fn unanswered(&self) -> BTreeSet<String> {
        self.log().unanswered.clone()
    }

    /// Answers that must not be, by id.
    pub fn wrong(&self) -> BTreeMap<String, String> {
        self.log().wrong.clone()
    }

    fn log(&self) -> MutexGuard<'_, PostLog> {
        self.log.lock().expect("nobody panics while holding the log")
    }
}
