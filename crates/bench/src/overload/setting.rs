//! How overload was measured, step by step, and what the server made of it.

use serde::Serialize;

use super::super::backlog::Account;
use super::super::figures::{Setting, count, thousands};
use super::super::load::{Interval, Measured, side};
use super::super::series::Moment;

/// Throughput is flat when the highest step has at least this share of the best.
const FLAT_SHARE: f64 = 0.8;
/// A refusal is fast when 99 % come within this time of the request.
const REFUSAL_P99_MS_MAX: f64 = 100.0;

#[derive(Debug, Serialize)]
pub struct OverloadSetting {
    #[serde(flatten)]
    pub bounds: Bounds,
    steps: Vec<LoadStep>,
    account: Account,
    /// Accepted throughput of the highest step, as a share of the best step.
    flat_share: f64,
    flat: bool,
    refusals_fast: bool,
    /// Refusals that did not say when to come again.
    refused_without_time: u64,
    /// What was wrong with the first that failed.
    trouble: Option<String>,
    pub series: Vec<Moment>,
}

/// Between what it was measured.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Bounds {
    /// Whole deliveries per second that can be done.
    pub capacity: f64,
    /// The most accepted requests that may wait.
    pub backlog_max: u32,
    pub connections: u32,
}

/// One step.
#[derive(Debug, Clone, Serialize)]
pub struct LoadStep {
    /// A multiple of what can be done.
    offered_factor: f64,
    offered_per_second: f64,
    accepted_per_second: f64,
    refused_per_second: f64,
    failed: u64,
    p50_ms: f64,
    p99_ms: f64,
    max_ms: f64,
    refusal_p50_ms: f64,
    refusal_p99_ms: f64,
}

impl LoadStep {
    pub fn new(offered_factor: f64, part: &Interval, seconds: u32) -> LoadStep {
        let per_second = |count: u64| count as f64 / f64::from(seconds);
        let side = side(&part.latencies, 0.0);
        let refusal_ms = |quantile| part.refusals.value_at_quantile(quantile) as f64 / 1000.0;
        LoadStep {
            offered_factor,
            offered_per_second: per_second(part.offered),
            accepted_per_second: per_second(part.accepted),
            refused_per_second: per_second(part.refused),
            failed: part.failed,
            p50_ms: side.p50_ms,
            p99_ms: side.p99_ms,
            max_ms: part.latencies.max() as f64 / 1000.0,
            refusal_p50_ms: refusal_ms(0.5),
            refusal_p99_ms: refusal_ms(0.99),
        }
    }
}

impl OverloadSetting {
    pub fn new(
        bounds: Bounds,
        measured: &Measured,
        steps: Vec<LoadStep>,
        account: Account,
        series: Vec<Moment>,
    ) -> OverloadSetting {
        let best = steps.iter().map(|step| step.accepted_per_second).fold(0.0, f64::max);
        let last = steps.last().map_or(0.0, |step| step.accepted_per_second);
        let flat_share = if best > 0.0 { last / best } else { 0.0 };
        OverloadSetting {
            bounds,
            account,
            flat_share,
            flat: flat_share >= FLAT_SHARE,
            refusals_fast: steps.iter().all(|step| step.refusal_p99_ms < REFUSAL_P99_MS_MAX),
            refused_without_time: measured.refused_without_time,
            trouble: measured.trouble.clone(),
            steps,
            series,
        }
    }

    /// What the server made of it, in a line.
    pub fn verdict(&self) -> String {
        let flat = if self.flat { "stays flat" } else { "falls" };
        let fast = if self.refusals_fast { "fast" } else { "slow" };
        let lost = if self.account.is_whole() { "nothing lost" } else { "not all accounted for" };
        let share = self.flat_share;
        format!(
            "accepted throughput {flat} ({share:.2} of the best step at 4 x), refusals are {fast}, {lost}"
        )
    }
}

impl Setting for OverloadSetting {
    const BENCH: &'static str = "overload";

    fn describe(&self) -> String {
        let Bounds { capacity, backlog_max, connections } = self.bounds;
        let (capacity, backlog) = (thousands(capacity), count(backlog_max));
        format!(
            "Overload: {capacity} deliveries/s can be done, {backlog} may wait, {connections} connections"
        )
    }

    fn further(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![("verdict", self.verdict())];
        for step in &self.steps {
            let LoadStep { offered_factor, p50_ms, p99_ms, refusal_p99_ms, failed, .. } = step;
            let [offered, accepted, refused] =
                [step.offered_per_second, step.accepted_per_second, step.refused_per_second].map(thousands);
            let refusals = if step.refused_per_second > 0.0 {
                format!(" (p99 {refusal_p99_ms:.1} ms)")
            } else {
                String::new()
            };
            let failures = if *failed > 0 { format!(", {failed} failed") } else { String::new() };
            lines.push((
                "step",
                format!(
                    "{offered_factor:>4} x: {offered:>7}/s offered, {accepted:>7}/s accepted, p50 {p50_ms:.1} ms, p99 {p99_ms:.1} ms; {refused:>7}/s refused{refusals}{failures}"
                ),
            ));
        }
        lines.push(("refusals", format!("{} did not say when to come again", self.refused_without_time)));
        lines.push(("lost", self.account.describe()));
        lines.extend(self.trouble.iter().map(|trouble| ("trouble", trouble.clone())));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(accepted_per_second: f64, refusal_p99_ms: f64) -> LoadStep {
        LoadStep {
            offered_factor: 1.0,
            offered_per_second: 100.0,
            accepted_per_second,
            refused_per_second: 1.0,
            failed: 0,
            p50_ms: 1.0,
            p99_ms: 2.0,
            max_ms: 3.0,
            refusal_p50_ms: 1.0,
            refusal_p99_ms,
        }
    }

    #[test]
    fn a_fall_and_slow_refusals_are_called_so() {
        let account = Account { accepted: 1, unknown: 0, ended: 1, lost: 0, surplus: 0 };
        let bounds = Bounds { capacity: 100.0, backlog_max: 200, connections: 1 };
        let measured = Measured::nothing();
        let verdict = |steps| OverloadSetting::new(bounds, &measured, steps, account, Vec::new()).verdict();
        let good = verdict(vec![step(90.0, 5.0), step(100.0, 5.0), step(95.0, 5.0)]);
        assert!(
            good.contains("stays flat (0.95") && good.contains("fast") && good.contains("nothing lost"),
            "{good}"
        );
        let bad = verdict(vec![step(100.0, 5.0), step(30.0, 500.0)]);
        assert!(bad.contains("falls (0.30") && bad.contains("slow"), "{bad}");
    }
}
