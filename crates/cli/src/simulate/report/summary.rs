//! The close of a report: how it ended, what it took, and what a reader should know.

use api_types::Time;
use kernel::job::Job;
use kernel::{Run, StepState};
use serde_json::{Value, json};
use types::{JobState, Outcome, OutcomeKind, RunStatus, Timestamp};

use super::shown;
use crate::screen::{Screen, Tone};
use crate::simulate::log::{LogEntry, LogEvent, SkipReason};
use crate::table::clean;
use crate::when;

/// The result of a simulation.
pub struct Summary {
    pub headline: String,
    pub tone: Tone,
    /// Whether all went well.
    pub well: bool,
    facts: Vec<(&'static str, String)>,
    json: Value,
    notes: Vec<String>,
}

/// Attempts by their outcome.
#[derive(Default)]
struct CallCounts {
    done: usize,
    refused: usize,
    transient: usize,
    unknown: usize,
}

impl CallCounts {
    fn of(entries: &[LogEntry]) -> CallCounts {
        let mut calls = CallCounts::default();
        for entry in entries {
            let LogEvent::Attempt(attempt) = &entry.what else { continue };
            let count = match attempt.end.as_ref().map(|end| &end.outcome) {
                Some(Outcome::Done { .. }) => &mut calls.done,
                Some(Outcome::Refused { .. }) => &mut calls.refused,
                Some(Outcome::Transient { .. }) => &mut calls.transient,
                Some(Outcome::Unknown { .. }) | None => &mut calls.unknown,
            };
            *count += 1;
        }
        calls
    }

    fn named(&self) -> [(&'static str, usize); 4] {
        let CallCounts { done, refused, transient, unknown } = *self;
        [
            (OutcomeKind::Done.name(), done),
            (OutcomeKind::Refused.name(), refused),
            (OutcomeKind::Transient.name(), transient),
            (OutcomeKind::Unknown.name(), unknown),
        ]
    }

    fn describe(&self) -> String {
        let all: usize = self.named().iter().map(|(_, count)| count).sum();
        let parts = self.named().into_iter().filter(|(_, count)| *count > 0);
        let parts: Vec<String> = parts.map(|(name, count)| format!("{count} {name}")).collect();
        if parts.is_empty() { all.to_string() } else { format!("{all}: {}", parts.join(", ")) }
    }

    fn json(&self) -> Value {
        self.named().into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect()
    }
}

/// The result of a run of a workflow.
pub fn of_run(run: &Run, entries: &[LogEntry], begin: Timestamp, notes: Vec<String>) -> Summary {
    let parked_at = entries.iter().rev().find(|entry| matches!(entry.what, LogEvent::Parked { .. }));
    let end = run.ended_at().or(parked_at.map(|entry| entry.at)).unwrap_or(begin);
    let (id, status, took) = (&run.request.id, run.status(), when::between(Time(begin), Time(end)));
    let reason = run.reason();
    let why = reason.as_ref().map(|reason| format!(": {}", clean(reason))).unwrap_or_default();
    let named = |wanted: fn(&StepState) -> bool| {
        let steps = run.each_step().filter(move |(_, _, step)| wanted(&step.state));
        steps.map(|(_, plan, _)| plan.name.to_string()).collect::<Vec<_>>()
    };
    let (done, undone) = (named(|state| matches!(state, StepState::Done(_))), undone_in_order(entries));
    let open: Vec<String> =
        run.open_steps().iter().map(|step| run.plan().steps[usize::from(step.0)].name.to_string()).collect();
    let calls = CallCounts::of(entries);
    let mut facts = vec![("calls", calls.describe())];
    for (label, steps) in [("done", &done), ("undone", &undone), ("waits for", &open)] {
        if !steps.is_empty() {
            let decision = if label == "waits for" { "a decision on " } else { "" };
            facts.push((label, format!("{decision}{}", steps.join(", "))));
        }
    }
    let json = json!({
        "what": "summary", "run": id, "workflow": run.request.workflow, "status": status, "reason": reason,
        "at": Time(end).to_string(), "after_ms": end.since(begin).as_ms(), "calls": calls.json(),
        "steps_done": done, "steps_undone": undone, "steps_open": open, "notes": notes,
    });
    let (tone, would) = match status {
        RunStatus::Completed => (Tone::Good, "complete"),
        RunStatus::Undone => (Tone::Attention, "be undone"),
        RunStatus::Parked => (Tone::Bad, "be parked"),
        _ => (Tone::Bad, "not end"),
    };
    let headline = format!("Run {id} would {would} after {took}{why}");
    Summary { headline, tone, well: status == RunStatus::Completed, facts, json, notes }
}

/// The steps whose undo was done, in the order in which that was.
fn undone_in_order(entries: &[LogEntry]) -> Vec<String> {
    let mut undone: Vec<(Timestamp, String)> = Vec::new();
    for entry in entries {
        let LogEvent::Attempt(attempt) = &entry.what else { continue };
        let (Some(call), Some(end)) = (&attempt.call, &attempt.end) else { continue };
        if call.kind() == "undo" && matches!(end.outcome, Outcome::Done { .. }) {
            undone.push((end.at, call.step.clone()));
        }
    }
    undone.sort_by_key(|(at, _)| *at);
    undone.into_iter().map(|(_, step)| step).collect()
}

/// The result of a job.
pub fn of_job(
    name: &str,
    job: &Job,
    entries: &[LogEntry],
    omitted: &[String],
    notes: Vec<String>,
) -> Summary {
    let count = |wanted: fn(&LogEvent) -> bool| entries.iter().filter(|entry| wanted(&entry.what)).count();
    let fired = count(|what| matches!(what, LogEvent::Fired(_)));
    let late = count(|what| matches!(what, LogEvent::Fired(firing) if firing.late.as_ms() > 0));
    let done = count(|what| matches!(what, LogEvent::OccurrenceEnded { failed: false }));
    let failed = count(|what| matches!(what, LogEvent::OccurrenceEnded { failed: true }));
    let missed = count(|what| matches!(what, LogEvent::LeftOut { why: SkipReason::Missed, .. }));
    let overlapping = count(|what| matches!(what, LogEvent::LeftOut { why: SkipReason::Overlap, .. }));
    let moved = entries.iter().filter_map(|entry| match &entry.what {
        LogEvent::Fired(firing) => Some(format!("{}: {}", shown(firing.expected), firing.clocks.as_ref()?)),
        _ => None,
    });
    let clocks: Vec<String> = moved.chain(omitted.iter().map(|local| format!("none at {local}"))).collect();
    let calls = CallCounts::of(entries);
    let mut facts = vec![
        ("fired", format!("{fired}: {done} done, {failed} failed, {late} late")),
        ("skipped", format!("{missed} missed, {overlapping} overlapping")),
        ("calls", calls.describe()),
    ];
    facts.extend(clocks.iter().map(|change| ("clocks", change.clone())));
    let next = job.progress.next.map(|next| next.floor());
    facts.push(match (job.progress.state, next) {
        (JobState::Enabled, Some(next)) => ("next", shown(next)),
        (state, _) => ("then", format!("it is {state}")),
    });
    let json = json!({
        "what": "summary", "job": name, "fired": fired, "done": done, "failed": failed, "late": late,
        "missed": missed, "overlapping": overlapping, "calls": calls.json(), "clocks": clocks,
        "state": job.progress.state.to_string(), "next": next.map(|next| Time(next).to_string()), "notes": notes,
    });
    let well = failed == 0 && missed == 0;
    let times = if fired == 1 { "once".to_owned() } else { format!("{fired} times") };
    let tone = if well { Tone::Good } else { Tone::Bad };
    Summary { headline: format!("Job {name} would fire {times}"), tone, well, facts, json, notes }
}

impl Summary {
    pub fn render(&self, screen: &Screen) -> String {
        let mut out = format!("{}\n", screen.paint(self.tone, &self.headline));
        for (label, fact) in &self.facts {
            out += &format!("  {label:9}  {}\n", clean(fact));
        }
        for note in &self.notes {
            out += &format!("  {:9}  {}\n", "note", clean(note));
        }
        out
    }

    /// One line of JSON.
    pub fn json(&self) -> String {
        format!("{}\n", self.json)
    }
}
