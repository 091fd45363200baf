//! What a simulation, or many, came to.

use crate::checkers::Violation;
use crate::coverage::Coverage;

/// What was done, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    pub seeds: u64,
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
        self.seeds += other.seeds;
        self.events += other.events;
        self.lives += other.lives;
        self.crashes += other.crashes;
        self.power_cuts += other.power_cuts;
        self.failed_syncs += other.failed_syncs;
        self.calls += other.calls;
        self.acknowledged += other.acknowledged;
        self.simulated_ms += other.simulated_ms;
    }
}

/// What one simulation came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub figures: Figures,
    pub coverage: Coverage,
    pub violations: Vec<Violation>,
    pub trace: u64,
}

impl Report {
    pub fn accuse(&mut self, id: &'static str, what: String) {
        self.violations.push(Violation { id, what });
    }
}
