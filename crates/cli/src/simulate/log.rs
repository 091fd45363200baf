//! The log of a simulation, which its report reads.

use std::collections::BTreeMap;

use kernel::{RunNo, Then};
use types::{Outcome, Span, Timestamp, Work};

use super::call::SimulatedCall;

/// One event.
#[derive(Debug)]
pub struct LogEntry {
    pub at: Timestamp,
    /// The run that it happens to, if any.
    pub run: Option<RunNo>,
    pub what: LogEvent,
}

#[derive(Debug)]
pub enum LogEvent {
    Accepted,
    /// An occurrence of a job begins.
    Fired(SimulatedFiring),
    /// An occurrence never becomes a run.
    LeftOut {
        expected: Timestamp,
        why: SkipReason,
    },
    Attempt(Box<SimulatedAttempt>),
    /// A step was not done by its time.
    Overdue {
        step: String,
    },
    Undoing {
        reason: String,
    },
    Parked {
        reason: String,
    },
    Completed,
    Undone,
    /// An occurrence has ended.
    OccurrenceEnded {
        failed: bool,
    },
    /// Sortie is down; calls in flight are repeated when it is up again.
    Down {
        until: Option<Timestamp>,
    },
}

/// The numbers of the occurrences that the runs of a job are.
pub fn numbers(entries: &[LogEntry]) -> BTreeMap<RunNo, u64> {
    let number = |entry: &LogEntry| match &entry.what {
        LogEvent::Fired(firing) => Some((entry.run?, firing.number)),
        _ => None,
    };
    entries.iter().filter_map(number).collect()
}

#[derive(Debug, Clone)]
pub struct SimulatedFiring {
    pub number: u64,
    /// When the rule has it.
    pub expected: Timestamp,
    /// How long after it was due.
    pub late: Span,
    /// What a change of the clocks did to it.
    pub clocks: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// The previous occurrence was still running.
    Overlap,
    /// Its time passed while Sortie was down.
    Missed,
}

/// One try of a call.
#[derive(Debug)]
pub struct SimulatedAttempt {
    pub work: Work,
    pub attempt: u32,
    /// None when the call could not be made of its definition.
    pub call: Option<SimulatedCall>,
    /// What the service answered, in short; empty when nothing left.
    pub answer: String,
    pub end: Option<AttemptEnd>,
}

/// The outcome of an attempt.
#[derive(Debug)]
pub struct AttemptEnd {
    pub at: Timestamp,
    pub outcome: Outcome,
    pub then: Then,
}
