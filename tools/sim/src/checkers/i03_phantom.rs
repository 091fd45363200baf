//! I3: nothing is stored that nobody sent.

use std::collections::BTreeSet;

use kernel::Event;
use types::{PartitionId, RunId, Seq};

use super::{Checker, Violations};
use crate::observation::{DurableEvent, Observation, fingerprint};

#[derive(Default)]
pub struct Phantom {
    sent: BTreeSet<(RunId, u64)>,
    frames: BTreeSet<(PartitionId, Seq, u64)>,
    requests: BTreeSet<(PartitionId, u64)>,
}

impl Checker for Phantom {
    fn id(&self) -> &'static str {
        "I3"
    }

    fn observe(&mut self, observation: &Observation, violations: &mut Violations<'_>) {
        match observation {
            Observation::Sent { id, body } => {
                self.sent.insert((id.clone(), *body));
            }
            Observation::FrameOffered { partition, seq, hash } => {
                self.frames.insert((*partition, *seq, *hash));
            }
            Observation::InboxOffered { partition, hashes } => {
                self.requests.extend(hashes.iter().map(|hash| (*partition, *hash)));
            }
            Observation::FrameRead { partition, seq, hash }
                if !self.frames.contains(&(*partition, *seq, *hash)) =>
            {
                violations.add_violation(format!("frame {seq} of partition {partition} was never written"));
            }
            Observation::InboxRead { partition, seq, hash, .. }
                if !self.requests.contains(&(*partition, *hash)) =>
            {
                violations.add_violation(format!("request {seq} of partition {partition} was never written"));
            }
            _ => {}
        }
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        let Event::Accepted(accepted) = durable.event else { return };
        let request = &accepted.request;
        if !self.sent.contains(&(request.id.clone(), fingerprint(&request.body))) {
            violations.add_violation(format!("{} became a run, and no client sent it", request.id));
        }
    }
}
