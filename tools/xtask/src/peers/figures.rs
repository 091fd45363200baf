//! What was measured: one round, its figures, and the median of several rounds.

use serde_json::{Value, json};

/// The result of one round: its duration, and the duration of each piece of work.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    pub seconds: f64,
    pub latencies_ms: Vec<f64>,
}

/// A round in three numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    pub throughput: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
}

impl Round {
    pub fn figures(&self) -> Figures {
        let mut sorted = self.latencies_ms.clone();
        sorted.sort_by(f64::total_cmp);
        let throughput = if self.seconds > 0.0 { sorted.len() as f64 / self.seconds } else { 0.0 };
        Figures { throughput, p50_ms: at(&sorted, 0.5), p99_ms: at(&sorted, 0.99) }
    }
}

impl Figures {
    /// Of each number by itself.
    pub fn median(rounds: &[Figures]) -> Figures {
        let of = |number: fn(&Figures) -> f64| {
            let mut sorted: Vec<f64> = rounds.iter().map(number).collect();
            sorted.sort_by(f64::total_cmp);
            at(&sorted, 0.5)
        };
        Figures {
            throughput: of(|figures| figures.throughput),
            p50_ms: of(|figures| figures.p50_ms),
            p99_ms: of(|figures| figures.p99_ms),
        }
    }

    pub fn to_json(self) -> Value {
        json!({ "throughput": self.throughput, "p50_ms": self.p50_ms, "p99_ms": self.p99_ms })
    }
}

/// The value below which this share of the sorted values lies; the lower one of two.
fn at(sorted: &[f64], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(throughput: f64, p50_ms: f64, p99_ms: f64) -> Figures {
        Figures { throughput, p50_ms, p99_ms }
    }

    #[test]
    fn a_round_has_its_rate_and_its_ranks() {
        let round = Round { seconds: 2.0, latencies_ms: (1..=100).rev().map(f64::from).collect() };
        assert_eq!(round.figures(), figures(50.0, 50.0, 99.0));
    }

    #[test]
    fn the_median_is_of_each_number_by_itself() {
        let rounds = [figures(100.0, 3.0, 9.0), figures(300.0, 1.0, 8.0), figures(200.0, 2.0, 7.0)];
        assert_eq!(Figures::median(&rounds), figures(200.0, 2.0, 8.0));
        assert_eq!(Figures::median(&rounds[..1]), rounds[0]);
    }

    #[test]
    fn a_round_without_work_has_no_ranks() {
        let empty = Round { seconds: 1.0, latencies_ms: Vec::new() }.figures();
        assert_eq!(empty.throughput, 0.0);
        assert!(empty.p99_ms.is_nan());
    }
}
