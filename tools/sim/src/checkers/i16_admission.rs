//! I16: no more requests are acknowledged and unfinished than was set.

use std::collections::BTreeSet;

use kernel::{Event, Fact};
use types::RunId;

use super::{Checker, Violations};
use crate::observation::{DurableEvent, Observation};

pub struct Admission {
    unfinished_max: usize,
    unfinished: BTreeSet<RunId>,
    ended: BTreeSet<RunId>,
}

impl Admission {
    pub fn new(unfinished_max: usize) -> Admission {
        Admission { unfinished_max, unfinished: BTreeSet::new(), ended: BTreeSet::new() }
    }
}

impl Checker for Admission {
    fn id(&self) -> &'static str {
        "I16"
    }

    fn observe(&mut self, observation: &Observation, violations: &mut Violations<'_>) {
        let Observation::Acked { id, .. } = observation else { return };
        let is_new = !self.ended.contains(id) && self.unfinished.insert(id.clone());
        if is_new && self.unfinished.len() > self.unfinished_max {
            let (now, max) = (self.unfinished.len(), self.unfinished_max);
            violations
                .add_violation(format!("{now} acknowledged requests have not ended, {max} are allowed"));
        }
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, _accusations: &mut Violations<'_>) {
        if let Event::Run { fact: Fact::Completed | Fact::Undone | Fact::GivenUp, .. } = durable.event {
            let run = durable.run.clone().expect("the event of a run has one");
            self.unfinished.remove(&run);
            self.ended.insert(run);
        }
    }
}
