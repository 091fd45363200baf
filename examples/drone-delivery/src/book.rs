//! The book of a service: what stands, what is gone for good, and which keys were answered how.
//!
//! Every effect is one ledger entry. The book changes by `apply` alone, from a new entry or from a
//! replayed one, so that a restart cannot differ from having gone on.

mod follow;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use crate::answer::Answer;
use crate::call::{Call, Target, View};
use crate::check::{Given, hash64, hash128};
use crate::ledger::{Effect, Ledger, Span};
use crate::models::{self, Work};
use crate::service::Service;

/// What the service has done, in numbers. Those up to `standing` survive a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    pub entries: u64,
    pub create: u64,
    pub update: u64,
    pub delete: u64,
    pub tombstone: u64,
    /// Created and not deleted.
    pub standing: u64,
    /// Requests that asked for what already stood, under no key or a new one.
    pub repeats: u64,
    /// Repeats whose key was not the key that created the thing.
    pub key_changes: u64,
    /// Requests answered from the record of their key.
    pub replays: u64,
    /// Late requests: they came after the DELETE and were refused.
    pub gone: u64,
    /// Requests refused because their key belongs to another request.
    pub key_conflicts: u64,
}

pub(crate) struct Book {
    service: Service,
    ledger: Ledger,
    things: BTreeMap<Box<str>, Thing>,
    keys: BTreeMap<u128, Recorded>,
    /// Standing claims on packages, by package and age; the newest is what a package looks like.
    claims: BTreeMap<(Box<str>, u64), Option<Box<str>>>,
    totals: Totals,
}

#[derive(Debug, Clone, Copy)]
struct Thing {
    stands: bool,
    /// The entry that created it.
    made: u64,
    /// Its newest entry.
    last: u64,
    updates: u32,
    state: Span,
    state_hash: u64,
    maker_key: Option<u128>,
}

/// What was answered to a key.
#[derive(Debug, Clone, Copy)]
struct Recorded {
    request: u64,
    status: u16,
    seq: u64,
    made: u64,
    state: Span,
}

impl Book {
    pub fn in_memory(service: Service) -> anyhow::Result<Book> {
        Ok(Book::empty(service, Ledger::in_memory(service)?))
    }

    pub fn open(service: Service, path: &Path) -> anyhow::Result<Book> {
        let mut book = Book::in_memory(service)?;
        book.ledger = Ledger::open(path, service, |line, span| {
            let state_hash = line.state.map(|state| hash64(&[state.get().as_bytes()]));
            book.apply(line, state_hash, span);
        })?;
        Ok(book)
    }

    fn empty(service: Service, ledger: Ledger) -> Book {
        Book {
            service,
            ledger,
            things: BTreeMap::new(),
            keys: BTreeMap::new(),
            claims: BTreeMap::new(),
            totals: Totals::default(),
        }
    }

    pub fn totals(&self) -> Totals {
        self.totals
    }

    pub fn file(&self) -> &Arc<File> {
        self.ledger.file()
    }

    /// The newest entry.
    pub fn tail(&self) -> u64 {
        self.ledger.next() - 1
    }

    /// Where in the file the entries from `seq` on are.
    pub fn entries_from(&self, seq: u64) -> io::Result<std::ops::Range<u64>> {
        self.ledger.range_from(seq)
    }

    /// The whole ledger as text.
    pub fn text(&self) -> io::Result<Vec<u8>> {
        self.ledger.text()
    }

    /// Does what a checked call asks, once. An error means that the ledger could not be written and
    /// that nothing happened.
    pub fn perform(&mut self, call: &Call, work: Work<'_>, now_ms: u64) -> io::Result<Answer> {
        if let Work::Read(view) = work {
            return self.read(&call.target, view);
        }
        let recorded = call.key.as_deref().and_then(|key| self.keys.get(&key_hash(key)).copied());
        if recorded.is_some_and(|recorded| recorded.request != call.fingerprint) {
            self.totals.key_conflicts += 1;
            return Ok(Answer::problem(422, "key_reused", "this Idempotency-Key belongs to another request"));
        }
        match work {
            Work::Read(_) => unreachable!("reads were answered above"),
            Work::Put(content) => self.put(call, recorded, &content, now_ms),
            Work::Merge(given) => self.merge(call, recorded, &given, now_ms),
            Work::Revert(given) => self.revert(call, recorded, &given, now_ms),
            Work::Withdraw => self.withdraw(call, recorded, now_ms),
        }
    }

    fn put(
        &mut self,
        call: &Call,
        recorded: Option<Recorded>,
        content: &str,
        now_ms: u64,
    ) -> io::Result<Answer> {
        let again = models::repeat_status(self.service);
        match (self.thing(&call.target), recorded) {
            // Gone outranks a recorded response: what was undone must not be used any more.
            (Some(thing), _) if !thing.stands => Ok(self.gone(thing)),
            (_, Some(recorded)) => self.replay(call, recorded),
            (Some(thing), None) if thing.state_hash == hash64(&[content.as_bytes()]) => {
                self.note_repeat(call, thing);
                self.show(again, &call.target, thing)
            }
            (Some(_), None) => {
                self.record(call, &call.target, Effect::Update, again, Some(content), now_ms)?;
                self.show_new(again, &call.target, content)
            }
            (None, None) => {
                self.record(call, &call.target, Effect::Create, 201, Some(content), now_ms)?;
                self.show_new(201, &call.target, content)
            }
        }
    }

    fn merge(
        &mut self,
        call: &Call,
        recorded: Option<Recorded>,
        given: &Given<'_>,
        now_ms: u64,
    ) -> io::Result<Answer> {
        let main = self.main_of(&call.target).unwrap_or_else(|| call.target.clone());
        let Some(thing) = self.thing(&main) else { return Ok(self.not_found()) };
        // Only a delivery has changes: there the claim names the change, not a hold.
        let is_change = self.service == Service::Delivery && call.target.claim.is_some();
        let change = if is_change { self.thing(&call.target) } else { None };
        if let Some(gone) = [Some(thing), change].into_iter().flatten().find(|thing| !thing.stands) {
            return Ok(self.gone(gone));
        }
        if let Some(recorded) = recorded {
            return self.replay(call, recorded);
        }
        let content = models::merged(self.service, &main.id, &self.ledger.read(thing.state)?, given);
        let same = thing.state_hash == hash64(&[content.as_bytes()]);
        let subject = if is_change { &call.target } else { &main };
        match (is_change, change) {
            (true, None) => self.record(call, subject, Effect::Create, 200, Some(&content), now_ms)?,
            (true, Some(_)) | (false, _) if same => self.note_repeat(call, thing),
            (true, Some(_)) | (false, _) => {
                self.record(call, subject, Effect::Update, 200, Some(&content), now_ms)?;
            }
        }
        self.show_new(200, &main, &content)
    }

    fn revert(
        &mut self,
        call: &Call,
        recorded: Option<Recorded>,
        given: &Given<'_>,
        now_ms: u64,
    ) -> io::Result<Answer> {
        let main = Target { id: call.target.id.clone(), claim: None };
        match (self.thing(&call.target), self.thing(&main)) {
            (_, _) if recorded.is_some() => {
                self.totals.replays += 1;
                return Ok(Answer::no_content().through(self.tail()).replayed());
            }
            (Some(change), _) if !change.stands => self.note_repeat(call, change),
            (Some(_), Some(thing)) if thing.stands => {
                let content = models::merged(self.service, &main.id, &self.ledger.read(thing.state)?, given);
                self.record(call, &call.target, Effect::Delete, 204, Some(&content), now_ms)?;
            }
            (Some(_), _) => self.record(call, &call.target, Effect::Delete, 204, None, now_ms)?,
            (None, _) => self.record(call, &call.target, Effect::Tombstone, 204, None, now_ms)?,
        }
        Ok(Answer::no_content().through(self.tail()))
    }

    fn withdraw(&mut self, call: &Call, recorded: Option<Recorded>, now_ms: u64) -> io::Result<Answer> {
        match (self.thing(&call.target), recorded) {
            (_, Some(recorded)) => return self.replay(call, recorded),
            (Some(thing), None) if !thing.stands => {
                self.note_repeat(call, thing);
                return Ok(Answer::no_content().through(thing.last));
            }
            (Some(_), None) => self.record(call, &call.target, Effect::Delete, 204, None, now_ms)?,
            (None, None) => self.record(call, &call.target, Effect::Tombstone, 204, None, now_ms)?,
        }
        Ok(Answer::no_content().through(self.tail()))
    }

    fn read(&self, target: &Target, view: View) -> io::Result<Answer> {
        let main = self.main_of(target);
        let Some((main, thing)) = main.and_then(|main| self.thing(&main).map(|thing| (main, thing))) else {
            let unknown_account = self.service == Service::Account;
            return Ok(if unknown_account { Answer::json(200, "true") } else { self.not_found() });
        };
        let content = || self.ledger.read(thing.state);
        let answer = match (view, self.service) {
            (View::Status, _) => Answer::json(200, format!("{{\"stage\":\"{}\"}}", stage(thing))),
            (View::Owner, _) => match models::member(&content()?, "owner") {
                Some(owner) => Answer::json(200, owner.to_owned()),
                None => self.not_found(),
            },
            (View::Whole, Service::Account) => {
                Answer::json(200, (!thing.stands || models::is_active(&content()?)).to_string())
            }
            (View::Whole, _) if !thing.stands => self.not_found(),
            (View::Whole, _) => models::shown(self.service, 200, &main, thing.made, content)?,
        };
        Ok(answer.through(thing.last))
    }

    /// The thing whose content a request shows or changes: for a package without a delivery the newest
    /// claim that stands, for a change the delivery.
    fn main_of(&self, target: &Target) -> Option<Target> {
        match (self.service, &target.claim) {
            (Service::Delivery, _) => Some(Target { id: target.id.clone(), claim: None }),
            (Service::Package, None) => {
                let id: Box<str> = target.id.as_str().into();
                let (_, claim) = self.claims.range((id.clone(), 0)..=(id, u64::MAX)).next_back()?;
                Some(Target { id: target.id.clone(), claim: claim.as_deref().map(str::to_owned) })
            }
            _ => Some(target.clone()),
        }
    }

    fn thing(&self, target: &Target) -> Option<Thing> {
        match &target.claim {
            None => self.things.get(target.id.as_str()).copied(),
            Some(_) => self.things.get(target.name().as_str()).copied(),
        }
    }

    fn replay(&mut self, call: &Call, recorded: Recorded) -> io::Result<Answer> {
        self.totals.replays += 1;
        let content = || self.ledger.read(recorded.state);
        let answer = models::shown(self.service, recorded.status, &call.target, recorded.made, content)?;
        Ok(answer.through(recorded.seq).replayed())
    }

    fn show(&self, status: u16, target: &Target, thing: Thing) -> io::Result<Answer> {
        let content = || self.ledger.read(thing.state);
        Ok(models::shown(self.service, status, target, thing.made, content)?.through(thing.last))
    }

    fn show_new(&self, status: u16, target: &Target, content: &str) -> io::Result<Answer> {
        let thing = self.thing(target).expect("the caller has just recorded or found it");
        let content = || Ok(content.to_owned());
        Ok(models::shown(self.service, status, target, thing.made, content)?.through(thing.last))
    }

    fn gone(&mut self, thing: Thing) -> Answer {
        self.totals.gone += 1;
        let detail = "this was deleted; a request that comes after the DELETE has no effect";
        Answer::problem(410, "gone", detail).through(thing.last)
    }

    fn not_found(&self) -> Answer {
        Answer::not_found("the service knows nothing under this id")
    }

    fn note_repeat(&mut self, call: &Call, thing: Thing) {
        self.totals.repeats += 1;
        let key = call.key.as_deref().map(key_hash);
        if key.is_some() && key != thing.maker_key {
            self.totals.key_changes += 1;
        }
    }
}

/// How far a delivery has come.
fn stage(thing: Thing) -> &'static str {
    match (thing.stands, thing.updates) {
        (false, _) => "Cancelled",
        (true, 0) => "Created",
        (true, _) => "Rescheduled",
    }
}

fn key_hash(key: &str) -> u128 {
    hash128(&[key.as_bytes()])
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::call::Verb;

    #[test]
    fn what_cannot_be_written_did_not_happen() {
        let read_only = File::open("/dev/null").unwrap();
        let mut book = Book::empty(Service::Drone, Ledger::over(read_only));
        let target = Target { id: "d-1".to_owned(), claim: None };
        let body = Bytes::from_static(b"{\"pickup\":\"a\",\"dropoff\":\"b\"}");
        let call = Call { verb: Verb::Put, target, key: Some("k".to_owned()), fingerprint: 1, body };
        let work = models::prepare(Service::Drone, &call).unwrap();
        book.perform(&call, work, 0).unwrap_err();
        assert!(book.thing(&call.target).is_none());
        assert!(book.keys.is_empty());
        assert_eq!(book.totals(), Totals::default());
    }
}
