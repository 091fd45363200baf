//! The intervals and timeouts of a cluster.

use std::time::Duration;

use types::PartitionId;

/// An instance without a heartbeat for so long is dead. The register measures it by its own clock.
pub const MEMBER_TTL: Duration = Duration::from_secs(6);

/// All instances of an installation must run with the same settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How many partitions have runs; the control partition comes on top.
    pub partitions: u16,
    /// The number of fixed ordinals, if assignment goes by ordinals.
    pub ordinals: Option<u32>,
    pub heartbeat_interval: Duration,
    /// A heartbeat that is not acknowledged within this time counts as missed.
    pub heartbeat_timeout: Duration,
    /// An instance that had no heartbeat acknowledged for so long starts no calls. Less than `member_ttl`, so that it is
    /// silent before the others acquire its partitions.
    pub silent_after: Duration,
    /// How long the others consider an instance alive after its last heartbeat.
    pub member_ttl: Duration,
    /// How long an owner that is alive gets to release a partition before its new owner claims it anyway.
    pub handover_timeout: Duration,
    /// How long calls in flight get to end when a partition is released. Less than `handover_timeout`, or the new owner
    /// claims the partition while they still run.
    pub drain_timeout: Duration,
    /// How many partitions are acquired concurrently.
    pub acquires_max: usize,
    /// The backoff after a failed acquisition; it doubles with each failure.
    pub backoff_first: Duration,
    pub backoff_max: Duration,
}

impl Settings {
    pub fn new(partitions: u16) -> Settings {
        Settings {
            partitions,
            ordinals: None,
            heartbeat_interval: Duration::from_secs(2),
            heartbeat_timeout: Duration::from_secs(1),
            silent_after: Duration::from_secs(4),
            member_ttl: MEMBER_TTL,
            handover_timeout: Duration::from_secs(20),
            drain_timeout: Duration::from_secs(10),
            acquires_max: 4,
            backoff_first: Duration::from_secs(1),
            backoff_max: Duration::from_secs(30),
        }
    }

    /// Every partition, control first: the others need its workflows.
    pub fn all(&self) -> impl Iterator<Item = PartitionId> + use<> {
        std::iter::once(PartitionId::CONTROL).chain((0..self.partitions).map(PartitionId))
    }
}
