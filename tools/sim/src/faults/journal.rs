//! A journal that acknowledges what it refused, trims too much, or trims too early.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use journal::{AppendError, Capabilities, Claim, Journal, ReadError, Record, Room, Snapshot};
use kernel::State;
use kernel::queue::Queues;
use tokio::sync::watch;
use types::{Epoch, PartitionId, Seq};

use super::Fault;

pub struct FaultyJournal<J>(pub Arc<J>);

impl<J: Journal> FaultyJournal<J> {
    /// Trims all that the snapshot covers.
    async fn trim_for(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        snapshot: &Snapshot,
    ) -> Result<(), AppendError> {
        let Ok((state, _)) = journal::codec::decode_pair::<State, Queues>(&snapshot.bytes) else {
            return Ok(());
        };
        self.0.trim(partition, epoch, snapshot.through.next(), state.inbox_through().next()).await
    }
}

impl<J: Journal> Journal for FaultyJournal<J> {
    async fn claim(&self, partition: PartitionId) -> Result<Claim, AppendError> {
        self.0.claim(partition).await
    }

    async fn append(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        expected_tail: Seq,
        frame: Bytes,
    ) -> Result<Seq, AppendError> {
        match self.0.append(partition, epoch, expected_tail, frame).await {
            Err(AppendError::Fenced { .. }) if Fault::FencedGoesOn.is_awake() => Ok(expected_tail.next()),
            appended => appended,
        }
    }

    async fn read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.0.read(partition, from, bytes_max).await
    }

    async fn inbox_append(&self, partition: PartitionId, records: Vec<Bytes>) -> Result<Seq, AppendError> {
        match self.0.inbox_append(partition, records).await {
            Err(AppendError::Full) if Fault::RefusalAcknowledged.is_awake() => {
                Ok(*self.0.inbox_tail(partition).borrow())
            }
            appended => appended,
        }
    }

    async fn inbox_read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.0.inbox_read(partition, from, bytes_max).await
    }

    fn inbox_tail(&self, partition: PartitionId) -> watch::Receiver<Seq> {
        self.0.inbox_tail(partition)
    }

    fn inbox_step(&self) -> u64 {
        self.0.inbox_step()
    }

    async fn snapshot_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        snapshot: Snapshot,
    ) -> Result<(), AppendError> {
        if Fault::TrimBeforeSnapshot.is_awake() && partition != PartitionId::CONTROL {
            self.trim_for(partition, epoch, &snapshot).await?;
        }
        self.0.snapshot_put(partition, epoch, snapshot).await
    }

    async fn snapshot_get(&self, partition: PartitionId) -> Result<Option<Snapshot>, ReadError> {
        self.0.snapshot_get(partition).await
    }

    async fn trim(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        events: Seq,
        inbox: Seq,
    ) -> Result<(), AppendError> {
        let inbox = if Fault::TrimTooFar.is_awake() { inbox.next() } else { inbox };
        self.0.trim(partition, epoch, events, inbox).await
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn tables_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        through: Seq,
        dir: PathBuf,
    ) -> Result<(), AppendError> {
        self.0.tables_put(partition, epoch, through, dir).await
    }

    async fn tables_get(&self, partition: PartitionId, through: Seq, dir: PathBuf) -> Result<(), ReadError> {
        self.0.tables_get(partition, through, dir).await
    }

    fn room(&self) -> Room {
        self.0.room()
    }
}
