//! Accepting many requests at once: each line is checked on its own, each partition gets one append.

use std::collections::BTreeMap;

use bytes::Bytes;
use journal::Journal;
use types::PartitionId;
use view::WaitingClient;

use crate::error::SubmitError;
use crate::ingest::{Admitted, Ingest};
use crate::locate::RequestLocation;
use crate::request::{
    DurableRequest, IdentifiedRequest, IncomingRequest, ReservedRequest, Sender, WorkflowVersion,
};
use crate::submit::Reserved;

/// The answer to one line of a batch, with its place in the batch.
pub type LineAnswer = (usize, Result<DurableRequest, SubmitError>);

/// The lines of a batch, each with its place, by where they can be accepted. The batch counts as one waiting client.
pub struct LocatedBatch<'a> {
    workflow: WorkflowVersion<'a>,
    here: Vec<(usize, IdentifiedRequest)>,
    /// Lines that only the owners of their partitions can accept.
    pub there: Vec<(usize, RemoteLine)>,
    refused: Vec<(usize, SubmitError)>,
    client: WaitingClient<'a>,
}

/// A line whose id only the owner of its partition can check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteLine {
    pub partition: PartitionId,
    /// Whether the line names no id, and one was generated here.
    pub generated_id: bool,
}

impl Ingest {
    /// Reads the bodies of an admitted batch and says where each line can be accepted. Reserves and writes nothing.
    pub fn locate_batch<'a>(
        &'a self,
        _: Admitted,
        workflow: WorkflowVersion<'a>,
        bodies: Vec<Bytes>,
        sender: Sender,
    ) -> LocatedBatch<'a> {
        let client = self.ids.count_client();
        let (mut here, mut there, mut refused) = (Vec::with_capacity(bodies.len()), Vec::new(), Vec::new());
        for (place, body) in bodies.into_iter().enumerate() {
            let incoming = IncomingRequest { body, sender, ..IncomingRequest::default() };
            match self.locate_request(workflow, incoming) {
                Ok(RequestLocation::Here(request)) => here.push((place, request)),
                Ok(RequestLocation::There(remote)) => {
                    let generated_id = remote.generated_id.is_some();
                    there.push((place, RemoteLine { partition: remote.partition, generated_id }));
                }
                Err(error) => refused.push((place, error)),
            }
        }
        LocatedBatch { workflow, here, there, refused, client }
    }

    /// Accepts the lines that can be accepted here, and answers them and those that were refused. When this returns,
    /// every `Ok` is durable.
    pub async fn submit_batch(&self, batch: LocatedBatch<'_>) -> Vec<LineAnswer> {
        // The client waits until this function returns.
        let LocatedBatch { workflow, here, refused, client: _client, .. } = batch;
        let mut answers: Vec<LineAnswer> =
            refused.into_iter().map(|(place, error)| (place, Err(error))).collect();
        let mut groups: BTreeMap<PartitionId, Vec<(usize, ReservedRequest)>> = BTreeMap::new();
        for (place, request) in here {
            match self.reserve_request(workflow, request) {
                Ok(Reserved::Append(reserved)) => {
                    groups.entry(reserved.partition).or_default().push((place, reserved));
                }
                Ok(Reserved::Exists(durable)) => {
                    self.metrics.replayed.inc();
                    answers.push((place, Ok(durable)));
                }
                Err(error) => answers.push((place, Err(error))),
            }
        }
        self.append_groups(groups, &mut answers).await;
        answers
    }

    async fn append_groups(
        &self,
        groups: BTreeMap<PartitionId, Vec<(usize, ReservedRequest)>>,
        answers: &mut Vec<LineAnswer>,
    ) {
        let appends = groups.into_iter().map(|(partition, group)| async move {
            let records = group.iter().map(|(_, reserved)| reserved.record.clone()).collect();
            let appended = self.journal.inbox_append(partition, records).await;
            (group, appended)
        });
        for (group, appended) in futures_util::future::join_all(appends).await {
            for (place, reserved) in group {
                let answer = match &appended {
                    Ok(_) => Ok(self.settle(reserved)),
                    Err(error) => {
                        self.give_back(&reserved);
                        Err(error.clone().into())
                    }
                };
                answers.push((place, answer));
            }
        }
    }
}
