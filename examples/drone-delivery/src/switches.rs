//! The switches that hurt a service, and the dice that decide which request is hit.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::check::Invalid;

const DELAY_MS_MAX: u64 = 3_600_000;

/// What goes wrong at a service, and how often. Rates are from 0 (never) to 1 (always).
///
/// Delays, hangs, lost answers and late requests hit every request. Error, unavailable and refuse hit
/// all but undos (DELETE, and the PATCH that takes back a change); those have switches of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Switches {
    /// Where the dice start. The same seed and the same order of requests give the same faults.
    pub seed: u64,
    /// Every answer takes at least this long.
    pub latency_ms: u64,
    /// And up to this much more.
    pub jitter_ms: u64,
    /// 500, nothing done.
    pub error_rate: f64,
    /// 503 with Retry-After, nothing done.
    pub unavailable_rate: f64,
    pub retry_after_s: u32,
    /// No answer for as long as the client waits, nothing done.
    pub hang_rate: f64,
    /// 409, nothing done: a business answer. The account service says `false` instead.
    pub refuse_rate: f64,
    /// These ids are always refused; a package also by the delivery that asks for it.
    pub refuse: BTreeSet<String>,
    /// The work is done, then the connection is closed without an answer.
    pub lost_rate: f64,
    /// The request waits `late_ms` somewhere on its way and is then done, whether or not the client waits.
    pub late_rate: f64,
    pub late_ms: u64,
    /// 500 to an undo, nothing undone.
    pub undo_error_rate: f64,
    /// 409 to the undos of these ids, nothing undone.
    pub undo_refuse: BTreeSet<String>,
}

impl Default for Switches {
    fn default() -> Switches {
        Switches {
            seed: 1,
            latency_ms: 0,
            jitter_ms: 0,
            error_rate: 0.0,
            unavailable_rate: 0.0,
            retry_after_s: 1,
            hang_rate: 0.0,
            refuse_rate: 0.0,
            refuse: BTreeSet::new(),
            lost_rate: 0.0,
            late_rate: 0.0,
            late_ms: 1000,
            undo_error_rate: 0.0,
            undo_refuse: BTreeSet::new(),
        }
    }
}

impl Switches {
    /// Reads switches strictly: unknown fields and rates outside 0 to 1 are refused.
    pub(crate) fn parse(body: &[u8]) -> Result<Switches, Invalid> {
        let switches: Switches =
            serde_json::from_slice(body).map_err(|error| invalid("", error.to_string()))?;
        switches.check()?;
        Ok(switches)
    }

    pub(crate) fn check(&self) -> Result<(), Invalid> {
        let rates = [
            ("/error_rate", self.error_rate),
            ("/unavailable_rate", self.unavailable_rate),
            ("/hang_rate", self.hang_rate),
            ("/refuse_rate", self.refuse_rate),
            ("/lost_rate", self.lost_rate),
            ("/late_rate", self.late_rate),
            ("/undo_error_rate", self.undo_error_rate),
        ];
        if let Some((pointer, _)) = rates.iter().find(|(_, rate)| !(0.0..=1.0).contains(rate)) {
            return Err(invalid(pointer, "a rate is from 0 to 1".to_owned()));
        }
        let delays =
            [("/latency_ms", self.latency_ms), ("/jitter_ms", self.jitter_ms), ("/late_ms", self.late_ms)];
        if let Some((pointer, _)) = delays.iter().find(|(_, delay_ms)| *delay_ms > DELAY_MS_MAX) {
            return Err(invalid(pointer, format!("a delay is at most {DELAY_MS_MAX} ms")));
        }
        Ok(())
    }

    /// How long the next answer is held back.
    pub(crate) fn delay_ms(&self, dice: &Dice) -> u64 {
        self.latency_ms + dice.up_to(self.jitter_ms)
    }

    /// Whether nothing is hurt.
    pub(crate) fn are_off(&self) -> bool {
        let unused = Switches { seed: self.seed, retry_after_s: self.retry_after_s, ..Switches::default() };
        Switches { late_ms: unused.late_ms, ..self.clone() } == unused
    }
}

fn invalid(pointer: &str, detail: String) -> Invalid {
    Invalid { code: "invalid", pointer: pointer.to_owned(), detail }
}

/// How many requests each fault has hit since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Hits {
    pub delayed: u64,
    pub hung: u64,
    pub failed: u64,
    pub unavailable: u64,
    pub refused: u64,
    pub lost: u64,
    pub late: u64,
    pub undo_failed: u64,
    pub undo_refused: u64,
}

/// A seeded sequence of draws that any thread may take from.
pub(crate) struct Dice {
    position: AtomicU64,
}

const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice { position: AtomicU64::new(seed) }
    }

    pub fn restart(&self, seed: u64) {
        self.position.store(seed, Ordering::Relaxed);
    }

    /// True in `rate` of all draws. Never and always take no draw.
    pub fn hits(&self, rate: f64) -> bool {
        rate > 0.0 && (rate >= 1.0 || self.draw() < rate)
    }

    /// From 0 to `most`, both included.
    pub fn up_to(&self, most: u64) -> u64 {
        if most == 0 { 0 } else { (self.draw() * (most + 1) as f64) as u64 }
    }

    /// SplitMix64, as a number from 0 to below 1.
    fn draw(&self) -> f64 {
        let mut bits = self.position.fetch_add(STRIDE, Ordering::Relaxed).wrapping_add(STRIDE);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same() {
        let draws = |seed| {
            let dice = Dice::new(seed);
            (0..200).map(|_| dice.hits(0.3)).collect::<Vec<_>>()
        };
        assert_eq!(draws(7), draws(7));
        assert_ne!(draws(7), draws(8));
        let hits = draws(7).into_iter().filter(|hit| *hit).count();
        assert!((30..=90).contains(&hits), "{hits} of 200 at a rate of 0.3");
    }

    #[test]
    fn delays_lie_between_latency_and_latency_with_jitter() {
        let switches = Switches { latency_ms: 40, jitter_ms: 3, ..Switches::default() };
        let dice = Dice::new(5);
        let delays_ms: BTreeSet<u64> = (0..200).map(|_| switches.delay_ms(&dice)).collect();
        assert_eq!(delays_ms, BTreeSet::from([40, 41, 42, 43]), "seed 5");
    }

    #[test]
    fn switches_are_read_strictly() {
        let pointer = |text: &str| Switches::parse(text.as_bytes()).map_err(|invalid| invalid.pointer);
        assert_eq!(pointer("{}"), Ok(Switches::default()));
        assert_eq!(pointer(r#"{"lost_rate": 1.5}"#), Err("/lost_rate".to_owned()));
        assert_eq!(pointer(r#"{"late_ms": 999999999}"#), Err("/late_ms".to_owned()));
        assert_eq!(pointer(r#"{"lostrate": 1}"#), Err(String::new()));
    }

    #[test]
    fn only_switches_that_hurt_nothing_are_off() {
        assert!(Switches { seed: 9, retry_after_s: 3, late_ms: 5, ..Switches::default() }.are_off());
        assert!(!Switches { undo_error_rate: 0.1, ..Switches::default() }.are_off());
        assert!(!Switches { jitter_ms: 1, ..Switches::default() }.are_off());
    }
}
