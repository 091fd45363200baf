//! What holds partitions: the engine in the product, a model in the simulator.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;
use types::{Epoch, PartitionId};

use crate::High;

/// Holds partitions, and lets them go.
pub trait Holder: Send + Sync + 'static {
    /// Claims a partition and goes on with it, if its events go as far as `high` says; the error says why that failed,
    /// and it is tried again later.
    fn take(
        &self,
        partition: PartitionId,
        high: Option<High>,
    ) -> impl Future<Output = Result<Epoch, String>> + Send;

    /// Lets a partition go, after calls under way have had some time to end.
    fn release(&self, partition: PartitionId, patience: Duration) -> impl Future<Output = ()> + Send;

    /// What is held now. A partition that was fenced or stopped is not.
    fn held(&self) -> BTreeMap<PartitionId, Epoch>;

    /// How far the events of a partition are durable that is held or was let go a moment ago, when that is known.
    fn high(&self, partition: PartitionId) -> Option<High>;

    /// Rises when a partition was fenced or stopped.
    fn lost(&self) -> watch::Receiver<u64>;

    /// Starts no calls while `true`.
    fn hold_calls(&self, hold: bool);
}
