//! What simulations of clusters did, in numbers.

use types::Timestamp;

/// Counts of one simulation, or the sum of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    pub events: u64,
    pub lives: u64,
    pub calls: u64,
    pub acknowledged: u64,
    /// Partitions that got another owner.
    pub takeovers: u64,
    /// Messages that did not fit where the stream ended.
    pub refused: u64,
    /// Owners that learned so that they were overtaken.
    pub fenced: u64,
    /// Messages of which the sender did not learn whether they were stored.
    pub unknown: u64,
    /// Changes of the active region.
    pub switches: u64,
    pub simulated_ms: u64,
    /// Calls that have left and not arrived.
    pub on_the_wire: u64,
    /// Of one simulation alone.
    pub throughput: Throughput,
}

impl Figures {
    pub fn add(&mut self, other: Figures) {
        self.events += other.events;
        self.lives += other.lives;
        self.calls += other.calls;
        self.acknowledged += other.acknowledged;
        self.takeovers += other.takeovers;
        self.refused += other.refused;
        self.fenced += other.fenced;
        self.unknown += other.unknown;
        self.switches += other.switches;
        self.simulated_ms += other.simulated_ms;
    }

    /// The figures in words.
    pub fn describe(&self) -> String {
        format!(
            "{:.1} million events, {} instances, {} takeovers, {} messages refused, {} owners fenced, \
             {} unknown outcomes, {} switches of regions, {} calls, {} acknowledged, {} simulated hours",
            self.events as f64 / 1e6,
            self.lives,
            self.takeovers,
            self.refused,
            self.fenced,
            self.unknown,
            self.switches,
            self.calls,
            self.acknowledged,
            self.simulated_ms / 3_600_000,
        )
    }
}

/// How fast the work of the active region went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throughput {
    pub frames: u64,
    /// Events in those frames.
    pub events: u64,
    /// Runs that have ended, and how long they took together, in ms.
    pub ended: u64,
    pub took_ms: u64,
    /// What the wall clock showed at the last frame.
    pub last: Timestamp,
}
