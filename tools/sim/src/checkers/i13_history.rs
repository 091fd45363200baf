//! I13: the history is complete: every call that a service saw has a start, every start has an end.

use std::collections::BTreeSet;

use kernel::{Event, Fact, Run};
use types::{RunId, Work};

use super::{Audit, Checker, Violations};
use crate::observation::{DurableEvent, Observation};

#[derive(Default)]
pub struct Complete {
    started: BTreeSet<(RunId, Work, u32)>,
}

impl Checker for Complete {
    fn id(&self) -> &'static str {
        "I13"
    }

    fn observe(&mut self, observation: &Observation, violations: &mut Violations<'_>) {
        if let Observation::Reached { run, work, attempt, .. } = observation
            && !self.started.contains(&(run.clone(), *work, *attempt))
        {
            violations.add_violation(format!("{run} {work:?} attempt {attempt} was seen by a service only"));
        }
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, _accusations: &mut Violations<'_>) {
        if let Event::Run { fact: Fact::Started { work, attempt }, .. } = durable.event {
            let run = durable.run.clone().expect("the event of a run has one");
            self.started.insert((run, *work, *attempt));
        }
    }

    fn audit(&self, audit: &Audit<'_>, violations: &mut Violations<'_>) {
        for run in audit.history.runs().filter(|run| run.status().is_final()) {
            for (work, attempt) in unended(run) {
                let id = &run.request.id;
                violations.add_violation(format!("{id} {work:?} attempt {attempt} began and never ended"));
            }
        }
    }
}

fn unended(run: &Run) -> BTreeSet<(Work, u32)> {
    let mut open = BTreeSet::new();
    for moment in &run.timeline {
        match &moment.fact {
            Fact::Started { work, attempt } if work.step().is_some() => {
                open.insert((*work, *attempt));
            }
            Fact::Ended { work, attempt, .. } => {
                open.remove(&(*work, *attempt));
            }
            _ => {}
        }
    }
    open
}
