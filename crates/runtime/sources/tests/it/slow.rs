//! A journal whose inbox can be slow to answer, or refuse, while all else goes on.

use std::sync::Arc;

use bytes::Bytes;
use journal::memory::MemoryJournal;
use journal::{AppendError, Claim, Journal, ReadError, Record, Room, Snapshot};
use tokio::sync::watch;
use types::{Epoch, PartitionId, Seq};

/// How the inbox behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Usual,
    /// Nothing is stored.
    Refusing,
    /// What is stored is confirmed only when the manner changes.
    Slow,
}

pub struct SlowInbox {
    journal: Arc<MemoryJournal>,
    pub manner: watch::Sender<Manner>,
    /// How many appends were asked for.
    pub asked: watch::Sender<u32>,
}

impl SlowInbox {
    pub fn new(journal: Arc<MemoryJournal>) -> SlowInbox {
        SlowInbox { journal, manner: watch::channel(Manner::Usual).0, asked: watch::channel(0).0 }
    }
}

impl Journal for SlowInbox {
    async fn claim(&self, partition: PartitionId) -> Result<Claim, AppendError> {
        self.journal.claim(partition).await
    }

    async fn append(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        expected_tail: Seq,
        frame: Bytes,
    ) -> Result<Seq, AppendError> {
        self.journal.append(partition, epoch, expected_tail, frame).await
    }

    async fn read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.journal.read(partition, from, bytes_max).await
    }

    async fn inbox_append(&self, partition: PartitionId, records: Vec<Bytes>) -> Result<Seq, AppendError> {
        self.asked.send_modify(|asked| *asked += 1);
        if *self.manner.borrow() == Manner::Refusing {
            return Err(AppendError::Full);
        }
        let appended = self.journal.inbox_append(partition, records).await;
        self.manner.subscribe().wait_for(|manner| *manner != Manner::Slow).await.unwrap();
        appended
    }

    async fn inbox_read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.journal.inbox_read(partition, from, bytes_max).await
    }

    fn inbox_tail(&self, partition: PartitionId) -> watch::Receiver<Seq> {
        self.journal.inbox_tail(partition)
    }

    async fn snapshot_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        snapshot: Snapshot,
    ) -> Result<(), AppendError> {
        self.journal.snapshot_put(partition, epoch, snapshot).await
    }

    async fn snapshot_get(&self, partition: PartitionId) -> Result<Option<Snapshot>, ReadError> {
        self.journal.snapshot_get(partition).await
    }

    async fn trim(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        events: Seq,
        inbox: Seq,
    ) -> Result<(), AppendError> {
        self.journal.trim(partition, epoch, events, inbox).await
    }

    fn room(&self) -> Room {
        self.journal.room()
    }
}
