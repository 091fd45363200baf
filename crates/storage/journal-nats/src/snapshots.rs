//! What the journal needs of a snapshot store, which all instances must reach. The crate `snapshots` implements it.

use std::path::PathBuf;

use journal::{AppendError, ReadError, Snapshot};
use types::{Epoch, PartitionId, Seq};

/// The epoch of the owner that has stored a snapshot, and the last frame that it contains. The snapshots of an owner are newer
/// than those of all owners before it.
pub type Version = (Epoch, Seq);

/// A store of snapshots and their tables. Each method has the contract of the journal's method of the same name. The epoch is
/// the one under which this process has claimed the partition, so that a fenced owner never replaces what its successor has
/// written.
pub trait Snapshots: Send + Sync + 'static {
    fn put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        snapshot: Snapshot,
    ) -> impl Future<Output = Result<(), AppendError>> + Send;

    /// The newest snapshot, or the newest one before `before`: a region may have stored snapshots of a history that its pair
    /// never received.
    fn get(
        &self,
        partition: PartitionId,
        before: Option<Version>,
    ) -> impl Future<Output = Result<Option<(Version, Snapshot)>, ReadError>> + Send;

    fn tables_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        through: Seq,
        dir: PathBuf,
    ) -> impl Future<Output = Result<(), AppendError>> + Send;

    /// Deletes old snapshots, once the events before the newest one are trimmed.
    fn clean(&self, partition: PartitionId, epoch: Epoch) -> impl Future<Output = ()> + Send {
        let _ = (partition, epoch);
        async {}
    }

    fn tables_get(
        &self,
        partition: PartitionId,
        through: Seq,
        dir: PathBuf,
    ) -> impl Future<Output = Result<(), ReadError>> + Send;
}
