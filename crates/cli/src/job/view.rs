//! Jobs as the API gives them.

use jobs::timing::{ClockChange, Recurrence};
use jobs::{Action, Date, Duration, Moment};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wire::Time;

use crate::when;

#[derive(Debug, Deserialize)]
pub struct JobItem {
    pub name: String,
    pub collection: String,
    pub properties: Properties,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Properties {
    pub start_time: Option<Date>,
    pub action: Action,
    pub recurrence: Option<Recurrence>,
    pub at: Option<Moment>,
    pub time_zone: Option<String>,
    pub clock_change: Option<ClockChange>,
    pub missed: Option<String>,
    pub overlap: Option<String>,
    pub jitter: Option<Duration>,
    pub state: String,
    #[serde(default)]
    pub status: Status,
}

/// What a job came to; a job that is disabled and never ran has nothing to tell.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    pub last_execution_time: Option<Date>,
    pub next_execution_time: Option<Date>,
    pub execution_count: u64,
    pub failure_count: u64,
    pub faulted_count: u64,
    pub occurrences: u64,
    pub skipped: u64,
    pub missed: u64,
}

/// A page whose items are kept as the API gave them.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct RawPage {
    pub items: Vec<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl RawPage {
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<Vec<T>> {
        self.items.iter().map(|item| serde_json::from_str(item.get())).collect()
    }
}

impl JobItem {
    /// The name that commands take.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.collection, self.name)
    }
}

/// A date of the scheduler as a time of everything else.
pub fn time(date: Date) -> Time {
    Time(date.0.floor())
}

/// `2026-03-01 12:00:00`, in UTC.
pub fn second(date: Date) -> String {
    when::second(time(date))
}

/// The same moment as the clocks of a zone show it.
pub fn local(date: Date, zone: &str) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(date.0.floor().0).ok()?;
    let at = at.in_tz(zone).ok()?;
    Some(at.strftime("%Y-%m-%d %H:%M:%S %Z").to_string())
}
