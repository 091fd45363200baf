//! O1: occurrences that must not overlap do not: none is fired beside another, or they are called one after another.

use std::collections::{BTreeMap, BTreeSet};

use kernel::{Event, Fact};
use types::{Key, Overlap, RunId};

use super::{Checker, Violations};
use crate::observation::DurableEvent;

#[derive(Default)]
pub struct NoOverlap {
    /// The running occurrences that wait for each other, oldest first.
    turns: BTreeMap<Key, Vec<RunId>>,
    serial: BTreeMap<RunId, Key>,
    blamed: BTreeSet<RunId>,
}

impl Checker for NoOverlap {
    fn id(&self) -> &'static str {
        "O1"
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        match durable.event {
            Event::Fired(fired) => {
                let (id, key) = (&fired.request.id, &fired.request.key);
                let Some(job) = durable.job_model.jobs.get(&fired.job) else { return };
                let spec = &job.definition.spec;
                let recurs = spec.timing.recurrence.is_some();
                if recurs && spec.overlap == Overlap::Skip && durable.job_model.live(job) > 0 {
                    violations.add_violation(format!("{id} was fired beside the one before it"));
                }
                if spec.overlap == Overlap::Queue {
                    self.turns.entry(key.clone()).or_default().push(id.clone());
                    self.serial.insert(id.clone(), key.clone());
                }
            }
            Event::Run { fact, .. } => {
                let run = durable.run.as_ref().expect("the event of a run has one");
                let Some(key) = self.serial.get(run) else { return };
                let turn = self.turns.get_mut(key).expect("noted with the run");
                match fact {
                    Fact::Completed | Fact::Undone | Fact::GivenUp => turn.retain(|live| live != run),
                    Fact::Started { .. } if turn.first() != Some(run) && self.blamed.insert(run.clone()) => {
                        violations.add_violation(format!("{run} began before its turn"));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}
