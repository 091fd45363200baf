//! The retry budget: retries that fail are at most a share of the calls, so that they never become the load.

use std::time::{Duration, Instant};

/// Each first attempt earns this much of a retry.
const SHARE: f64 = 0.2;
/// Retries per second that are granted however few calls there are.
const FLOOR_PER_SEC: f64 = 10.0;
/// What can be saved up: a burst of retries is at most this.
const SAVED_MAX: f64 = 100.0;

/// A bucket of retries. A retry that the service answers well is given back: it was no waste, and a healthy service
/// works off a backlog of retries at full speed.
pub(super) struct Budget {
    saved: f64,
    counted_at: Instant,
}

impl Budget {
    pub(super) fn new(now: Instant) -> Budget {
        Budget { saved: FLOOR_PER_SEC, counted_at: now }
    }

    pub(super) fn on_first_attempt(&mut self) {
        self.earn(SHARE);
    }

    pub(super) fn on_good_retry(&mut self) {
        self.earn(1.0);
    }

    pub(super) fn has_retry(&mut self, now: Instant) -> bool {
        self.refill(now);
        self.saved >= 1.0
    }

    /// Spends one retry, which [`Budget::has_retry`] has shown to be there.
    pub(super) fn spend(&mut self) {
        self.saved = (self.saved - 1.0).max(0.0);
    }

    /// When the floor alone will have earned a retry.
    pub(super) fn retry_at(&mut self, now: Instant) -> Instant {
        self.refill(now);
        let missing = (1.0 - self.saved).max(0.0);
        // A millisecond more than computed, so that rounding never wakes the queue too early for nothing.
        now + Duration::from_secs_f64(missing / FLOOR_PER_SEC) + Duration::from_millis(1)
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.counted_at);
        self.counted_at = self.counted_at.max(now);
        // The floor tops up a purse, it does not fill it: only calls earn more than a second's worth.
        if self.saved < FLOOR_PER_SEC {
            self.saved = (self.saved + passed.as_secs_f64() * FLOOR_PER_SEC).min(FLOOR_PER_SEC);
        }
    }

    fn earn(&mut self, amount: f64) {
        self.saved = (self.saved + amount).min(SAVED_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retries_granted(budget: &mut Budget, now: Instant) -> u32 {
        let mut granted = 0;
        while budget.has_retry(now) {
            budget.spend();
            granted += 1;
        }
        granted
    }

    #[test]
    fn without_calls_the_floor_is_ten_a_second() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        assert_eq!(retries_granted(&mut budget, start), 10);
        let mut granted = 0;
        for ms in 1..=10_000 {
            granted += retries_granted(&mut budget, start + Duration::from_millis(ms));
        }
        assert!((99..=100).contains(&granted), "{granted}");
        assert_eq!(retries_granted(&mut budget, start + Duration::from_secs(3600)), 10);
    }

    #[test]
    fn beyond_the_floor_retries_are_a_fifth_of_the_calls() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        retries_granted(&mut budget, start);
        let mut granted = 0;
        for _ in 0..10_000 {
            budget.on_first_attempt();
            granted += retries_granted(&mut budget, start);
        }
        assert!((1_999..=2_000).contains(&granted), "{granted}");
    }

    #[test]
    fn a_long_healthy_time_saves_up_a_bounded_burst() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        (0..1_000_000).for_each(|_| budget.on_first_attempt());
        assert_eq!(retries_granted(&mut budget, start), 100);
    }

    #[test]
    fn a_retry_that_succeeds_is_given_back() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        for _ in 0..10_000 {
            assert!(budget.has_retry(start));
            budget.spend();
            budget.on_good_retry();
        }
    }

    #[test]
    fn the_stated_time_is_enough() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        retries_granted(&mut budget, start);
        let mut now = start;
        for _ in 0..100 {
            now = budget.retry_at(now);
            assert!(budget.has_retry(now));
            retries_granted(&mut budget, now);
        }
    }
}
