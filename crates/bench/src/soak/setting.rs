//! Whether anything grew while the same load went on for long.

use serde::Serialize;
use terminal::machine;

use super::super::backlog::Account;
use super::super::comparison::{Side, median};
use super::super::figures::{Setting, count, thousands};
use super::super::load::Measured;
use super::super::series::Moment;

/// Memory and latency may differ by this share between the thirds: less is noise.
const GROWTH_MAX: f64 = 1.2;

#[derive(Debug, Serialize)]
pub struct SoakSetting {
    rate: u32,
    seconds: f64,
    #[serde(flatten)]
    side: Side,
    max_ms: f64,
    refused: u64,
    failed: u64,
    trouble: Option<String>,
    account: Account,
    memory: Thirds,
    p99_ms_of_intervals: Thirds,
    pub series: Vec<Moment>,
}

/// Medians of the first and of the last third, and how they relate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Thirds {
    first: f64,
    last: f64,
    /// The last by the first; 1 means that it did not grow.
    growth: f64,
    /// Growth per hour at this rate.
    per_hour: f64,
}

impl Thirds {
    /// Of figures over time, in seconds.
    fn of(figures: &[(f64, f64)]) -> Thirds {
        let third = (figures.len() / 3).max(1).min(figures.len());
        let middle = |part: &[(f64, f64)]| {
            let (times, values): (Vec<f64>, Vec<f64>) = part.iter().copied().unzip();
            (median(&times), median(&values))
        };
        let (first_at, first) = middle(&figures[..third]);
        let (last_at, last) = middle(&figures[figures.len() - third..]);
        let hours = (last_at - first_at) / 3600.0;
        Thirds {
            first,
            last,
            growth: if first > 0.0 { last / first } else { 1.0 },
            per_hour: if hours > 0.0 { (last - first) / hours } else { 0.0 },
        }
    }

    fn grows(&self) -> bool {
        self.growth > GROWTH_MAX
    }
}

impl SoakSetting {
    pub fn new(rate: u32, measured: &Measured, account: Account, series: Vec<Moment>) -> SoakSetting {
        let memory: Vec<_> =
            series.iter().filter_map(|moment| Some((moment.second, moment.memory_bytes? as f64))).collect();
        let answered = series.iter().filter(|moment| moment.max_ms > 0.0);
        let p99: Vec<_> = answered.map(|moment| (moment.second, moment.p99_ms)).collect();
        SoakSetting {
            rate,
            seconds: series.last().map_or(0.0, |moment| moment.second.ceil()),
            side: measured.side(),
            max_ms: measured.latencies.max() as f64 / 1000.0,
            refused: measured.refused,
            failed: measured.failed,
            trouble: measured.trouble.clone(),
            account,
            memory: Thirds::of(&memory),
            p99_ms_of_intervals: Thirds::of(&p99),
            series,
        }
    }

    /// Whether anything grew, in a line.
    pub fn verdict(&self) -> String {
        let word = |thirds: &Thirds| if thirds.grows() { "grows" } else { "does not grow" };
        let lost = if self.account.is_whole() { "nothing lost" } else { "not all accounted for" };
        format!(
            "memory {} ({:.2} times), p99 {} ({:.2} times), {lost}",
            word(&self.memory),
            self.memory.growth,
            word(&self.p99_ms_of_intervals),
            self.p99_ms_of_intervals.growth
        )
    }
}

impl Setting for SoakSetting {
    const BENCH: &'static str = "soak";

    fn describe(&self) -> String {
        let SoakSetting { seconds, refused, failed, .. } = self;
        format!(
            "Soak: {} deliveries/s for {seconds:.0} s; {refused} refused, {failed} failed",
            count(self.rate)
        )
    }

    fn further(&self) -> Vec<(&'static str, String)> {
        let SoakSetting { side, max_ms, memory, p99_ms_of_intervals: p99, .. } = self;
        let [first, last, hourly] =
            [memory.first, memory.last, memory.per_hour.max(0.0)].map(|bytes| machine::bytes(bytes as u64));
        let mut lines = vec![
            ("verdict", self.verdict()),
            (
                "latency",
                format!(
                    "{} accepted/s, p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, max {max_ms:.2} ms",
                    thousands(side.throughput),
                    side.p50_ms,
                    side.p99_ms,
                    side.p999_ms
                ),
            ),
            ("p99", format!("{:.2} ms in the first third, {:.2} ms in the last", p99.first, p99.last)),
            ("memory", format!("{first} in the first third, {last} in the last; {hourly} an hour")),
            ("lost", self.account.describe()),
        ];
        lines.extend(self.trouble.iter().map(|trouble| ("trouble", trouble.clone())));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_the_last_third_by_the_first() {
        let rising: Vec<_> = (0..9u32).map(|n| (f64::from(n) * 600.0, 100.0 + f64::from(n) * 10.0)).collect();
        let thirds = Thirds::of(&rising);
        assert_eq!((thirds.first, thirds.last, thirds.per_hour.round()), (110.0, 170.0, 60.0));
        assert!(thirds.grows());
        let flat = Thirds::of(&[(1.0, 5.0), (2.0, 50.0), (3.0, 5.0)]);
        assert!(!flat.grows() && flat.growth == 1.0, "one outlier is not growth");
        assert!(!Thirds::of(&[]).grows());
    }
}
