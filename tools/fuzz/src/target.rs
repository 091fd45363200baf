//! The description of a target.

use crate::targets;

/// One parser under test.
pub struct Target {
    pub name: &'static str,
    /// Panics when these bytes break a promise of the parser.
    pub run: fn(&[u8]),
    /// Inputs to begin with: valid ones, so that mutations of them get past the first check.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words that inputs are made of.
    pub words: &'static [&'static str],
    /// How many inputs one run of the tests tries: as many as take about half a second unoptimised.
    pub inputs: usize,
}

/// The target of a name.
pub fn find(name: &str) -> Option<&'static Target> {
    targets::ALL.iter().find(|target| target.name == name)
}
