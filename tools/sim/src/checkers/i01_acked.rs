//! I1: what was acknowledged is there after every start, byte for byte.

use std::collections::BTreeMap;

use types::{PartitionId, RunId, Seq};

use super::{Audit, Checker, Violations};
use crate::observation::{Observation, fingerprint};

#[derive(Default)]
pub struct Acked {
    /// What the journal said is durable.
    frames: BTreeMap<(PartitionId, Seq), u64>,
    frames_tail: BTreeMap<PartitionId, Seq>,
    inbox: BTreeMap<(PartitionId, Seq), u64>,
    inbox_tail: BTreeMap<PartitionId, Seq>,
    snapshots: BTreeMap<PartitionId, Vec<(Seq, u64)>>,
    /// What clients learned.
    clients: BTreeMap<RunId, u64>,
}

impl Checker for Acked {
    fn id(&self) -> &'static str {
        "I1"
    }

    fn observe(&mut self, observation: &Observation, violations: &mut Violations<'_>) {
        match observation {
            Observation::Acked { id, body, .. } => {
                let before = self.clients.insert(id.clone(), *body);
                if before.is_some_and(|before| before != *body) {
                    violations.add_violation(format!("{id} was acknowledged with two bodies"));
                }
            }
            Observation::FrameKept { partition, seq, hash } => {
                self.frames.insert((*partition, *seq), *hash);
                self.frames_tail.insert(*partition, *seq);
            }
            Observation::InboxKept { partition, last, hashes, .. } => {
                for (number, hash) in (last.0 + 1 - hashes.len() as u64..).zip(hashes) {
                    self.inbox.insert((*partition, Seq(number)), *hash);
                }
                let tail = self.inbox_tail.entry(*partition).or_default();
                *tail = (*tail).max(*last);
            }
            Observation::SnapshotKept { partition, through, hash, .. } => {
                self.snapshots.entry(*partition).or_default().push((*through, *hash));
            }
            Observation::Claimed { partition, tail } => {
                let kept = self.frames_tail.get(partition).copied().unwrap_or_default();
                if *tail < kept {
                    violations.add_violation(format!(
                        "partition {partition} ends at frame {tail}; {kept} was acknowledged"
                    ));
                }
            }
            Observation::InboxFound { partition, tail } => {
                let kept = self.inbox_tail.get(partition).copied().unwrap_or_default();
                if *tail < kept {
                    violations.add_violation(format!(
                        "the inbox of {partition} ends at {tail}; {kept} was acknowledged"
                    ));
                }
            }
            Observation::FrameRead { partition, seq, hash }
                if self.frames.get(&(*partition, *seq)).is_some_and(|kept| kept != hash) =>
            {
                violations.add_violation(format!("frame {seq} of partition {partition} has other bytes"));
            }
            Observation::InboxRead { partition, seq, hash, .. }
                if self.inbox.get(&(*partition, *seq)).is_some_and(|kept| kept != hash) =>
            {
                violations.add_violation(format!("request {seq} of partition {partition} has other bytes"));
            }
            Observation::SnapshotRead { partition, through, hash } => {
                self.see_snapshot(*partition, *through, *hash, violations);
            }
            _ => {}
        }
    }

    fn audit(&self, audit: &Audit<'_>, violations: &mut Violations<'_>) {
        for (id, body) in &self.clients {
            match audit.run(id) {
                None => violations.add_violation(format!("{id} was acknowledged and is nowhere")),
                Some(run) if fingerprint(&run.request.body) != *body => {
                    violations.add_violation(format!("{id} was acknowledged with another body"));
                }
                Some(_) => {}
            }
        }
    }
}

impl Acked {
    fn see_snapshot(&self, partition: PartitionId, through: Seq, hash: u64, violations: &mut Violations<'_>) {
        let kept = self.snapshots.get(&partition).map_or(&[][..], Vec::as_slice);
        let newest = kept.iter().map(|(through, _)| *through).max().unwrap_or_default();
        if through < newest {
            violations.add_violation(format!(
                "partition {partition} found its snapshot at {through}; one at {newest} was acknowledged"
            ));
        }
        if kept.iter().any(|(at, kept)| *at == through && *kept != hash) {
            violations
                .add_violation(format!("the snapshot of partition {partition} at {through} has other bytes"));
        }
    }
}
