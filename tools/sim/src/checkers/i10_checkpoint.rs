//! I10: the journal forgets only what a durable snapshot holds.

use std::collections::BTreeMap;

use types::{PartitionId, Seq};

use super::{Checker, Violations};
use crate::observation::Observation;

#[derive(Default)]
pub struct Checkpoint {
    /// How far the newest durable snapshot goes: events and inbox.
    snapshots: BTreeMap<PartitionId, (Seq, Seq)>,
}

impl Checker for Checkpoint {
    fn id(&self) -> &'static str {
        "I10"
    }

    fn observe(&mut self, observation: &Observation, violations: &mut Violations<'_>) {
        match observation {
            Observation::SnapshotKept { partition, through, inbox_through, .. } => {
                let before = self.snapshots.insert(*partition, (*through, *inbox_through));
                let (events, inbox) = before.unwrap_or_default();
                if *through < events || *inbox_through < inbox {
                    violations.add_violation(format!(
                        "the snapshots of {partition} go back from {events} to {through}"
                    ));
                }
            }
            Observation::Trimmed { partition, events, inbox } if *partition != PartitionId::CONTROL => {
                let (through, inbox_through) = self.snapshots.get(partition).copied().unwrap_or_default();
                if *events > through.next() || *inbox > inbox_through.next() {
                    violations.add_violation(format!(
                        "partition {partition} forgets events before {events} and requests before {inbox}; \
                         its snapshot holds {through} and {inbox_through}"
                    ));
                }
            }
            _ => {}
        }
    }
}
