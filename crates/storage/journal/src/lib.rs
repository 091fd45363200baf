//! The journal: the durable, ordered record of what a partition accepted and decided.
//!
//! A partition has two streams. Any instance appends accepted requests to its *inbox*; only the partition's current
//! owner appends frames to its *events*. An owner proves that it is current by its epoch, which every claim raises.
//!
//! ```text
//!                 trim point        snapshot mark                 tail
//!                     │                   │                        │
//! events   ░░░░░░░░░░░┊ 41   42   43   44 ┊ 45   46   47   48   49 ┊
//!          deleted or ┊ readable, and     ┊ replayed over the      ┊ the next frame is 50; an append
//!          deletable  ┊ in the snapshot   ┊ snapshot on recovery   ┊ must expect the tail 49
//!
//! inbox    ░░░░░░░┊ 107  109  112 ┊ 113  118  120 ┊
//!          taken, ┊ taken by a    ┊ accepted, not ┊ tail
//!          trimmed┊ durable frame ┊ yet taken     ┊
//! ```
//!
//! - The *tail* is the number of the last durable record. Reading from a number past the tail returns no records.
//! - The *snapshot mark* is the last frame that the newest snapshot contains. Recovery loads the snapshot and
//!   replays the frames after the mark.
//! - The *trim point* is the first record that must stay. It never passes the snapshot mark, and it never goes back.
//!   Reading below it is [`ReadError::Trimmed`].
//!
//! Frames are numbered 1, 2, 3 … without gaps. Numbers of the inbox rise, start at 1 or higher, and may have gaps.

mod capabilities;
pub mod codec;
pub mod conformance;
mod erased;
pub mod error;
pub mod limits;
pub mod memory;

use std::path::PathBuf;

use bytes::Bytes;
use types::{Epoch, PartitionId, Seq};

pub use capabilities::Capabilities;
pub use erased::DynJournal;
pub use error::{AppendError, OpenError, ReadError};
pub use limits::RECORD_BYTES_MAX;

/// One record of a stream as it was appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub seq: Seq,
    pub bytes: Bytes,
}

/// What an owner learns when it claims a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    pub epoch: Epoch,
    /// The last frame of the events; the owner's first append expects it.
    pub events_tail: Seq,
}

/// A partition's state at a position of its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The last frame that the snapshot contains.
    pub through: Seq,
    pub bytes: Bytes,
}

/// How much room the journal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    pub free_bytes: u64,
    /// Bytes that the journal holds now.
    pub used_bytes: u64,
    /// Whether new requests should still be accepted: the reserve for running work is untouched.
    pub accepts: bool,
}

/// A durable, ordered, fenced store of requests and frames.
///
/// An append that returns `Ok` is on stable storage: the disk is synced, or a quorum of servers has synced it. If the
/// future is dropped before it resolves, the record may or may not have been appended, as with
/// [`AppendError::Unknown`].
///
/// The methods panic if the journal was not created with the given partition.
pub trait Journal: Send + Sync + 'static {
    /// Takes ownership of a partition: persists a higher epoch, after which appends under any lower epoch are refused.
    fn claim(&self, partition: PartitionId) -> impl Future<Output = Result<Claim, AppendError>> + Send;

    /// Appends one frame to the events. It is refused unless `epoch` is current and the tail is `expected_tail`. A caller
    /// has at most one append per partition in flight.
    fn append(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        expected_tail: Seq,
        frame: Bytes,
    ) -> impl Future<Output = Result<Seq, AppendError>> + Send;

    /// Returns the frames from `from` to the tail in order and without gaps, but stops once they exceed `bytes_max`. It
    /// returns at least one frame unless `from` is past the tail; then it returns none. A missing frame is an error,
    /// never a shorter result. [`Seq::ZERO`] reads from the first record, number 1.
    fn read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> impl Future<Output = Result<Vec<Record>, ReadError>> + Send;

    /// Appends requests to the inbox, all or none, adjacent to each other, and returns the number of the last one.
    /// Together they may have up to [`RECORD_BYTES_MAX`] bytes. An empty list returns the tail.
    fn inbox_append(
        &self,
        partition: PartitionId,
        records: Vec<Bytes>,
    ) -> impl Future<Output = Result<Seq, AppendError>> + Send;

    /// Like [`Journal::read`], for the inbox.
    fn inbox_read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> impl Future<Output = Result<Vec<Record>, ReadError>> + Send;

    /// Watches the tail of the inbox.
    fn inbox_tail(&self, partition: PartitionId) -> tokio::sync::watch::Receiver<Seq>;

    /// By how much the numbers of the inbox rise from one message to the next. Pages for people count messages.
    fn inbox_step(&self) -> u64 {
        1
    }

    /// Persists a snapshot on behalf of the owner with this epoch. Older snapshots may be deleted.
    fn snapshot_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        snapshot: Snapshot,
    ) -> impl Future<Output = Result<(), AppendError>> + Send;

    /// The newest snapshot.
    fn snapshot_get(
        &self,
        partition: PartitionId,
    ) -> impl Future<Output = Result<Option<Snapshot>, ReadError>> + Send;

    /// Moves the trim points: frames below `events` and requests below `inbox` may be deleted. A trim point never goes
    /// back, and records past the tail are not affected. A stale owner's trim must not delete records that the new
    /// owner still needs, so `epoch` must be the epoch of the owner whose snapshot replaces the deleted records.
    fn trim(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        events: Seq,
        inbox: Seq,
    ) -> impl Future<Output = Result<(), AppendError>> + Send;

    /// What the engine must know about where this journal keeps its records.
    fn capabilities(&self) -> Capabilities {
        Capabilities::LOCAL
    }

    /// Stores the files in `dir`, the tables of the partition's view as of frame `through`, for the snapshot that is
    /// stored next. Files with the same name have the same content within an epoch, so files that are stored already
    /// are skipped.
    fn tables_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        through: Seq,
        dir: PathBuf,
    ) -> impl Future<Output = Result<(), AppendError>> + Send {
        let _ = (partition, epoch, through, dir);
        async { Ok(()) }
    }

    /// Copies the files that were stored with the snapshot as of frame `through` into the empty directory `dir`.
    fn tables_get(
        &self,
        partition: PartitionId,
        through: Seq,
        dir: PathBuf,
    ) -> impl Future<Output = Result<(), ReadError>> + Send {
        let _ = (partition, through, dir);
        async { Ok(()) }
    }

    /// How much space is left.
    fn room(&self) -> Room;
}
