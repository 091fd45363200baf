//! How late the server itself says that its jobs were: the histogram among its metrics.

use crate::client::{ApiClient, Call};

const METRIC: &str = "sortie_job_lateness_seconds_bucket{le=\"";

/// How many were later than which bound: the counts add up from one bound to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct Lateness {
    buckets: Vec<(f64, u64)>,
}

impl Lateness {
    pub async fn of(client: &mut ApiClient) -> anyhow::Result<Lateness> {
        Ok(Lateness::read(&client.send(Call::get("/metrics")).await?.text()))
    }

    fn read(metrics: &str) -> Lateness {
        let bucket = |line: &str| {
            let (bound, count) = line.strip_prefix(METRIC)?.split_once("\"} ")?;
            let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? };
            Some((bound, count.trim().parse().ok()?))
        };
        Lateness { buckets: metrics.lines().filter_map(bucket).collect() }
    }

    /// What came since `earlier`.
    pub fn since(&self, earlier: &Lateness) -> Lateness {
        let before = |bound: f64| {
            earlier.buckets.iter().find(|(other, _)| *other == bound).map_or(0, |(_, count)| *count)
        };
        Lateness {
            buckets: self.buckets.iter().map(|(bound, count)| (*bound, count - before(*bound))).collect(),
        }
    }

    /// The smallest bound, in milliseconds, that this share of the jobs kept.
    pub fn ms_at(&self, share: f64) -> Option<f64> {
        let all = self.buckets.last()?.1;
        let wanted = (all as f64 * share).ceil() as u64;
        let kept = self.buckets.iter().find(|(_, count)| *count >= wanted && all > 0)?;
        kept.0.is_finite().then_some(kept.0 * 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_bounds_of_buckets() {
        let text = |counts: [u64; 3]| {
            let bounds = ["0.001", "0.002", "+Inf"];
            let line = |(bound, count): (&str, u64)| format!("{METRIC}{bound}\"}} {count}\n");
            bounds.into_iter().zip(counts).map(line).collect::<String>() + "other 3\n"
        };
        let since = Lateness::read(&text([15, 100, 100])).since(&Lateness::read(&text([5, 10, 10])));
        assert_eq!((since.ms_at(0.1), since.ms_at(0.5)), (Some(1.0), Some(2.0)));
        assert_eq!(Lateness::read(&text([0, 0, 1])).ms_at(0.5), None);
        assert_eq!(Lateness::read("").ms_at(0.5), None);
    }
}
