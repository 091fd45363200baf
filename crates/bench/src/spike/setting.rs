//! How a spike was measured, and whether it was held.

use serde::Serialize;
use terminal::machine;

use super::super::backlog::Account;
use super::super::figures::{Setting, count, thousands};
use super::super::load::{Measured, side};
use super::super::series::{self, Moment};
use super::{P99_MS_MAX, Plan, Sample, WARM_UP};

#[derive(Debug, Serialize)]
pub struct SpikeSetting {
    rate: f64,
    spike_rate: f64,
    before_seconds: f64,
    during_seconds: f64,
    after_seconds: f64,
    connections: u32,
    offered: u64,
    accepted: u64,
    refused: u64,
    failed: u64,
    /// Of those failed: no connection was free.
    unsent: u64,
    trouble: Option<String>,
    max_ms: f64,
    spike_p50_ms: f64,
    spike_p99_ms: f64,
    spike_max_ms: f64,
    /// Most that waited at once, and most memory that the server held.
    waiting_max: u64,
    memory_max_bytes: u64,
    /// From the last request until all had ended.
    drain_seconds: f64,
    account: Account,
    /// Nothing was refused or failed, and 99 % of the spike was answered within 500 ms.
    held: bool,
    /// The highest multiple of the rate that is held, when it was looked for.
    highest_multiple_held: Option<f64>,
    pub series: Vec<Moment>,
}

impl SpikeSetting {
    pub fn new(
        plan: Plan,
        measured: &Measured,
        samples: &[Sample],
        account: Account,
        drain_seconds: f64,
        highest_multiple_held: Option<f64>,
    ) -> SpikeSetting {
        let latencies = measured.between(plan.before, plan.before + plan.during).latencies;
        let spike = side(&latencies, 0.0);
        SpikeSetting {
            rate: plan.rate,
            spike_rate: plan.spike_rate,
            before_seconds: plan.before.as_secs_f64(),
            during_seconds: plan.during.as_secs_f64(),
            after_seconds: plan.after.as_secs_f64(),
            connections: plan.connections,
            offered: measured.offered,
            accepted: measured.accepted,
            refused: measured.refused,
            failed: measured.failed,
            unsent: measured.unsent,
            trouble: measured.trouble.clone(),
            max_ms: measured.latencies.max() as f64 / 1000.0,
            spike_p50_ms: spike.p50_ms,
            spike_p99_ms: spike.p99_ms,
            spike_max_ms: latencies.max() as f64 / 1000.0,
            waiting_max: samples.iter().map(|sample| sample.waiting).max().unwrap_or(0),
            memory_max_bytes: samples.iter().map(|sample| sample.memory_bytes).max().unwrap_or(0),
            drain_seconds,
            account,
            held: plan.is_held(measured),
            highest_multiple_held,
            series: series::moments(measured, samples, WARM_UP),
        }
    }

    /// Whether it was held, in a line.
    pub fn verdict(&self) -> String {
        let SpikeSetting { spike_p99_ms, refused, failed, .. } = self;
        let word = if self.held { "held" } else { "not held" };
        let search = match self.highest_multiple_held {
            Some(multiple) => format!(
                "; held up to {multiple} times the rate, {} per second",
                thousands(self.rate * multiple)
            ),
            None => String::new(),
        };
        format!(
            "{word}: p99 {spike_p99_ms:.1} ms in the spike (at most {P99_MS_MAX:.0} ms), {refused} refused, {failed} failed{search}"
        )
    }
}

impl Setting for SpikeSetting {
    const BENCH: &'static str = "spike";

    fn describe(&self) -> String {
        format!(
            "Spike: {} requests/s for {} s, {} for {} s, {} for {} s; {} connections",
            thousands(self.rate),
            self.before_seconds,
            thousands(self.spike_rate),
            self.during_seconds,
            thousands(self.rate),
            self.after_seconds,
            self.connections,
        )
    }

    fn further(&self) -> Vec<(&'static str, String)> {
        let SpikeSetting { unsent, spike_p50_ms, spike_max_ms, drain_seconds, .. } = self;
        let memory = machine::bytes(self.memory_max_bytes);
        let mut lines = vec![
            ("spike", self.verdict()),
            (
                "",
                format!(
                    "p50 {spike_p50_ms:.1} ms, max {spike_max_ms:.1} ms; {unsent} found no free connection"
                ),
            ),
            ("lost", self.account.describe()),
            (
                "backlog",
                format!(
                    "{} waited at most, all ended {drain_seconds:.1} s after the last; {memory}",
                    count(self.waiting_max)
                ),
            ),
        ];
        lines.extend(self.trouble.iter().map(|trouble| ("trouble", trouble.clone())));
        lines
    }
}
