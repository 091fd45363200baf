//! Reads requests from the inbox for a partition.
//!
//! A local journal is read when there is room for requests. A remote one answers slowly, and
//! frames of running work must not wait for it: a task reads ahead.

use std::collections::VecDeque;
use std::sync::Arc;

use journal::{AppendError, Journal, ReadError, Record};
use tokio::sync::{mpsc, watch};
use types::{PartitionId, Seq};

use super::Partition;
use super::batch::Batch;
use crate::limits::INBOX_READ_BYTES;

/// The records that were read, and the state of the reader.
pub(super) struct InboxReader {
    read: VecDeque<Record>,
    source: InboxSource,
}

enum InboxSource {
    Local {
        /// The durable end of the inbox.
        tail: watch::Receiver<Seq>,
        /// Through here there is nothing to read: sequence numbers may have gaps.
        empty_through: Seq,
    },
    ReadAhead(mpsc::Receiver<Result<Vec<Record>, ReadError>>),
}

impl InboxReader {
    /// Reads the records after `through`.
    pub(super) fn open<J: Journal>(journal: &Arc<J>, id: PartitionId, through: Seq) -> InboxReader {
        let source = if journal.capabilities().is_remote {
            // One answer is buffered here and one at the reader: twice the read size, for each partition.
            let (tx, rx) = mpsc::channel(1);
            host::spawn("requests", read_ahead(journal.clone(), id, through.next(), tx));
            InboxSource::ReadAhead(rx)
        } else {
            InboxSource::Local { tail: journal.inbox_tail(id), empty_through: Seq::ZERO }
        };
        InboxReader { read: VecDeque::new(), source }
    }

    /// Whether there are records after `through`, the last one that was taken.
    fn has_more_after(&self, through: Seq) -> bool {
        match &self.source {
            InboxSource::Local { tail, empty_through } => *tail.borrow() > through.max(*empty_through),
            InboxSource::ReadAhead(ahead) => !self.read.is_empty() || !ahead.is_empty(),
        }
    }

    /// Waits until there may be more records.
    pub(super) async fn wait_for_more(&mut self) -> Result<(), ReadError> {
        match &mut self.source {
            InboxSource::Local { tail, .. } => {
                // A closed journal delivers nothing more; the partition gets the error from its next append.
                let _ = tail.changed().await;
            }
            InboxSource::ReadAhead(ahead) => match ahead.recv().await {
                Some(records) => self.read.extend(records?),
                None => std::future::pending().await,
            },
        }
        Ok(())
    }

    /// The next record after `through`, if it has been read.
    async fn next<J: Journal>(
        &mut self,
        journal: &J,
        id: PartitionId,
        through: Seq,
    ) -> Result<Option<Record>, ReadError> {
        if self.read.is_empty() {
            match &mut self.source {
                InboxSource::Local { tail, empty_through } => {
                    let end = *tail.borrow();
                    self.read.extend(journal.inbox_read(id, through.next(), INBOX_READ_BYTES).await?);
                    if self.read.is_empty() {
                        *empty_through = end;
                    }
                }
                InboxSource::ReadAhead(ahead) => {
                    if let Ok(records) = ahead.try_recv() {
                        self.read.extend(records?);
                    }
                }
            }
        }
        Ok(self.read.pop_front())
    }
}

/// Reads on as soon as the buffered answer is taken, until the receiver is dropped.
async fn read_ahead<J: Journal>(
    journal: Arc<J>,
    id: PartitionId,
    mut from: Seq,
    tx: mpsc::Sender<Result<Vec<Record>, ReadError>>,
) {
    let mut tail = journal.inbox_tail(id);
    let reading = async {
        // The sender of the tail is dropped with the journal.
        while tail.wait_for(|end| *end >= from).await.is_ok() {
            let end = *tail.borrow();
            let read = journal.inbox_read(id, from, INBOX_READ_BYTES).await;
            if let Ok(records) = &read {
                // Sequence numbers may have gaps.
                from = records.last().map_or(end, |last| last.seq).next();
                if records.is_empty() {
                    continue;
                }
            }
            let failed = read.is_err();
            if tx.send(read).await.is_err() || failed {
                return;
            }
        }
    };
    tokio::select! {
        // Always in the same order: a simulation must be deterministic.
        biased;
        () = tx.closed() => {}
        () = reading => {}
    }
}

impl<J: Journal> Partition<J> {
    pub(super) fn has_requests(&self) -> bool {
        self.inbox.has_more_after(self.state.inbox_through())
    }

    /// Whether a request must wait: it names a workflow version that this instance has not read yet.
    fn must_wait_for_workflow(&mut self, request: &kernel::Request) -> bool {
        let (workflow, version) = (&request.workflow, request.version);
        let known = self.shared.catalogs.load().version(workflow, version).is_some();
        if !known {
            tracing::warn!(partition = %self.id, run = %request.id, %workflow, version, "requests wait for a workflow version that this instance has not read");
        }
        self.awaited_version = (!known).then(|| (workflow.clone(), version));
        !known
    }

    pub(super) async fn take_requests(&mut self, batch: &mut Batch) -> Result<(), AppendError> {
        while self.can_take_requests() && !batch.is_full() && self.has_requests() {
            let through = self.state.inbox_through();
            let next = self.inbox.next(&*self.shared.journal, self.id, through).await;
            let Some(record) = next.map_err(|error| self.unread(&error))? else {
                return Ok(());
            };
            let request: kernel::Request = journal::codec::decode(&record.bytes)
                .map_err(|error| self.damaged(&format!("request {} of the inbox: {error}", record.seq)))?;
            if self.must_wait_for_workflow(&request) {
                self.inbox.read.push_front(record);
                return Ok(());
            }
            self.take_request(batch, record.seq, request)?;
        }
        Ok(())
    }
}
