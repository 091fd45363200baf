//! Accepting many requests at once: each line is checked on its own, each partition gets one append.

use std::collections::BTreeMap;

use bytes::Bytes;
use journal::Journal;
use types::PartitionId;

use crate::submit::{Admitted, Checked, Elsewhere, Ingest, Offer, Ready, SubmitError, Submitted, Target};

/// The answer to one line of a batch.
pub type BatchLine = Result<Submitted, SubmitError>;

impl Ingest {
    /// Accepts the bodies one by one; the answers are in their order. When this returns, every `Ok` is durable.
    pub async fn submit_batch(
        &self,
        _: Admitted,
        target: Target<'_>,
        bodies: Vec<Bytes>,
        elsewhere: Elsewhere,
    ) -> Vec<BatchLine> {
        let _entering = self.ids.count_client();
        let mut lines: Vec<Option<BatchLine>> = Vec::new();
        let mut groups: BTreeMap<PartitionId, Vec<(usize, Ready)>> = BTreeMap::new();
        for (place, body) in bodies.into_iter().enumerate() {
            let offer = Offer { body, elsewhere, ..Offer::default() };
            match self.check(target, offer) {
                Ok(Checked::Ready(ready)) => {
                    lines.push(None);
                    groups.entry(ready.partition).or_default().push((place, ready));
                }
                Ok(Checked::Exists(submitted)) => {
                    self.metrics.replayed.inc();
                    lines.push(Some(Ok(submitted)));
                }
                Err(error) => lines.push(Some(Err(error))),
            }
        }
        self.append_groups(groups, &mut lines).await;
        lines.into_iter().map(|line| line.expect("every line was checked or appended")).collect()
    }

    async fn append_groups(
        &self,
        groups: BTreeMap<PartitionId, Vec<(usize, Ready)>>,
        lines: &mut [Option<BatchLine>],
    ) {
        let appends = groups.into_iter().map(|(partition, group)| async move {
            let records = group.iter().map(|(_, ready)| ready.record.clone()).collect();
            let appended = self.journal.inbox_append(partition, records).await;
            (group, appended)
        });
        for (group, appended) in futures_util::future::join_all(appends).await {
            for (place, ready) in group {
                lines[place] = Some(match &appended {
                    Ok(_) => Ok(self.settle(ready)),
                    Err(error) => {
                        self.give_back(&ready);
                        Err(error.clone().into())
                    }
                });
            }
        }
    }
}
