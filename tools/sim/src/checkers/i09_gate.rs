//! I9: nothing leaves before what it depends on is durable: no call before its start, no yes before its request.

use std::collections::BTreeSet;

use kernel::{Event, Fact};
use types::{RunId, Work};

use super::{Checker, Violations};
use crate::observation::{DurableEvent, Observation};

#[derive(Default)]
pub struct Gate {
    started: BTreeSet<(RunId, Work, u32)>,
    requests: BTreeSet<RunId>,
}

impl Checker for Gate {
    fn id(&self) -> &'static str {
        "I9"
    }

    fn observe(&mut self, observation: &Observation, violations: &mut Violations<'_>) {
        match observation {
            Observation::InboxKept { ids, .. } => self.requests.extend(ids.iter().cloned()),
            // An append that was never answered may have been kept.
            Observation::InboxRead { id, .. } => {
                self.requests.insert(id.clone());
            }
            Observation::Acked { id, .. } if !self.requests.contains(id) => {
                violations.add_violation(format!("{id} was acknowledged before it was durable"));
            }
            Observation::Ordered { run, work, attempt, .. }
                if !self.started.contains(&(run.clone(), *work, *attempt)) =>
            {
                violations
                    .add_violation(format!("{run} {work:?} attempt {attempt} left before it was durable"));
            }
            _ => {}
        }
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, _accusations: &mut Violations<'_>) {
        match durable.event {
            Event::Accepted(accepted) => {
                self.requests.insert(accepted.request.id.clone());
            }
            Event::Run { fact: Fact::Started { work, attempt }, .. } => {
                let run = durable.run.clone().expect("the event of a run has one");
                self.started.insert((run, *work, *attempt));
            }
            _ => {}
        }
    }
}
