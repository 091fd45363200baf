//! What a simulation found, as people read it: a table by virtual time.

pub mod json;
pub mod summary;

use api_types::Time;
use kernel::{RunNo, Then};
use types::{Outcome, Timestamp, Work};

use super::call::{self, SimulatedCall};
use super::log::{LogEntry, LogEvent, SimulatedAttempt, SimulatedFiring, SkipReason, numbers};
use crate::screen::{Screen, Tone};
use crate::table::{Cell, Column, TextTable, clean};
use crate::when;

/// Where times are counted from, and by which clocks they are shown besides UTC.
#[derive(Debug, Clone)]
pub struct Clocks {
    pub begin: Timestamp,
    pub zone: Option<String>,
}

/// One line of the table.
#[derive(Default)]
struct ReportLine {
    place: String,
    what: String,
    call: String,
    answer: String,
    means: String,
    tone: Tone,
}

/// The table of a workflow's run.
pub fn of_workflow(entries: &[LogEntry], clocks: &Clocks, screen: &Screen) -> String {
    render("STEP", entries, clocks, screen, |_| String::new())
}

/// The table of a job: its occurrences by number.
pub fn of_job(entries: &[LogEntry], clocks: &Clocks, screen: &Screen) -> String {
    let numbers = numbers(entries);
    let number = |run: RunNo| numbers.get(&run).map(|number| format!("#{number}"));
    render("OCCURRENCE", entries, clocks, screen, |entry| entry.run.and_then(number).unwrap_or_default())
}

fn render(
    place: &'static str,
    entries: &[LogEntry],
    clocks: &Clocks,
    screen: &Screen,
    place_of: impl Fn(&LogEntry) -> String,
) -> String {
    let mut table = TextTable::new([
        Column::number("AFTER"),
        Column::whole("AT (UTC)"),
        Column::text("LOCAL"),
        Column::text(place),
        Column::whole("WHAT"),
        Column::text("CALL"),
        Column::text("ANSWER"),
        Column::text("MEANS"),
    ]);
    for entry in entries {
        let line = line(entry);
        let place = if line.place.is_empty() { place_of(entry) } else { line.place };
        table.row([
            Cell::toned(Tone::Faint, when::between(Time(clocks.begin), Time(entry.at))),
            Cell::new(shown(entry.at)),
            Cell::toned(Tone::Faint, clocks.local(entry.at)),
            Cell::new(place),
            Cell::new(line.what),
            Cell::new(line.call),
            Cell::new(line.answer),
            Cell::toned(line.tone, line.means),
        ]);
    }
    table.render(screen)
}

impl Clocks {
    fn local(&self, at: Timestamp) -> String {
        let zone = self.zone.as_deref();
        let at = jiff::Timestamp::from_millisecond(at.0).ok();
        let at = zone.zip(at).and_then(|(zone, at)| at.in_tz(zone).ok());
        at.map(|at| at.strftime("%a %m-%d %H:%M:%S %Z").to_string()).unwrap_or_default()
    }
}

/// `2026-03-01 12:00:00`, with milliseconds where there are any.
fn shown(at: Timestamp) -> String {
    let text = when::moment(Time(at));
    text.trim_end_matches(" UTC").trim_end_matches(".000").to_owned()
}

fn line(entry: &LogEntry) -> ReportLine {
    let plain = |what: &str, tone, means: String| ReportLine {
        what: what.to_owned(),
        means,
        tone,
        ..ReportLine::default()
    };
    match &entry.what {
        LogEvent::Accepted => plain("accepted", Tone::Plain, String::new()),
        LogEvent::Fired(firing) => plain("fires", Tone::Plain, firing_means(firing)),
        LogEvent::LeftOut { expected, why } => {
            let why = match why {
                SkipReason::Overlap => "the previous one is still running",
                SkipReason::Missed => "its time passed while Sortie was down",
            };
            plain("skipped", Tone::Attention, format!("of {}: {why}", shown(*expected)))
        }
        LogEvent::Attempt(attempt) => attempt_line(entry.at, attempt),
        LogEvent::Overdue { step } => {
            let line = plain("overdue", Tone::Attention, "not done by its deadline".to_owned());
            ReportLine { place: step.clone(), ..line }
        }
        LogEvent::Undoing { reason } => plain("undoing", Tone::Attention, reason.clone()),
        LogEvent::Parked { reason } => plain("parked", Tone::Bad, reason.clone()),
        LogEvent::Completed => plain("completed", Tone::Good, String::new()),
        LogEvent::Undone => plain("undone", Tone::Attention, String::new()),
        LogEvent::OccurrenceEnded { failed: false } => plain("done", Tone::Good, String::new()),
        LogEvent::OccurrenceEnded { failed: true } => plain("failed", Tone::Bad, String::new()),
        LogEvent::Down { until } => {
            let until = until.map_or("permanently".to_owned(), |until| format!("until {}", shown(until)));
            plain("down", Tone::Attention, format!("Sortie is down {until}"))
        }
    }
}

fn firing_means(firing: &SimulatedFiring) -> String {
    let late = (firing.late.as_ms() > 0).then(|| {
        let late = when::length(i64::try_from(firing.late.as_ms()).unwrap_or(i64::MAX));
        format!("that of {}, late by {late}", shown(firing.expected))
    });
    [late, firing.clocks.clone()].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn attempt_line(at: Timestamp, attempt: &SimulatedAttempt) -> ReportLine {
    let kind = match attempt.work {
        Work::Do(_) | Work::DoInstead(_) => "call",
        other => call::kind(other),
    };
    let what = if attempt.attempt > 1 { format!("{kind} #{}", attempt.attempt) } else { kind.to_owned() };
    let took = attempt.end.as_ref().map(|end| format!(" after {}", when::between(Time(at), Time(end.at))));
    let answer = match attempt.answer.as_str() {
        "" => String::new(),
        answer => format!("{}{}", clean(answer), took.unwrap_or_default()),
    };
    let (tone, means) = means(attempt);
    let place = attempt.call.as_ref().map(|call| call.step.clone()).unwrap_or_default();
    let place = if matches!(attempt.work, Work::Notice(_)) { "the run".to_owned() } else { place };
    let place = if place == kernel::job::STEP { String::new() } else { place };
    let call = attempt.call.as_ref().map(target).unwrap_or_default();
    ReportLine { place, what, call, answer, means, tone }
}

/// The method and where the call goes; of a service of the workflow the path is enough.
fn target(call: &SimulatedCall) -> String {
    let to = if call.service.is_some() { call.path() } else { &call.url };
    format!("{} {to}", call.method)
}

fn means(attempt: &SimulatedAttempt) -> (Tone, String) {
    let Some(end) = &attempt.end else { return (Tone::Attention, "repeated".to_owned()) };
    let follows = match end.then {
        Then::Done => String::new(),
        Then::Retry { at } => format!("; retry in {}", when::between(Time(end.at), Time(at))),
        Then::Alternative => "; the alternative is next".to_owned(),
        Then::Failed => "; failed".to_owned(),
    };
    match &end.outcome {
        Outcome::Done { .. } => (Tone::Good, "done".to_owned()),
        // What the answer says already is not said twice.
        Outcome::Refused { status: Some(status), reason } if reason.starts_with(&status.to_string()) => {
            (Tone::Bad, "refused".to_owned())
        }
        Outcome::Refused { reason, .. } => (Tone::Bad, format!("refused: {reason}")),
        Outcome::Transient { .. } => (Tone::Attention, format!("transient{follows}")),
        Outcome::Unknown { .. } => (Tone::Attention, format!("unknown{follows}")),
    }
}
