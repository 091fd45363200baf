//! I13: the history is complete: every call that a service saw has a start, every start has an end.

use std::collections::BTreeSet;

use kernel::{Event, Fact, Run};
use types::{RunId, Work};

use super::{Accusations, Audit, Checker};
use crate::sighting::{Durable, Sighting};

#[derive(Default)]
pub struct Complete {
    started: BTreeSet<(RunId, Work, u32)>,
}

impl Checker for Complete {
    fn id(&self) -> &'static str {
        "I13"
    }

    fn see(&mut self, sighting: &Sighting, accusations: &mut Accusations<'_>) {
        if let Sighting::Reached { run, work, attempt, .. } = sighting
            && !self.started.contains(&(run.clone(), *work, *attempt))
        {
            accusations.accuse(format!("{run} {work:?} attempt {attempt} was seen by a service only"));
        }
    }

    fn see_event(&mut self, durable: &Durable<'_>, _accusations: &mut Accusations<'_>) {
        if let Event::Run { fact: Fact::Started { work, attempt }, .. } = durable.event {
            let run = durable.run.clone().expect("the event of a run has one");
            self.started.insert((run, *work, *attempt));
        }
    }

    fn audit(&self, audit: &Audit<'_>, accusations: &mut Accusations<'_>) {
        for run in audit.history.runs().filter(|run| run.status().is_final()) {
            for (work, attempt) in unended(run) {
                let id = &run.request.id;
                accusations.accuse(format!("{id} {work:?} attempt {attempt} began and never ended"));
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
