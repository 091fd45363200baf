//! I11: a nominal instant of a job is fired at most once, under one key, not before its time, and none that is older
//! than one that was fired.

use std::collections::{BTreeMap, BTreeSet};

use kernel::Event;
use kernel::job::Occurrence;
use types::{Key, RunId, Ticks};

use super::{Accusations, Checker};
use crate::sighting::Durable;

#[derive(Default)]
pub struct Once {
    ids: BTreeSet<RunId>,
    /// The newest nominal instant of each job that was fired.
    newest: BTreeMap<Key, Ticks>,
}

impl Checker for Once {
    fn id(&self) -> &'static str {
        "I11"
    }

    fn see_event(&mut self, durable: &Durable<'_>, accusations: &mut Accusations<'_>) {
        let Event::Fired(fired) = durable.event else { return };
        let request = &fired.request;
        let Some(occurrence) = Occurrence::of_request(request) else {
            return accusations.accuse(format!("{} cannot be read", request.id));
        };
        if !self.ids.insert(request.id.clone()) {
            accusations.accuse(format!("{} was fired twice", request.id));
        }
        if occurrence.by_hand {
            return;
        }
        let expected = occurrence.expected;
        if request.id.as_str() != format!("{}.{}", request.key, expected.0) {
            accusations.accuse(format!("{} is the key of the instant {}", request.id, expected.0));
        }
        if request.accepted_at < expected.ceil() {
            accusations.accuse(format!("{} was fired at {}", request.id, request.accepted_at.0));
        }
        let newest = self.newest.insert(request.key.clone(), expected);
        if newest.is_some_and(|newest| newest >= expected) {
            accusations.accuse(format!("{} was fired after {newest:?}", request.id));
        }
    }
}
