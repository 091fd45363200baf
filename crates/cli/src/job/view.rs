//! Jobs as the API returns them.

use api_types::Time;
use schedule::timing::{ClockChangeRule, Recurrence};
use schedule::{Action, Date, Duration, Moment};
use serde::Deserialize;

use crate::when;

#[derive(Debug, Deserialize)]
pub struct JobItem {
    pub name: String,
    pub collection: String,
    pub properties: JobProperties,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobProperties {
    pub start_time: Option<Date>,
    pub action: Action,
    pub recurrence: Option<Recurrence>,
    pub at: Option<Moment>,
    pub time_zone: Option<String>,
    pub clock_change: Option<ClockChangeRule>,
    pub missed: Option<String>,
    pub overlap: Option<String>,
    pub jitter: Option<Duration>,
    pub state: String,
    #[serde(default)]
    pub status: JobStatus,
}

/// The execution status; empty for a disabled job that never ran.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobStatus {
    pub last_execution_time: Option<Date>,
    pub next_execution_time: Option<Date>,
    pub execution_count: u64,
    pub failure_count: u64,
    pub faulted_count: u64,
    pub occurrences: u64,
    pub skipped: u64,
    pub missed: u64,
}

impl JobItem {
    /// The name as commands take it.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.collection, self.name)
    }
}

/// Converts a date of the scheduler.
pub fn time(date: Date) -> Time {
    Time(date.0.floor())
}

/// `2026-03-01 12:00:00`, in UTC.
pub fn second(date: Date) -> String {
    when::second(time(date))
}

/// The same moment in a time zone.
pub fn local(date: Date, zone: &str) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(date.0.floor().0).ok()?;
    let at = at.in_tz(zone).ok()?;
    Some(at.strftime("%Y-%m-%d %H:%M:%S %Z").to_string())
}
