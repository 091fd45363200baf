//! What clients read of a job: its document without secrets, and where it stands.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;
use types::{JobState, Ticks};

use crate::action::Action;
use crate::date::{Date, Moment};
use crate::duration::Duration;
use crate::job::JobDocument;
use crate::spelling::{Missed, Overlap};
use crate::timing::{ClockChangeRule, Recurrence};

/// How an answer is spelled. The default is what Azure Scheduler was recorded to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dialect {
    /// Also write the names that the published SDKs read: `Occurrence` and `certificateExpirationDate`.
    pub sdk_spellings: bool,
    /// Also write what Azure Scheduler does not know: further counters, and the status of completed records.
    pub native: bool,
}

/// Where a job stands.
#[derive(Debug, Clone, PartialEq)]
pub struct JobStatus {
    pub state: JobState,
    pub last_execution: Option<Ticks>,
    pub next_execution: Option<Ticks>,
    /// Attempts, retries included.
    pub executions: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// Occurrences whose attempts all failed.
    pub faults: u64,
    /// Further members of the native status.
    pub extra: BTreeMap<String, Value>,
}

/// The `properties` of a job as a client reads them.
#[derive(Debug, Clone, PartialEq)]
pub struct JobView {
    members: JobMembers,
    dialect: Dialect,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct JobMembers {
    #[serde(skip_serializing_if = "Option::is_none")]
    start_time: Option<Date>,
    action: Action,
    #[serde(skip_serializing_if = "Option::is_none")]
    recurrence: Option<Recurrence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_change: Option<ClockChangeRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<Missed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<Overlap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<Duration>,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<StatusMembers>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusMembers {
    #[serde(skip_serializing_if = "Option::is_none")]
    last_execution_time: Option<Date>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_execution_time: Option<Date>,
    execution_count: u64,
    failure_count: u64,
    faulted_count: u64,
    #[serde(flatten)]
    extra: BTreeMap<String, Value>,
}

impl JobDocument {
    /// What a client reads of this job.
    pub fn render(&self, status: &JobStatus, dialect: Dialect) -> JobView {
        let document = self.public();
        let members = JobMembers {
            start_time: document.start_time,
            action: document.action,
            recurrence: document.recurrence,
            at: document.at,
            time_zone: document.time_zone,
            clock_change: document.clock_change,
            missed: document.missed,
            overlap: document.overlap,
            jitter: document.jitter,
            state: status.state.to_string(),
            status: status.members(dialect),
        };
        JobView { members, dialect }
    }
}

impl JobStatus {
    /// A job that has not run yet.
    pub fn new(state: JobState, next_execution: Option<Ticks>) -> JobStatus {
        JobStatus {
            state,
            last_execution: None,
            next_execution,
            executions: 0,
            failures: 0,
            faults: 0,
            extra: BTreeMap::new(),
        }
    }

    /// A job that is disabled and never ran has no status.
    fn members(&self, dialect: Dialect) -> Option<StatusMembers> {
        let never_ran = self.executions == 0 && self.last_execution.is_none();
        if self.state == JobState::Disabled && never_ran {
            return None;
        }
        Some(StatusMembers {
            last_execution_time: self.last_execution.map(Date),
            next_execution_time: self.next_execution.map(Date),
            execution_count: self.executions,
            failure_count: self.failures,
            faulted_count: self.faults,
            extra: if dialect.native { self.extra.clone() } else { BTreeMap::new() },
        })
    }
}

impl Serialize for JobView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.dialect.sdk_spellings {
            return self.members.serialize(serializer);
        }
        let mut value = serde_json::to_value(&self.members).map_err(serde::ser::Error::custom)?;
        spell_for_sdks(&mut value);
        value.serialize(serializer)
    }
}

/// Adds the names that the published SDKs map to the same members.
fn spell_for_sdks(properties: &mut Value) {
    let monthly = properties.pointer_mut("/recurrence/schedule/monthlyOccurrences");
    for item in monthly.and_then(Value::as_array_mut).into_iter().flatten() {
        copy_member(item, "occurrence", "Occurrence");
    }
    for path in ["/action/request/authentication", "/action/errorAction/request/authentication"] {
        if let Some(authentication) = properties.pointer_mut(path) {
            copy_member(authentication, "certificateExpiration", "certificateExpirationDate");
        }
    }
}

fn copy_member(value: &mut Value, name: &str, other: &str) {
    if let Some(members) = value.as_object_mut()
        && let Some(member) = members.get(name).cloned()
    {
        members.insert(other.to_owned(), member);
    }
}
