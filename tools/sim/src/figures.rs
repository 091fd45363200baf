//! What simulations of single instances did, in numbers.

/// Counts of one simulation, or the sum of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    pub events: u64,
    pub lives: u64,
    pub crashes: u64,
    pub power_cuts: u64,
    pub failed_syncs: u64,
    pub calls: u64,
    pub acknowledged: u64,
    pub simulated_ms: u64,
}

impl Figures {
    pub fn add(&mut self, other: Figures) {
        self.events += other.events;
        self.lives += other.lives;
        self.crashes += other.crashes;
        self.power_cuts += other.power_cuts;
        self.failed_syncs += other.failed_syncs;
        self.calls += other.calls;
        self.acknowledged += other.acknowledged;
        self.simulated_ms += other.simulated_ms;
    }

    /// The figures in words.
    pub fn describe(&self) -> String {
        format!(
            "{:.1} million events, {} lives, {} crashes ({} power cuts), {} failed syncs, {} calls, {} acknowledged, \
             {} simulated hours",
            self.events as f64 / 1e6,
            self.lives,
            self.crashes,
            self.power_cuts,
            self.failed_syncs,
            self.calls,
            self.acknowledged,
            self.simulated_ms / 3_600_000,
        )
    }
}
