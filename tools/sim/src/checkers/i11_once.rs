//! I11: a nominal instant of a job is fired at most once, under one key, not before its time, and none that is older
//! than one that was fired.

use std::collections::{BTreeMap, BTreeSet};

use kernel::Event;
use kernel::job::Occurrence;
use types::{Key, RunId, Ticks};

use super::{Checker, Violations};
use crate::observation::DurableEvent;

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

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        let Event::Fired(fired) = durable.event else { return };
        let request = &fired.request;
        let Some(occurrence) = Occurrence::of_request(request) else {
            return violations.add_violation(format!("{} cannot be read", request.id));
        };
        if !self.ids.insert(request.id.clone()) {
            violations.add_violation(format!("{} was fired twice", request.id));
        }
        if occurrence.by_hand {
            return;
        }
        let expected = occurrence.expected;
        if request.id.as_str() != format!("{}.{}", request.key, expected.0) {
            violations.add_violation(format!("{} is the key of the instant {}", request.id, expected.0));
        }
        if request.accepted_at < expected.ceil() {
            violations.add_violation(format!("{} was fired at {}", request.id, request.accepted_at.0));
        }
        let newest = self.newest.insert(request.key.clone(), expected);
        if newest.is_some_and(|newest| newest >= expected) {
            violations.add_violation(format!("{} was fired after {newest:?}", request.id));
        }
    }
}
