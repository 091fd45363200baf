//! What the journal needs of a snapshot store, which every machine must reach. The crate `snapshots` implements it.

use std::path::PathBuf;

use journal::{AppendError, ReadError, Snapshot};
use types::{Epoch, PartitionId, Seq};

/// The owner that has put a snapshot, and the frame that it goes through. An owner's are newer than all of the owners
/// before it.
pub type Version = (Epoch, Seq);

/// A store of snapshots and of the tables that belong to them. The contract of each method is that of the journal's
/// method of this name; the epoch is the one that the partition was claimed under by this process, so that what an
/// owner writes that was fenced never takes the place of what its successor has written.
pub trait Snapshots: Send + Sync + 'static {
    fn put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        snapshot: Snapshot,
    ) -> impl Future<Output = Result<(), AppendError>> + Send;

    /// The newest snapshot, or the newest before another one: what one region has stored may be of a history that its
    /// pair never got.
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

    /// Forgets old snapshots, when the events before the newest are gone: then nobody needs them any more.
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
