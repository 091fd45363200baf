//! I17: a partition takes no more requests than it may hold runs in memory.

use std::collections::{BTreeMap, BTreeSet};

use kernel::{Event, Fact};
use types::{PartitionId, RunId};

use super::{Checker, Violations};
use crate::observation::DurableEvent;

pub struct Bounds {
    live_runs_max: usize,
    /// The runs of each partition that move.
    moving: BTreeMap<PartitionId, BTreeSet<RunId>>,
}

impl Bounds {
    pub fn new(live_runs_max: usize) -> Bounds {
        Bounds { live_runs_max, moving: BTreeMap::new() }
    }
}

impl Checker for Bounds {
    fn id(&self) -> &'static str {
        "I17"
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        let Some(run) = durable.run.clone() else { return };
        let moving = self.moving.entry(durable.partition).or_default();
        match durable.event {
            Event::Accepted(_) => {
                moving.insert(run);
                if moving.len() > self.live_runs_max {
                    let (now, max) = (moving.len(), self.live_runs_max);
                    violations.add_violation(format!("{now} runs are in memory, {max} are allowed"));
                }
            }
            Event::Fired(_) | Event::Run { fact: Fact::Decided { .. }, .. } => {
                moving.insert(run);
            }
            Event::Run { fact: Fact::Parked { .. }, .. } => {
                moving.remove(&run);
            }
            Event::Run { fact: Fact::Completed | Fact::Undone | Fact::GivenUp, .. } => {
                moving.remove(&run);
            }
            _ => {}
        }
    }
}
