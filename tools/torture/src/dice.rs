//! A seeded sequence of draws: the same seed, the same moments.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub struct Dice {
    position: u64,
}

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice { position: seed }
    }

    /// A random seed, short enough to be typed.
    pub fn any_seed() -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.as_nanos() as u64 % 1_000_000_000
    }

    /// From `least` to below `beyond`.
    pub fn range(&mut self, least: u64, beyond: u64) -> u64 {
        least + self.draw() % (beyond - least)
    }

    pub fn hits_percent(&mut self, percent: u64) -> bool {
        self.range(0, 100) < percent
    }

    pub fn milliseconds(&mut self, least: u64, beyond: u64) -> Duration {
        Duration::from_micros(self.range(least * 1000, beyond * 1000))
    }

    /// SplitMix64.
    pub fn draw(&mut self) -> u64 {
        self.position = self.position.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.position;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}
