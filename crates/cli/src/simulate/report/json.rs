//! What a simulation found, for machines: one line of JSON for each thing that would happen.

use api_types::Time;
use kernel::Then;
use serde_json::{Map, Value, json};
use types::{Outcome, Timestamp, Work};

use crate::simulate::call;
use crate::simulate::log::{LogEntry, LogEvent, SimulatedAttempt, SkipReason, numbers};

/// Every entry as a line.
pub fn lines(entries: &[LogEntry], begin: Timestamp) -> String {
    let numbers = numbers(entries);
    let number = |entry: &LogEntry| entry.run.and_then(|run| numbers.get(&run)).copied();
    entries.iter().map(|entry| format!("{}\n", line(entry, begin, number(entry)))).collect()
}

fn line(entry: &LogEntry, begin: Timestamp, occurrence: Option<u64>) -> Value {
    let mut line = Map::new();
    line.insert("at".to_owned(), time(entry.at));
    line.insert("after_ms".to_owned(), json!(entry.at.since(begin).as_ms()));
    if let Some(occurrence) = occurrence {
        line.insert("occurrence".to_owned(), json!(occurrence));
    }
    let more = match &entry.what {
        LogEvent::Accepted => json!({ "what": "accepted" }),
        LogEvent::Fired(firing) => json!({
            "what": "fired", "expected": time(firing.expected), "late_ms": firing.late.as_ms(),
            "clocks": firing.clocks,
        }),
        LogEvent::LeftOut { expected, why } => {
            let why = if *why == SkipReason::Missed { "missed" } else { "overlap" };
            json!({ "what": "left_out", "expected": time(*expected), "why": why })
        }
        LogEvent::Attempt(attempt) => attempt_of(entry.at, attempt),
        LogEvent::Overdue { step } => json!({ "what": "overdue", "step": step }),
        LogEvent::Undoing { reason } => json!({ "what": "undoing", "reason": reason }),
        LogEvent::Parked { reason } => json!({ "what": "parked", "reason": reason }),
        LogEvent::Completed => json!({ "what": "completed" }),
        LogEvent::Undone => json!({ "what": "undone" }),
        LogEvent::OccurrenceEnded { failed } => json!({ "what": "occurrence_ended", "failed": failed }),
        LogEvent::Down { until } => json!({ "what": "down", "until": until.map(time) }),
    };
    let Value::Object(more) = more else { unreachable!("each of them is an object") };
    line.extend(more);
    Value::Object(line)
}

fn attempt_of(at: Timestamp, attempt: &SimulatedAttempt) -> Value {
    let call = attempt.call.as_ref();
    let mut line = json!({
        "what": "attempt",
        "step": call.map(|call| &call.step).filter(|_| !matches!(attempt.work, Work::Notice(_))),
        "work": call::kind(attempt.work),
        "attempt": attempt.attempt,
        "service": call.and_then(|call| call.service.as_ref()),
        "method": call.map(|call| &call.method),
        "url": call.map(|call| &call.url),
        "answer": attempt.answer,
    });
    let Some(end) = &attempt.end else { return line };
    let (status, detail) = match &end.outcome {
        Outcome::Done { status, .. } => (Some(*status), None),
        Outcome::Refused { status, reason } | Outcome::Transient { status, reason, .. } => {
            (*status, Some(reason))
        }
        Outcome::Unknown { reason } => (None, Some(reason)),
    };
    let (then, retry_at) = match end.then {
        Then::Done => ("done", None),
        Then::Retry { at } => ("retry", Some(at)),
        Then::Alternative => ("alternative", None),
        Then::Failed => ("failed", None),
    };
    line["took_ms"] = json!(end.at.since(at).as_ms());
    line["outcome"] = json!(end.outcome.name());
    line["status"] = json!(status);
    line["detail"] = json!(detail);
    line["then"] = json!(then);
    line["retry_at"] = json!(retry_at.map(time));
    line
}

fn time(at: Timestamp) -> Value {
    json!(Time(at).to_string())
}
