//! How a load went over time: one moment for each interval.

use std::time::Duration;

use serde::Serialize;

use super::chart::{Line, Panel, Scale};
use super::load::Measured;
use super::watch::Sample;

/// An interval of a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moment {
    /// Its middle, since the beginning of what is measured.
    pub second: f64,
    pub offered_per_second: f64,
    pub accepted_per_second: f64,
    pub refused_per_second: f64,
    pub failed_per_second: f64,
    /// Of requests that were due in it and were accepted.
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
    /// Accepted and not ended, and the memory of the server; missing when it was not looked at.
    pub waiting: Option<u64>,
    pub memory_bytes: Option<u64>,
}

/// The moments of a load, after its warm-up and until the last request was due.
pub fn moments(measured: &Measured, samples: &[Sample], warm_up: Duration) -> Vec<Moment> {
    let begin = measured.begun + warm_up;
    let interval = measured.interval_length();
    let per_second = |count: u64| count as f64 / interval.as_secs_f64();
    let moment = |(number, part): (usize, &super::load::Interval)| {
        let from = interval * u32::try_from(number).unwrap_or(u32::MAX);
        let sample =
            samples.iter().find(|sample| sample.at >= begin + from && sample.at < begin + from + interval);
        let ms = |quantile| part.latencies.value_at_quantile(quantile) as f64 / 1000.0;
        Moment {
            second: (from + interval / 2).as_secs_f64(),
            offered_per_second: per_second(part.offered),
            accepted_per_second: per_second(part.accepted),
            refused_per_second: per_second(part.refused),
            failed_per_second: per_second(part.failed),
            p50_ms: ms(0.5),
            p99_ms: ms(0.99),
            max_ms: part.latencies.max() as f64 / 1000.0,
            waiting: sample.map(|sample| sample.waiting),
            memory_bytes: sample.map(|sample| sample.memory_bytes),
        }
    };
    measured.intervals_due().iter().enumerate().map(moment).collect()
}

/// Latency over time, on a scale that shows both calm and trouble.
pub fn latency_panel(moments: &[Moment]) -> Panel {
    let accepted = |figure: fn(&Moment) -> f64| {
        let answered = moments.iter().filter(|moment| moment.max_ms > 0.0);
        answered.map(|moment| (moment.second, figure(moment))).collect()
    };
    Panel {
        title: "latency of accepted requests, from the time they were due",
        unit: "ms",
        scale: Scale::Log,
        lines: vec![
            Line::new("p50", "blue", accepted(|moment| moment.p50_ms)),
            Line::new("p99", "orange", accepted(|moment| moment.p99_ms)),
            Line::new("max", "grey", accepted(|moment| moment.max_ms)),
        ],
    }
}

/// What was offered, and what became of it.
pub fn rate_panel(moments: &[Moment]) -> Panel {
    let line = |figure: fn(&Moment) -> f64| -> Vec<(f64, f64)> {
        moments.iter().map(|moment| (moment.second, figure(moment))).collect()
    };
    let mut lines = vec![
        Line::new("offered", "grey", line(|moment| moment.offered_per_second)),
        Line::new("accepted", "green", line(|moment| moment.accepted_per_second)),
        Line::new("refused", "red", line(|moment| moment.refused_per_second)),
    ];
    if moments.iter().any(|moment| moment.failed_per_second > 0.0) {
        lines.push(Line::new("failed", "orange", line(|moment| moment.failed_per_second)));
    }
    Panel { title: "requests", unit: "per second", scale: Scale::Linear, lines }
}

/// What waits for its turn.
pub fn waiting_panel(moments: &[Moment]) -> Panel {
    let seen = |moment: &Moment| moment.waiting.map(|waiting| (moment.second, waiting as f64));
    let lines = vec![Line::new("waiting", "blue", moments.iter().filter_map(seen).collect())];
    Panel { title: "accepted and not ended", unit: "runs", scale: Scale::Linear, lines }
}

/// The memory of the server.
pub fn memory_panel(moments: &[Moment]) -> Panel {
    let seen = |moment: &Moment| moment.memory_bytes.map(|bytes| (moment.second, bytes as f64 / 1_048_576.0));
    let lines = vec![Line::new("resident", "green", moments.iter().filter_map(seen).collect())];
    Panel { title: "memory of the server", unit: "MiB", scale: Scale::Linear, lines }
}
