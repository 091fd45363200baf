//! I3: nothing is stored that nobody sent.

use std::collections::BTreeSet;

use kernel::Event;
use types::{PartitionId, RunId, Seq};

use super::{Accusations, Checker};
use crate::sighting::{Durable, Sighting, fingerprint};

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

    fn see(&mut self, sighting: &Sighting, accusations: &mut Accusations<'_>) {
        match sighting {
            Sighting::Sent { id, body } => {
                self.sent.insert((id.clone(), *body));
            }
            Sighting::FrameOffered { partition, seq, hash } => {
                self.frames.insert((*partition, *seq, *hash));
            }
            Sighting::InboxOffered { partition, hashes } => {
                self.requests.extend(hashes.iter().map(|hash| (*partition, *hash)));
            }
            Sighting::FrameRead { partition, seq, hash }
                if !self.frames.contains(&(*partition, *seq, *hash)) =>
            {
                accusations.accuse(format!("frame {seq} of partition {partition} was never written"));
            }
            Sighting::InboxRead { partition, seq, hash, .. }
                if !self.requests.contains(&(*partition, *hash)) =>
            {
                accusations.accuse(format!("request {seq} of partition {partition} was never written"));
            }
            _ => {}
        }
    }

    fn see_event(&mut self, durable: &Durable<'_>, accusations: &mut Accusations<'_>) {
        let Event::Accepted(accepted) = durable.event else { return };
        let request = &accepted.request;
        if !self.sent.contains(&(request.id.clone(), fingerprint(&request.body))) {
            accusations.accuse(format!("{} became a run, and no client sent it", request.id));
        }
    }
}
