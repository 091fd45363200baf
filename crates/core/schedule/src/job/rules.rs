//! What must hold between the members of a job, and how large they may be.

mod action;

use serde_json::{Map, Value};
use types::{Ticks, Timestamp};

use crate::date::Date;
use crate::duration::Duration;
use crate::limits::{self, Limits};
use crate::problem::{Report, below};
use crate::spelling::Frequency;
use crate::timing;

type Members = Map<String, Value>;

/// Reports everything that is wrong with the canonical members of a job, whatever is missing among them.
pub(crate) fn check(properties: &Members, limits: &Limits, now: Timestamp, report: &mut Report) {
    check_time(properties, "properties", limits, now, report);
    action::check(properties, limits, report);
}

/// The part that a preview has, too. `path` is where the members stand.
pub(crate) fn check_time(
    properties: &Members,
    path: &str,
    limits: &Limits,
    now: Timestamp,
    report: &mut Report,
) {
    if let Some(Value::Object(recurrence)) = properties.get("recurrence") {
        check_recurrence(recurrence, &below(path, "recurrence"), report);
    }
    if properties.contains_key("at") {
        for other in ["startTime", "recurrence"] {
            if properties.contains_key(other) {
                report.add(&below(path, "at"), format!("runs once, so it excludes {other}"));
            }
        }
    }
    let at = timing::at_instant(properties);
    if let Some(Err(problem)) = &at {
        report.add(&below(path, "at"), problem.as_str());
    }
    let starts = [("startTime", date(properties, "startTime")), ("at", at.and_then(Result::ok))];
    let latest = Ticks::from(now) + limits.start_ahead_max;
    for (name, start) in starts {
        if let Some(start) = start.filter(|start| *start > latest) {
            let (start, latest) = (Date(start), Date(latest));
            let message = format!("{start} is too far ahead; the latest is {latest}");
            report.add(&below(path, name), message);
        }
    }
    if let Some(jitter) = duration(properties, "jitter").filter(|jitter| jitter.span() > limits.jitter_max) {
        let message = format!("{jitter} is longer than {}", limits.jitter_max);
        report.add(&below(path, "jitter"), message);
    }
}

fn check_recurrence(recurrence: &Members, path: &str, report: &mut Report) {
    let frequency = recurrence.get("frequency").and_then(Value::as_str).and_then(Frequency::read);
    if recurrence.contains_key("cron") {
        for other in ["frequency", "interval", "schedule"] {
            if recurrence.contains_key(other) {
                report.add(&below(path, "cron"), format!("says it all, so it excludes {other}"));
            }
        }
    } else if !recurrence.contains_key("frequency") && !report.mentions(&below(path, "frequency")) {
        if !report.mentions(&below(path, "cron")) {
            report.add(&below(path, "frequency"), "required, unless there is cron");
        }
        return;
    }
    let interval = recurrence.get("interval").and_then(Value::as_i64);
    if let (Some(frequency), Some(interval)) = (frequency, interval) {
        let max = limits::interval_max(frequency.into());
        if interval > i64::from(max) {
            let message =
                format!("{interval} is more than {max}, the longest interval of frequency {frequency}");
            report.add(&below(path, "interval"), message);
        }
    }
    if let Some(Value::Object(schedule)) = recurrence.get("schedule") {
        check_schedule(schedule, frequency, &below(path, "schedule"), report);
    }
}

fn check_schedule(schedule: &Members, frequency: Option<Frequency>, path: &str, report: &mut Report) {
    if schedule.is_empty() && !report.mentions(path) {
        report.add(path, "says nothing; leave it out, or name minutes, hours or days");
    }
    let Some(frequency) = frequency else { return };
    let days = [
        ("weekDays", Frequency::Week),
        ("monthDays", Frequency::Month),
        ("monthlyOccurrences", Frequency::Month),
    ];
    for (name, fitting) in days {
        if schedule.contains_key(name) && frequency != fitting {
            let message = format!("goes with frequency {fitting}, not with {frequency}");
            report.add(&below(path, name), message);
        }
    }
}

fn date(members: &Members, name: &str) -> Option<Ticks> {
    members.get(name)?.as_str()?.parse::<Date>().ok().map(|date| date.0)
}

fn duration(members: &Members, name: &str) -> Option<Duration> {
    members.get(name)?.as_str()?.parse().ok()
}

fn text<'a>(members: &'a Members, name: &str) -> Option<&'a str> {
    members.get(name)?.as_str()
}
