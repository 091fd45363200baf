//! When jobs fire: the recorded cases of Azure Scheduler, the rules one by one, and both against a slow reading.

#![allow(clippy::unwrap_used)]

mod changes;
mod latest;
mod properties;
mod rules;
mod slow;
mod vectors;
mod zones;

use jiff::Timestamp;
use types::{Frequency, Gap, Recurrence, Repeat, Rule, Schedule, Span, Ticks, Timing};

/// `2015-01-01T12:25:00Z`, with up to seven digits after the second.
fn at(text: &str) -> Ticks {
    let moment: Timestamp = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    Ticks(i64::try_from(moment.as_nanosecond() / 100).unwrap())
}

fn show(at: Ticks) -> String {
    Timestamp::from_nanosecond(i128::from(at.0) * 100).unwrap().to_string()
}

fn show_all(moments: impl IntoIterator<Item = Ticks>) -> Vec<String> {
    moments.into_iter().map(show).collect()
}

fn timing(start: Option<&str>, rule: Rule) -> Timing {
    Timing {
        start: start.map(at),
        recurrence: Some(Recurrence { rule, count: None, end: None }),
        zone: None,
        gap: Gap::End,
        repeat: Repeat::First,
        jitter: Span::ZERO,
    }
}

fn in_zone(zone: &str, mut timing: Timing) -> Timing {
    timing.zone = Some(zone.to_owned());
    timing
}

fn every(interval: u32, frequency: Frequency) -> Rule {
    Rule::Every { frequency, interval, schedule: None }
}

fn scheduled(interval: u32, frequency: Frequency, schedule: Schedule) -> Rule {
    Rule::Every { frequency, interval, schedule: Some(schedule) }
}

fn cron(text: &str) -> Rule {
    Rule::Cron(text.parse().unwrap_or_else(|error| panic!("{error}")))
}

/// The first `most` occurrences after a moment, by `next`.
fn upcoming(timing: &Timing, anchor: Ticks, after: Ticks, most: usize) -> Vec<Ticks> {
    let step = |at: &Ticks| kernel::recurrence::next(timing, anchor, *at);
    std::iter::successors(step(&after), step).take(most).collect()
}
