//! I9: nothing leaves before what it depends on is durable: no call before its start, no yes before its request.

use std::collections::BTreeSet;

use kernel::{Event, Fact};
use types::{RunId, Work};

use super::{Accusations, Checker};
use crate::sighting::{Durable, Sighting};

#[derive(Default)]
pub struct Gate {
    started: BTreeSet<(RunId, Work, u32)>,
    requests: BTreeSet<RunId>,
}

impl Checker for Gate {
    fn id(&self) -> &'static str {
        "I9"
    }

    fn see(&mut self, sighting: &Sighting, accusations: &mut Accusations<'_>) {
        match sighting {
            Sighting::InboxKept { ids, .. } => self.requests.extend(ids.iter().cloned()),
            // An append that was never answered may have been kept.
            Sighting::InboxRead { id, .. } => {
                self.requests.insert(id.clone());
            }
            Sighting::Acked { id, .. } if !self.requests.contains(id) => {
                accusations.accuse(format!("{id} was acknowledged before it was durable"));
            }
            Sighting::Ordered { run, work, attempt, .. }
                if !self.started.contains(&(run.clone(), *work, *attempt)) =>
            {
                accusations.accuse(format!("{run} {work:?} attempt {attempt} left before it was durable"));
            }
            _ => {}
        }
    }

    fn see_event(&mut self, durable: &Durable<'_>, _accusations: &mut Accusations<'_>) {
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
