//! The journal seam: the durable sequences of a partition, who owns them, and what every journal must keep.
//!
//! A partition has two streams. Its *inbox* takes accepted requests from anybody; its *events* take frames
//! from the partition's owner alone. Frames are numbered 1, 2, 3 … without gaps; requests by rising numbers, the
//! first of which is at least 1.

pub mod codec;
pub mod conformance;
mod erased;
pub mod error;
pub mod limits;
pub mod memory;

use std::path::PathBuf;

use bytes::Bytes;
use types::{Epoch, PartitionId, Seq};

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

/// A durable, ordered, fenced store of frames.
///
/// Every `Ok` of an append means: on stable storage, before the future resolved. A future that is dropped
/// before it resolved leaves the outcome open, like [`AppendError::Unknown`].
///
/// A partition that the journal was not created with is a mistake of the caller: the methods panic.
pub trait Journal: Send + Sync + 'static {
    /// Takes ownership: makes a higher epoch durable, after which every frame of a lower one is refused.
    fn claim(&self, partition: PartitionId) -> impl Future<Output = Result<Claim, AppendError>> + Send;

    /// Appends one frame to the events. At most one append per partition is under way.
    fn append(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        expected_tail: Seq,
        frame: Bytes,
    ) -> impl Future<Output = Result<Seq, AppendError>> + Send;

    /// Frames from `from` on, dense and in order, until `bytes_max` is reached (at least one) or the tail.
    /// An empty answer means that `from` is behind the tail. A gap is an error, never a shorter answer.
    /// [`Seq::ZERO`] reads like the first record, number 1.
    fn read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> impl Future<Output = Result<Vec<Record>, ReadError>> + Send;

    /// Appends requests to the inbox, all or none and side by side; answers with the number of the last.
    /// Together they may have [`RECORD_BYTES_MAX`]; none at all answers with the tail.
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

    /// Follows the last durable record of the inbox.
    fn inbox_tail(&self, partition: PartitionId) -> tokio::sync::watch::Receiver<Seq>;

    /// By how much the numbers of the inbox rise from one message to the next: people are shown messages.
    fn inbox_step(&self) -> u64 {
        1
    }

    /// Stores a snapshot durably, as the owner of this epoch; older ones may go.
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

    /// Allows the journal to forget frames below `events` and requests below `inbox`. What was allowed once
    /// stays allowed; what lies behind the tail is not touched. The epoch is that of the owner whose snapshot stands
    /// for what is forgotten: one that is late takes nothing from its successor.
    fn trim(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        events: Seq,
        inbox: Seq,
    ) -> impl Future<Output = Result<(), AppendError>> + Send;

    /// Whether a partition may have its next owner on another machine. Then the view's tables go with the snapshots
    /// ([`Journal::tables_put`]), and what an owner finds of them on its own disk counts for nothing.
    fn is_shared(&self) -> bool {
        false
    }

    /// Keeps the files in `dir`, the tables of the partition's view through `through`, for the snapshot that is put
    /// next. Files of one name never differ under one epoch, so those that are kept already are passed over.
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

    /// Brings the files that were kept with the snapshot through `through` into the empty `dir`.
    fn tables_get(
        &self,
        partition: PartitionId,
        through: Seq,
        dir: PathBuf,
    ) -> impl Future<Output = Result<(), ReadError>> + Send {
        let _ = (partition, through, dir);
        async { Ok(()) }
    }

    /// How much room is left.
    fn room(&self) -> Room;
}
