//! The layout of a run's attempts on a time axis. Rendering is in `drawing.rs`.

use api_types::{MomentView, RunDetail};
use types::{OutcomeKind, RunStatus, Timestamp, WorkKind};

/// The layout. Positions and widths are in percent of the axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Waterfall {
    /// One per step, in the order of the workflow.
    pub rows: Vec<StepRow>,
    pub ticks: Vec<Tick>,
    pub marks: Vec<RunMarker>,
    /// The length of the axis.
    pub length_ms: i64,
}

/// A step over time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepRow {
    pub step: String,
    pub bars: Vec<Bar>,
    /// Periods in which the step waits for its next attempt.
    pub gaps: Vec<Gap>,
}

/// An attempt, or several that are too close together to be distinguished.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    pub x: f64,
    pub width: f64,
    pub lane: Lane,
    /// That of the last attempt, if there are several.
    pub end: AttemptOutcome,
    pub attempts: Vec<AttemptRecord>,
}

/// The row of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    Do,
    Alternative,
    Undo,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptOutcome {
    Running,
    Done,
    Refused,
    Transient,
    Unknown,
}

/// One attempt, with everything that the timeline says about it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AttemptRecord {
    pub step: String,
    /// do, alternative, undo, do_instead or undo_instead
    pub work: String,
    pub number: u32,
    pub began: Timestamp,
    pub ended: Option<Timestamp>,
    pub end: AttemptOutcome,
    pub status: Option<u16>,
    pub detail: Option<String>,
    pub retry_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gap {
    pub x: f64,
    pub width: f64,
    pub lane: Lane,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub x: f64,
    pub label: String,
}

/// An event of the whole run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunMarker {
    pub x: f64,
    pub what: String,
    pub at: Timestamp,
}

/// The minimum width of a bar: an attempt of a millisecond in a run of days must be visible.
pub(crate) const BAR_WIDTH_MIN: f64 = 0.8;
/// Bars that are closer together are merged.
const APART_MIN: f64 = 2.4;
const TICKS_MAX: i64 = 6;

/// Lays out a run at `now`.
pub(crate) fn layout(run: &RunDetail, now: Timestamp) -> Waterfall {
    let attempts = attempts(&run.timeline);
    let axis = Axis::of(run, now);
    let rows = run.steps.iter().map(|step| {
        let own: Vec<&AttemptRecord> = attempts.iter().filter(|attempt| attempt.step == step.name).collect();
        StepRow { step: step.name.clone(), bars: bars(&axis, &own), gaps: gaps(&axis, &own) }
    });
    Waterfall {
        rows: rows.collect(),
        ticks: axis.ticks(),
        marks: marks(&axis, &run.timeline),
        length_ms: axis.length_ms,
    }
}

/// Every attempt, in the order of their start.
pub(crate) fn attempts(timeline: &[MomentView]) -> Vec<AttemptRecord> {
    let mut attempts: Vec<AttemptRecord> = Vec::new();
    for moment in timeline {
        let (Some(step), Some(work), Some(number)) = (&moment.step, &moment.work, moment.attempt) else {
            continue;
        };
        match moment.what.as_str() {
            "started" => attempts.push(AttemptRecord {
                step: step.clone(),
                work: work.clone(),
                number,
                began: moment.at.0,
                ended: None,
                end: AttemptOutcome::Running,
                status: None,
                detail: None,
                retry_at: None,
            }),
            "ended" => {
                let mut open = attempts.iter_mut().rev();
                let begun = open.find(|attempt| {
                    attempt.ended.is_none()
                        && (&attempt.step, &attempt.work, attempt.number) == (step, work, number)
                });
                if let Some(attempt) = begun {
                    attempt.ended = Some(moment.at.0);
                    attempt.end = end(moment.outcome.as_deref());
                    attempt.status = moment.status;
                    attempt.detail.clone_from(&moment.detail);
                    attempt.retry_at = moment.retry_at.map(|at| at.0);
                }
            }
            _ => {}
        }
    }
    attempts
}

fn end(outcome: Option<&str>) -> AttemptOutcome {
    match outcome.and_then(OutcomeKind::parse) {
        Some(OutcomeKind::Done) => AttemptOutcome::Done,
        Some(OutcomeKind::Refused) => AttemptOutcome::Refused,
        Some(OutcomeKind::Transient) => AttemptOutcome::Transient,
        Some(OutcomeKind::Unknown) | None => AttemptOutcome::Unknown,
    }
}

impl AttemptOutcome {
    pub(crate) fn word(self) -> &'static str {
        match self {
            AttemptOutcome::Running => "running",
            AttemptOutcome::Done => OutcomeKind::Done.name(),
            AttemptOutcome::Refused => OutcomeKind::Refused.name(),
            AttemptOutcome::Transient => OutcomeKind::Transient.name(),
            AttemptOutcome::Unknown => OutcomeKind::Unknown.name(),
        }
    }
}

impl Lane {
    fn of(work: &str) -> Lane {
        match WorkKind::parse(work).map(WorkKind::declared) {
            Some(WorkKind::Undo) => Lane::Undo,
            Some(WorkKind::Alternative) => Lane::Alternative,
            _ => Lane::Do,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Lane::Do => WorkKind::Do.name(),
            Lane::Alternative => WorkKind::Alternative.name(),
            Lane::Undo => WorkKind::Undo.name(),
        }
    }
}

/// The period that is shown.
struct Axis {
    start: i64,
    length_ms: i64,
    step_ms: i64,
    /// The end of running attempts.
    now: i64,
}

impl Axis {
    fn of(run: &RunDetail, now: Timestamp) -> Axis {
        let times = run.timeline.iter().map(|moment| moment.at.0.0);
        let start = times.clone().min().unwrap_or(run.summary.accepted_at.0.0);
        let last = times.max().unwrap_or(start);
        // A parked run is idle, like an ended one: its axis does not grow until a decision is made.
        let is_still = run.summary.status.is_final() || run.summary.status == RunStatus::Parked;
        let now = if is_still { last } else { now.0.max(last) };
        let planned = run.steps.iter().filter_map(|step| step.next_attempt_at.map(|at| at.0.0)).max();
        let end = planned.filter(|_| !is_still).map_or(now, |planned| planned.max(now));
        let length_ms = (end - start).max(1);
        let step_ms = tick_step(length_ms);
        // While the run is live, the axis ends at a tick, so that it does not move with every refresh.
        let whole = length_ms.div_euclid(step_ms) + 1;
        let length_ms = if is_still { length_ms } else { whole * step_ms };
        Axis { start, length_ms, step_ms, now }
    }

    fn x(&self, at: i64) -> f64 {
        let part = (at - self.start) as f64 / self.length_ms as f64;
        part.clamp(0.0, 1.0) * 100.0
    }

    fn ticks(&self) -> Vec<Tick> {
        let count = self.length_ms / self.step_ms;
        let at = |n: i64| Tick { x: self.x(self.start + n * self.step_ms), label: label(n * self.step_ms) };
        (0..=count).map(at).collect()
    }
}

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The distance between ticks: a round number, so that there are few ticks.
fn tick_step(length_ms: i64) -> i64 {
    const STEPS: [i64; 28] = [
        1,
        2,
        5,
        10,
        20,
        50,
        100,
        200,
        500,
        SECOND,
        2 * SECOND,
        5 * SECOND,
        10 * SECOND,
        20 * SECOND,
        30 * SECOND,
        MINUTE,
        2 * MINUTE,
        5 * MINUTE,
        10 * MINUTE,
        20 * MINUTE,
        30 * MINUTE,
        HOUR,
        2 * HOUR,
        3 * HOUR,
        6 * HOUR,
        12 * HOUR,
        DAY,
        2 * DAY,
    ];
    let fits = STEPS.into_iter().find(|step| length_ms / step <= TICKS_MAX);
    fits.unwrap_or_else(|| (length_ms / TICKS_MAX / DAY + 1) * DAY)
}

fn label(ms: i64) -> String {
    match ms {
        0 => "0".to_owned(),
        ms if ms % DAY == 0 => format!("{} d", ms / DAY),
        ms if ms % HOUR == 0 => format!("{} h", ms / HOUR),
        ms if ms % MINUTE == 0 => format!("{} min", ms / MINUTE),
        ms if ms % SECOND == 0 => format!("{} s", ms / SECOND),
        ms if ms > SECOND => format!("{} s", ms as f64 / 1000.0),
        ms => format!("{ms} ms"),
    }
}

fn bars(axis: &Axis, attempts: &[&AttemptRecord]) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    for attempt in attempts {
        let x = axis.x(attempt.began.0);
        let until = axis.x(attempt.ended.map_or(axis.now, |at| at.0));
        let width = (until - x).max(BAR_WIDTH_MIN);
        // A bar that starts at the very end still has its minimum width.
        let x = x.min(100.0 - width);
        let lane = Lane::of(&attempt.work);
        let near = bars.iter_mut().rev().find(|bar| bar.lane == lane);
        match near.filter(|bar| x - (bar.x + bar.width) < APART_MIN) {
            Some(bar) => {
                bar.width = (x + width - bar.x).max(bar.width);
                bar.end = attempt.end;
                bar.attempts.push((*attempt).clone());
            }
            None => bars.push(Bar { x, width, lane, end: attempt.end, attempts: vec![(*attempt).clone()] }),
        }
    }
    bars
}

fn gaps(axis: &Axis, attempts: &[&AttemptRecord]) -> Vec<Gap> {
    let waits = attempts.iter().filter_map(|attempt| Some((attempt, attempt.ended?, attempt.retry_at?)));
    let gaps = waits.map(|(attempt, ended, retry_at)| {
        let next = attempts.iter().find(|next| {
            next.work == attempt.work && next.number > attempt.number && next.began >= attempt.began
        });
        // A retry that was never made is no longer pending once the run has continued without it.
        let until = next.map_or(retry_at.0.min(axis.start + axis.length_ms), |next| next.began.0);
        let x = axis.x(ended.0);
        Gap { x, width: axis.x(until) - x, lane: Lane::of(&attempt.work) }
    });
    gaps.filter(|gap| gap.width > BAR_WIDTH_MIN).collect()
}

fn marks(axis: &Axis, timeline: &[MomentView]) -> Vec<RunMarker> {
    let of_run = ["cancel_asked", "undoing", "parked", "decided"];
    let marks = timeline.iter().filter(|moment| of_run.contains(&moment.what.as_str()));
    marks
        .map(|moment| RunMarker { x: axis.x(moment.at.0.0), what: moment.what.clone(), at: moment.at.0 })
        .collect()
}

#[cfg(test)]
mod tests;
