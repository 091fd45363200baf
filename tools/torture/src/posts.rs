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
    book: Mutex<Book>,
    /// Posts that were answered with "later".
    pub refusals: AtomicU64,
}

/// A yes of a server.
#[derive(Debug, Clone)]
pub struct Yes {
    pub id: String,
    /// Who said it.
    pub by: SocketAddr,
    /// When the client heard it.
    pub at: Instant,
}

#[derive(Default)]
struct Book {
    sent: u64,
    /// In the order they were heard.
    acknowledged: Vec<Yes>,
    unanswered: BTreeSet<String>,
    wrong: BTreeMap<String, String>,
}

impl Posts {
    pub fn begin_round(&self) {
        self.round.fetch_add(1, Ordering::Relaxed);
    }

    /// A new id; from now on somebody may have heard of it.
    pub fn next_id(&self) -> String {
        let mut book = self.book();
        book.sent += 1;
        let id = format!("t-{}-{}", self.round.load(Ordering::Relaxed), book.sent);
        book.unanswered.insert(id.clone());
        id
    }

    /// An id that somebody chose; from now on somebody may have heard of it.
    pub fn note(&self, id: &str) {
        self.book().unanswered.insert(id.to_owned());
    }

    /// The server said yes.
    pub fn acknowledge(&self, id: &str, by: SocketAddr) {
        let mut book = self.book();
        book.unanswered.remove(id);
        book.acknowledged.push(Yes { id: id.to_owned(), by, at: Instant::now() });
    }

    /// The server said what it must not say.
    pub fn accuse(&self, id: &str, what: String) {
        let mut book = self.book();
        book.unanswered.remove(id);
        book.wrong.insert(id.to_owned(), what);
    }

    pub fn acknowledged(&self) -> Vec<String> {
        self.book().acknowledged.iter().map(|yes| yes.id.clone()).collect()
    }

    /// Who acknowledged what and when, in the order it was heard.
    pub fn answers(&self) -> Vec<Yes> {
        self.book().acknowledged.clone()
    }

    pub fn acknowledged_count(&self) -> usize {
        self.book().acknowledged.len()
    }

    /// Some of the ids that were acknowledged, drawn.
    pub fn sample(&self, dice: &mut Dice, most: usize) -> Vec<String> {
        let book = self.book();
        let count = book.acknowledged.len() as u64;
        let draws = if count == 0 { 0 } else { most };
        (0..draws).map(|_| book.acknowledged[dice.range(0, count) as usize].id.clone()).collect()
    }

    /// Ids that were sent and never answered; the server may have heard of them or not.
    pub fn unanswered(&self) -> BTreeSet<String> {
        self.book().unanswered.clone()
    }

    /// Answers that must not be, by id.
    pub fn wrong(&self) -> BTreeMap<String, String> {
        self.book().wrong.clone()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("nobody panics while holding the book")
    }
}
