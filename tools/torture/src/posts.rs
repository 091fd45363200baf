//! What the clients sent and the responses they got: the other side of every promise.

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
    /// Posts that were refused temporarily.
    pub refusals: AtomicU64,
}

/// An acknowledgement of a server.
#[derive(Debug, Clone)]
pub struct Acknowledgement {
    pub id: String,
    /// The instance that sent it.
    pub by: SocketAddr,
    /// When the client received it.
    pub at: Instant,
}

#[derive(Default)]
struct PostLog {
    sent: u64,
    /// In the order of their arrival.
    acknowledged: Vec<Acknowledgement>,
    unanswered: BTreeSet<String>,
    wrong: BTreeMap<String, String>,
}

impl Posts {
    pub fn begin_round(&self) {
        self.round.fetch_add(1, Ordering::Relaxed);
    }

    /// A new id; from now on a server may have received it.
    pub fn next_id(&self) -> String {
        let mut log = self.log();
        log.sent += 1;
        let id = format!("t-{}-{}", self.round.load(Ordering::Relaxed), log.sent);
        log.unanswered.insert(id.clone());
        id
    }

    /// A given id; from now on a server may have received it.
    pub fn note(&self, id: &str) {
        self.log().unanswered.insert(id.to_owned());
    }

    /// Records an acknowledgement.
    pub fn acknowledge(&self, id: &str, by: SocketAddr) {
        let mut log = self.log();
        log.unanswered.remove(id);
        log.acknowledged.push(Acknowledgement { id: id.to_owned(), by, at: Instant::now() });
    }

    /// Records a response that the server must not send.
    pub fn record_wrong(&self, id: &str, what: String) {
        let mut log = self.log();
        log.unanswered.remove(id);
        log.wrong.insert(id.to_owned(), what);
    }

    pub fn acknowledged(&self) -> Vec<String> {
        self.log().acknowledged.iter().map(|acknowledged| acknowledged.id.clone()).collect()
    }

    /// All acknowledgements, in the order of their arrival.
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

    /// Ids that were sent without a response; the server may or may not have received them.
    pub fn unanswered(&self) -> BTreeSet<String> {
        self.log().unanswered.clone()
    }

    /// Wrong responses, by id.
    pub fn wrong(&self) -> BTreeMap<String, String> {
        self.log().wrong.clone()
    }

    fn log(&self) -> MutexGuard<'_, PostLog> {
        self.log.lock().expect("nobody panics while holding the log")
    }
}
