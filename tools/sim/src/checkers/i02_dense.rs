//! I2: numbers are dense and never used twice; requests are taken in their order, none left out; runs of one key that
//! go one after another do.

use std::collections::{BTreeMap, BTreeSet};

use kernel::{Event, Fact};
use types::{Key, PartitionId, RunId, Seq};

use super::{Checker, Violations};
use crate::observation::{DurableEvent, Observation};

#[derive(Default)]
pub struct Dense {
    frames: BTreeMap<PartitionId, Seq>,
    taken: BTreeMap<PartitionId, Seq>,
    /// The serial runs that have not ended, by key, in their order.
    turns: BTreeMap<Key, BTreeMap<Seq, RunId>>,
    serial: BTreeMap<RunId, (Key, Seq)>,
    blamed: BTreeSet<RunId>,
}

impl Checker for Dense {
    fn id(&self) -> &'static str {
        "I2"
    }

    fn observe(&mut self, observation: &Observation, violations: &mut Violations<'_>) {
        if let Observation::FrameKept { partition, seq, .. } = observation {
            let before = self.frames.insert(*partition, *seq).unwrap_or_default();
            if *seq != before.next() {
                violations.add_violation(format!("frame {seq} of partition {partition} follows {before}"));
            }
        }
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        self.see_turn(durable, violations);
        let inbox = match durable.event {
            Event::Accepted(accepted) => accepted.inbox,
            Event::Dropped { inbox, .. } => *inbox,
            _ => return,
        };
        let before = self.taken.insert(durable.partition, inbox).unwrap_or_default();
        if inbox != before.next() {
            violations.add_violation(format!(
                "partition {} took request {inbox} after {before}",
                durable.partition
            ));
        }
    }
}

impl Dense {
    fn see_turn(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        match durable.event {
            Event::Accepted(accepted) if accepted.request.workflow.as_str() == crate::workflows::SERIAL => {
                let (key, id) = (&accepted.request.key, &accepted.request.id);
                self.turns.entry(key.clone()).or_default().insert(accepted.inbox, id.clone());
                self.serial.insert(id.clone(), (key.clone(), accepted.inbox));
            }
            Event::Run { fact, .. } => {
                let run = durable.run.as_ref().expect("the event of a run has one");
                let Some((key, inbox)) = self.serial.get(run) else { return };
                let turn = self.turns.get_mut(key).expect("noted with the run");
                match fact {
                    Fact::Completed | Fact::Undone | Fact::GivenUp => {
                        turn.remove(inbox);
                    }
                    Fact::Started { work, .. } if work.step().is_some() => {
                        let first = turn.first_key_value().map(|(first, _)| *first);
                        if first != Some(*inbox) && self.blamed.insert(run.clone()) {
                            violations
                                .add_violation(format!("{run} began before its turn among those of {key}"));
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}
