//! An estimate of recent latency: two windows of counts in buckets that grow by an eighth of a power of two.

use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(30);
const SUBS: u32 = 8;
/// Microseconds up to 2^32, over an hour; longer ones count there.
const BUCKETS: usize = 32 * SUBS as usize;

/// Quantiles over the last half to one minute, right to an eighth.
pub(super) struct Latency {
    start: Instant,
    current: Box<[u32; BUCKETS]>,
    previous: Box<[u32; BUCKETS]>,
}

impl Latency {
    pub(super) fn new(now: Instant) -> Latency {
        Latency { start: now, current: Box::new([0; BUCKETS]), previous: Box::new([0; BUCKETS]) }
    }

    pub(super) fn add(&mut self, now: Instant, latency: Duration) {
        self.advance(now);
        let count = &mut self.current[bucket_of(latency)];
        *count = count.saturating_add(1);
    }

    /// The latency that `percent` of the calls stayed below; `None` without calls.
    pub(super) fn quantile(&mut self, now: Instant, percent: u64) -> Option<Duration> {
        self.advance(now);
        let count = |bucket: usize| u64::from(self.current[bucket]) + u64::from(self.previous[bucket]);
        let total: u64 = (0..BUCKETS).map(count).sum();
        let wanted = (total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let found = (0..BUCKETS).find(|bucket| {
            seen += count(*bucket);
            seen >= wanted
        });
        found.map(upper_bound)
    }

    fn advance(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.start);
        if passed < WINDOW {
            return;
        }
        std::mem::swap(&mut self.current, &mut self.previous);
        self.current.fill(0);
        if passed >= WINDOW * 2 {
            self.previous.fill(0);
        }
        self.start = now;
    }
}

fn bucket_of(latency: Duration) -> usize {
    let micros = u32::try_from(latency.as_micros()).unwrap_or(u32::MAX).max(1);
    let octave = micros.ilog2();
    // The three bits below the highest one.
    let sub = ((u64::from(micros) << 3 >> octave) & 7) as u32;
    (octave * SUBS + sub) as usize
}

fn upper_bound(bucket: usize) -> Duration {
    let (octave, sub) = (bucket as u32 / SUBS, bucket as u64 % u64::from(SUBS));
    Duration::from_micros(((9 + sub) << octave) >> 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_an_eighth() {
        let start = Instant::now();
        let mut latency = Latency::new(start);
        for ms in 1..=1000 {
            latency.add(start, Duration::from_millis(ms));
        }
        for (percent, exact) in [(50, 500.0), (99, 990.0)] {
            let estimate = latency.quantile(start, percent).unwrap().as_secs_f64() * 1000.0;
            assert!((exact..=exact * 1.13).contains(&estimate), "p{percent} {estimate}");
        }
    }

    #[test]
    fn every_latency_is_below_the_bound_of_its_bucket() {
        for micros in (0..100_000).chain([u64::from(u32::MAX) - 1]) {
            let latency = Duration::from_micros(micros);
            let bound = upper_bound(bucket_of(latency));
            assert!(
                latency <= bound && bound.as_micros() <= (latency.as_micros() * 9).div_ceil(8) + 2,
                "{micros} {bound:?}"
            );
        }
        assert!(bucket_of(Duration::MAX) < BUCKETS);
    }

    #[test]
    fn the_past_is_forgotten() {
        let start = Instant::now();
        let mut latency = Latency::new(start);
        assert_eq!(latency.quantile(start, 50), None);
        latency.add(start, Duration::from_secs(5));
        assert!(latency.quantile(start + WINDOW, 50).is_some());
        assert_eq!(latency.quantile(start + WINDOW * 2, 50), None);
    }
}
