//! A histogram that costs two additions per observation, can be read back, and is exported to Prometheus.

use std::fmt::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// Buckets in each power of two: quantiles are exact to an eighth.
const SUBS: u32 = 8;
/// Powers of two below the first bound that is exported.
const BELOW: u32 = 4;

/// Counts times in buckets that grow by an eighth of a power of two. Cheap to clone; the clones share the counts.
///
/// The exported bounds are `first`, twice that, and so on: Prometheus need not store finer ones.
#[derive(Debug, Clone)]
pub struct Histogram(Arc<HistogramCounts>);

#[derive(Debug)]
struct HistogramCounts {
    first_secs: f64,
    sum_ns: AtomicU64,
    buckets: Box<[AtomicU64]>,
}

/// The counts of a histogram at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    first_secs: f64,
    buckets: Box<[u64]>,
}

impl Histogram {
    /// With `bounds` powers of two from `first_secs` on.
    pub fn new(first_secs: f64, bounds: u32) -> Histogram {
        // The last power of two is for all that is longer than the last bound.
        let buckets = (0..(BELOW + bounds) * SUBS).map(|_| AtomicU64::new(0)).collect();
        Histogram(Arc::new(HistogramCounts { first_secs, sum_ns: AtomicU64::new(0), buckets }))
    }

    pub fn observe(&self, time: Duration) {
        let inner = &*self.0;
        let bucket = bucket_of(time.as_secs_f64() / inner.first_secs).min(inner.buckets.len() - 1);
        inner.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        inner.sum_ns.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub fn read(&self) -> Counted {
        let buckets = self.0.buckets.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        Counted { first_secs: self.0.first_secs, buckets }
    }
}

impl Counted {
    /// How many were counted.
    pub fn total(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The time that `percent` of what was counted since `earlier` stayed below; `None` when that is nothing.
    pub fn quantile_since(&self, earlier: &Counted, percent: u64) -> Option<Duration> {
        let counts =
            self.buckets.iter().zip(&earlier.buckets).map(|(now, before)| now.saturating_sub(*before));
        let total: u64 = counts.clone().sum();
        let wanted = (total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let found = counts.enumerate().find(|(_, count)| {
            seen += count;
            seen >= wanted
        });
        found.map(|(bucket, _)| Duration::from_secs_f64(bound_of(bucket) * self.first_secs))
    }
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder) -> Result<(), Error> {
        let Counted { first_secs, buckets } = self.read();
        let (below, rest) = buckets.split_at((BELOW * SUBS) as usize);
        let sum_of = |counts: &[u64]| counts.iter().sum::<u64>();
        let mut exported = vec![(first_secs, sum_of(below))];
        for octave in rest.chunks(SUBS as usize) {
            let bound = exported.last().map_or(first_secs, |(bound, _)| bound * 2.0);
            exported.push((bound, sum_of(octave)));
        }
        // The last bucket has no upper bound.
        if let Some((bound, _)) = exported.last_mut() {
            *bound = f64::INFINITY;
        }
        let sum = self.0.sum_ns.load(Ordering::Relaxed) as f64 / 1e9;
        encoder.encode_histogram::<NoLabelSet>(sum, sum_of(&buckets), &exported, None)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

/// The bucket of a time, given in units of the first bound. Bounds belong to what is below them, as Prometheus has it.
fn bucket_of(time: f64) -> usize {
    // A float becomes an integer without overflow: what is too large is the largest.
    let units = ((time * f64::from(1 << BELOW)).ceil() as u64).saturating_sub(1).max(1);
    let octave = units.ilog2();
    // The three bits below the highest one.
    let sub = (u128::from(units) << 3 >> octave) as u32 & 7;
    (octave * SUBS + sub) as usize
}

/// What no time of a bucket is longer than, in units of the first bound.
fn bound_of(bucket: usize) -> f64 {
    let (octave, sub) = (bucket as u32 / SUBS, bucket as u32 % SUBS);
    let bound = f64::from(SUBS + sub + 1) / f64::from(SUBS) * 2_f64.powi(octave as i32);
    bound.ceil() / f64::from(1 << BELOW)
}

#[cfg(test)]
mod tests {
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn quantiles_since_a_moment_are_right_to_an_eighth() {
        let histogram = Histogram::new(0.001, 22);
        histogram.observe(Duration::from_secs(3600));
        let before = histogram.read();
        assert_eq!(histogram.read().quantile_since(&before, 50), None);
        for ms in 1..=1000 {
            histogram.observe(Duration::from_millis(ms));
        }
        for (percent, exact) in [(50, 0.5), (99, 0.99)] {
            let read = histogram.read().quantile_since(&before, percent).unwrap().as_secs_f64();
            assert!((exact..=exact * 1.13).contains(&read), "p{percent} {read}");
        }
    }

    #[test]
    fn every_time_is_within_the_bound_of_its_bucket_and_an_eighth() {
        for thousandths in (1..200_000).chain([12_345_678]) {
            let time = f64::from(thousandths) / 1000.0;
            let bound = bound_of(bucket_of(time));
            assert!(time <= bound && bound <= time * 1.126 + 0.126, "{time} {bound}");
        }
        let histogram = Histogram::new(0.001, 2);
        histogram.observe(Duration::MAX);
        assert!(histogram.read().quantile_since(&Histogram::new(0.001, 2).read(), 50).is_some());
    }

    #[test]
    fn powers_of_two_are_exported_with_their_bounds_included() {
        let histogram = Histogram::new(0.001, 3);
        for us in [1, 500, 1000, 1001, 2000, 4000, 4001, 9_000_000] {
            histogram.observe(Duration::from_micros(us));
        }
        let mut registry = Registry::default();
        registry.register("t", "Times", histogram);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "t_bucket{le=\"0.001\"} 3\n",
            "t_bucket{le=\"0.002\"} 5\n",
            "t_bucket{le=\"0.004\"} 6\n",
            "t_bucket{le=\"+Inf\"} 8\n",
            "t_count 8\n",
            "t_sum 9.012503\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
