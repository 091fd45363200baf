//! How the book follows its ledger: each new entry is written, then applied like a replayed one.

use std::borrow::Cow;
use std::io;

use super::{Book, Recorded, Thing, key_hash};
use crate::call::{Call, Target};
use crate::check::hash64;
use crate::ledger::{Effect, Line, Span};
use crate::service::Service;

impl Book {
    /// Writes one effect and follows it. After an error nothing has happened.
    pub(super) fn record(
        &mut self,
        call: &Call,
        subject: &Target,
        effect: Effect,
        status: u16,
        state: Option<&str>,
        now_ms: u64,
    ) -> io::Result<()> {
        let updates = self.thing(subject).map_or(0, |thing| thing.updates);
        let line = Line {
            seq: self.ledger.next(),
            service: self.service,
            id: Cow::Borrowed(&subject.id),
            claim: subject.claim.as_deref().map(Cow::Borrowed),
            key: call.key.as_deref().map(Cow::Borrowed),
            effect,
            count: if effect == Effect::Update { updates + 1 } else { 1 },
            at_ms: now_ms,
            status,
            request: call.fingerprint,
            state: None,
        };
        let span = self.ledger.append(&line, state)?;
        self.apply(&line, state.map(|state| hash64(&[state.as_bytes()])), span);
        Ok(())
    }

    /// Follows one entry. `state_hash` is there when the entry brought a state, which `span` finds.
    pub(super) fn apply(&mut self, line: &Line<'_>, state_hash: Option<u64>, span: Span) {
        let subject =
            Target { id: line.id.clone().into_owned(), claim: line.claim.clone().map(Cow::into_owned) };
        let key = line.key.as_deref().map(key_hash);
        let name = subject.name();
        let thing = self.things.entry(name.into()).or_insert(Thing {
            stands: false,
            made: line.seq,
            last: line.seq,
            updates: 0,
            state: Span::default(),
            state_hash: 0,
            maker_key: key,
        });
        thing.last = line.seq;
        thing.stands = matches!(line.effect, Effect::Create | Effect::Update);
        thing.updates += u32::from(line.effect == Effect::Update);
        if let Some(state_hash) = state_hash {
            (thing.state, thing.state_hash) = (span, state_hash);
        }
        let made = thing.made;
        if let Some(key) = key {
            let recorded =
                Recorded { request: line.request, status: line.status, seq: line.seq, made, state: span };
            self.keys.insert(key, recorded);
        }
        self.count(line.effect);
        match self.service {
            Service::Package => self.note_claim(&subject, line.effect, made),
            Service::Delivery if subject.claim.is_some() => {
                self.follow_change(&subject.id, line, state_hash, span)
            }
            _ => {}
        }
    }

    fn note_claim(&mut self, subject: &Target, effect: Effect, made: u64) {
        let place = (subject.id.as_str().into(), made);
        match effect {
            Effect::Create => drop(self.claims.insert(place, subject.claim.as_deref().map(Box::from))),
            Effect::Delete => drop(self.claims.remove(&place)),
            Effect::Update | Effect::Tombstone => {}
        }
    }

    /// A change of a delivery brings the delivery's new state.
    fn follow_change(&mut self, id: &str, line: &Line<'_>, state_hash: Option<u64>, span: Span) {
        if let (Some(thing), Some(state_hash)) = (self.things.get_mut(id), state_hash) {
            (thing.state, thing.state_hash, thing.last) = (span, state_hash, line.seq);
            thing.updates += 1;
        }
    }

    fn count(&mut self, effect: Effect) {
        let totals = &mut self.totals;
        totals.entries += 1;
        match effect {
            Effect::Create => totals.create += 1,
            Effect::Update => totals.update += 1,
            Effect::Delete => totals.delete += 1,
            Effect::Tombstone => totals.tombstone += 1,
        }
        totals.standing = totals.create - totals.delete;
    }
}
