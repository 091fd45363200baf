//! What holds partitions: the engine in the product, a model in the simulator.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;
use words::{Epoch, PartitionId};

/// Holds partitions, and lets them go.
pub trait Holder: Send + Sync + 'static {
    /// Claims a partition and goes on with it; the error says why that failed, and it is tried again later.
    fn take(&self, partition: PartitionId) -> impl Future<Output = Result<Epoch, String>> + Send;

    /// Lets a partition go, after calls under way have had some time to end.
    fn release(&self, partition: PartitionId, patience: Duration) -> impl Future<Output = ()> + Send;

    /// What is held now. A partition that was fenced or stopped is not.
    fn held(&self) -> BTreeMap<PartitionId, Epoch>;

    /// Rises when a partition was fenced or stopped.
    fn lost(&self) -> watch::Receiver<u64>;

    /// Starts no calls while `true`.
    fn hold_calls(&self, hold: bool);
}
