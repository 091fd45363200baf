//! What owns partitions on behalf of an instance: the engine in the product, a model in the simulator.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;
use types::{Epoch, PartitionId};

use crate::DurableEnd;

/// Acquires and releases the partitions of one instance.
pub trait PartitionOwner: Send + Sync + 'static {
    /// Claims a partition, replays it and runs it. Fails if its events end before `durable_end`, because then durable events
    /// were lost. The error says why; the rebalancer retries after a backoff.
    fn acquire(
        &self,
        partition: PartitionId,
        durable_end: Option<DurableEnd>,
    ) -> impl Future<Output = Result<Epoch, String>> + Send;

    /// Stops a partition. Calls in flight get `drain_timeout` to end; later ones are repeated by the next owner.
    fn release(&self, partition: PartitionId, drain_timeout: Duration) -> impl Future<Output = ()> + Send;

    /// The partitions that run here at this moment, without those that were fenced or have stopped.
    fn owned(&self) -> BTreeMap<PartitionId, Epoch>;

    /// The end of the durable events of a partition that is owned or was released recently, if it is known.
    fn durable_end(&self, partition: PartitionId) -> Option<DurableEnd>;

    /// Changes whenever a partition was fenced or has stopped.
    fn lost(&self) -> watch::Receiver<u64>;

    /// Starts no new calls while `paused`.
    fn pause_calls(&self, paused: bool);
}
