//! How patient instances are with each other.

use std::time::Duration;

use types::PartitionId;

/// An instance that says nothing for so long is dead. Whoever keeps the register counts it, by their clocks.
pub const LIFETIME: Duration = Duration::from_secs(6);

/// How partitions are kept. All instances of an installation must be given the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How many partitions hold runs; the control partition is kept beside them.
    pub partitions: u16,
    /// How many places instances have, when assignment goes by ordinals.
    pub ordinals: Option<u32>,
    /// From one sign of life to the next.
    pub beat_every: Duration,
    /// How long a sign of life may take before it counts as lost.
    pub beat_within: Duration,
    /// Without a sign of life for so long, no calls are started.
    pub quiet_after: Duration,
    /// How long the others believe in an instance that says nothing.
    pub lifetime: Duration,
    /// How long a holder that lives gets to let go.
    pub yield_within: Duration,
    /// How long calls under way get to end when a partition is let go. Less than `yield_within`, or a partition is
    /// taken from under them.
    pub patience: Duration,
    /// How many partitions are taken side by side.
    pub takes_at_once: usize,
    /// The pause after a take that failed; it doubles with each.
    pub pause_first: Duration,
    pub pause_max: Duration,
}

impl Settings {
    pub fn new(partitions: u16) -> Settings {
        Settings {
            partitions,
            ordinals: None,
            beat_every: Duration::from_secs(2),
            beat_within: Duration::from_secs(1),
            quiet_after: Duration::from_secs(4),
            lifetime: LIFETIME,
            yield_within: Duration::from_secs(20),
            patience: Duration::from_secs(10),
            takes_at_once: 4,
            pause_first: Duration::from_secs(1),
            pause_max: Duration::from_secs(30),
        }
    }

    /// Every partition, control first: the others need what it knows.
    pub fn all(&self) -> impl Iterator<Item = PartitionId> + use<> {
        std::iter::once(PartitionId::CONTROL).chain((0..self.partitions).map(PartitionId))
    }
}
