//! I8: nothing is called for a run whose end is durable; its end can still be reported.

use std::collections::BTreeSet;

use kernel::{Event, Fact};
use types::RunId;

use super::{Checker, Violations};
use crate::observation::{DurableEvent, Observation};

#[derive(Default)]
pub struct AfterTheEnd {
    ended: BTreeSet<RunId>,
}

impl Checker for AfterTheEnd {
    fn id(&self) -> &'static str {
        "I8"
    }

    fn observe(&mut self, observation: &Observation, violations: &mut Violations<'_>) {
        if let Observation::Ordered { run, work, .. } = observation
            && work.step().is_some()
            && self.ended.contains(run)
        {
            violations.add_violation(format!("{run} has ended and {work:?} is called"));
        }
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        let Event::Run { fact: Fact::Completed | Fact::Undone | Fact::GivenUp, .. } = durable.event else {
            return;
        };
        let run = durable.run.clone().expect("the event of a run has one");
        if !self.ended.insert(run.clone()) {
            violations.add_violation(format!("{run} has ended twice"));
        }
    }
}
