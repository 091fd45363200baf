//! I8: nothing is called for a run whose end is durable; its end can still be reported.

use std::collections::BTreeSet;

use kernel::{Event, Fact};
use types::RunId;

use super::{Accusations, Checker};
use crate::sighting::{Durable, Sighting};

#[derive(Default)]
pub struct AfterTheEnd {
    ended: BTreeSet<RunId>,
}

impl Checker for AfterTheEnd {
    fn id(&self) -> &'static str {
        "I8"
    }

    fn see(&mut self, sighting: &Sighting, accusations: &mut Accusations<'_>) {
        if let Sighting::Ordered { run, work, .. } = sighting
            && work.step().is_some()
            && self.ended.contains(run)
        {
            accusations.accuse(format!("{run} has ended and {work:?} is called"));
        }
    }

    fn see_event(&mut self, durable: &Durable<'_>, accusations: &mut Accusations<'_>) {
        let Event::Run { fact: Fact::Completed | Fact::Undone | Fact::GivenUp, .. } = durable.event else {
            return;
        };
        let run = durable.run.clone().expect("the event of a run has one");
        if !self.ended.insert(run.clone()) {
            accusations.accuse(format!("{run} has ended twice"));
        }
    }
}
