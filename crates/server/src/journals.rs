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

/// Forwards every method to the journal that is open. The partitions run on this enum and not on a
/// [`journal::DynJournal`], because the latter boxes a future for each append.
macro_rules! forward {
    (
        $(async fn $async:ident($($arg:ident: $arg_type:ty),*) -> $out:ty;)*
        $(fn $sync:ident($($name:ident: $name_type:ty),*) -> $result:ty;)*
    ) => {
        impl Journal for AnyJournal {
            $(async fn $async(&self, $($arg: $arg_type),*) -> $out {
                match self {
                    AnyJournal::Disk(journal) => journal.$async($($arg),*).await,
                    AnyJournal::Nats(journal) => journal.$async($($arg),*).await,
                }
            })*
            $(fn $sync(&self, $($name: $name_type),*) -> $result {
                match self {
                    AnyJournal::Disk(journal) => journal.$sync($($name),*),
                    AnyJournal::Nats(journal) => journal.$sync($($name),*),
                }
            })*
        }
    };
}

journal::journal_methods!(forward);
