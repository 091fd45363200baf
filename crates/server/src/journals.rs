//! The journal that the settings choose: on the disk of this machine, or on NATS.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use journal::{AppendError, Capabilities, Claim, Journal, OpenError, ReadError, Record, Room, Snapshot};
use journal_disk::{DiskJournal, Sync};
use journal_nats::{NatsJournal, NatsWire};
use regions::Paired;
use snapshots::address::AnyStore;
use snapshots::stored::StoredSnapshots;
use tokio::sync::watch;
use types::{Epoch, PartitionId, Seq};

use crate::config::{Config, SyncMode};
use crate::memory::MemoryBudget;

const FORGET_PAUSE: Duration = Duration::from_millis(500);

/// One of the journals; the layers above do not know which.
pub(crate) enum AnyJournal {
    Disk(DiskJournal),
    Nats(NatsJournal<Paired<NatsWire>, Snapshots>),
}

pub(crate) type Snapshots = StoredSnapshots<AnyStore>;

impl AnyJournal {
    /// Opens the journal on the disk of this machine.
    pub async fn on_disk(config: &Config, memory: MemoryBudget) -> Result<AnyJournal, OpenError> {
        let dir = config.data.clone();
        let settings = journal_disk::Settings {
            segment_bytes: config.journal.segment_bytes.min(memory.segment),
            reserve_bytes: config.journal.reserve_bytes,
            linger_max: Duration::from_micros(config.journal.linger_max_us),
            cache_bytes: memory.journal_cache as usize,
            sync: match config.journal.sync {
                SyncMode::Data => Sync::Data,
                SyncMode::Off => Sync::Off,
            },
            ..journal_disk::Settings::new(config.partitions)
        };
        let opened = tokio::task::spawn_blocking(move || DiskJournal::open(&dir, settings)).await;
        Ok(AnyJournal::Disk(opened.expect("opening the journal does not panic")?))
    }

    /// Frames that were refused because another owner has claimed their partition.
    pub fn fenced(&self) -> u64 {
        match self {
            // The disk has one owner.
            AnyJournal::Disk(_) => 0,
            AnyJournal::Nats(journal) => journal.fenced(),
        }
    }

    /// Inboxes that ended before the position up to which they had been read.
    pub fn inbox_gaps(&self) -> u64 {
        match self {
            AnyJournal::Disk(_) => 0,
            AnyJournal::Nats(journal) => journal.gaps(),
        }
    }

    /// Refuses to claim the partition if its events end before this message.
    pub fn expect(&self, partition: PartitionId, last: u64) {
        if let AnyJournal::Nats(journal) = self {
            journal.expect(partition, last);
        }
    }

    /// The last message of a partition's events that was acknowledged here, when the journal is shared.
    pub fn acknowledged(&self, partition: PartitionId) -> Option<u64> {
        match self {
            AnyJournal::Disk(_) => None,
            AnyJournal::Nats(journal) => journal.acknowledged(partition),
        }
    }

    /// Drops what is cached: it may belong to a history that another region has replaced.
    pub async fn forget(&self) {
        let AnyJournal::Nats(journal) = self else { return };
        while let Err(error) = journal.forget().await {
            tracing::warn!(%error, "reading the state of the streams failed; retrying");
            tokio::time::sleep(FORGET_PAUSE).await;
        }
    }

    pub async fn close(self) {
        if let AnyJournal::Disk(journal) = self {
            journal.close().await;
        }
    }
}

/// Calls the journal that is open.
macro_rules! ask {
    ($self:ident, $journal:ident => $question:expr) => {
        match $self {
            AnyJournal::Disk($journal) => $question,
            AnyJournal::Nats($journal) => $question,
        }
    };
}

impl Journal for AnyJournal {
    async fn claim(&self, partition: PartitionId) -> Result<Claim, AppendError> {
        ask!(self, journal => journal.claim(partition).await)
    }

    async fn append(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        expected_tail: Seq,
        frame: Bytes,
    ) -> Result<Seq, AppendError> {
        ask!(self, journal => journal.append(partition, epoch, expected_tail, frame).await)
    }

    async fn read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        ask!(self, journal => journal.read(partition, from, bytes_max).await)
    }

    async fn inbox_append(&self, partition: PartitionId, records: Vec<Bytes>) -> Result<Seq, AppendError> {
        ask!(self, journal => journal.inbox_append(partition, records).await)
    }

    async fn inbox_read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        ask!(self, journal => journal.inbox_read(partition, from, bytes_max).await)
    }

    fn inbox_tail(&self, partition: PartitionId) -> watch::Receiver<Seq> {
        ask!(self, journal => journal.inbox_tail(partition))
    }

    fn inbox_step(&self) -> u64 {
        ask!(self, journal => journal.inbox_step())
    }

    async fn snapshot_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        snapshot: Snapshot,
    ) -> Result<(), AppendError> {
        ask!(self, journal => journal.snapshot_put(partition, epoch, snapshot).await)
    }

    async fn snapshot_get(&self, partition: PartitionId) -> Result<Option<Snapshot>, ReadError> {
        ask!(self, journal => journal.snapshot_get(partition).await)
    }

    async fn trim(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        events: Seq,
        inbox: Seq,
    ) -> Result<(), AppendError> {
        ask!(self, journal => journal.trim(partition, epoch, events, inbox).await)
    }

    fn capabilities(&self) -> Capabilities {
        ask!(self, journal => journal.capabilities())
    }

    async fn tables_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        through: Seq,
        dir: PathBuf,
    ) -> Result<(), AppendError> {
        ask!(self, journal => journal.tables_put(partition, epoch, through, dir).await)
    }

    async fn tables_get(&self, partition: PartitionId, through: Seq, dir: PathBuf) -> Result<(), ReadError> {
        ask!(self, journal => journal.tables_get(partition, through, dir).await)
    }

    fn room(&self) -> Room {
        ask!(self, journal => journal.room())
    }
}
