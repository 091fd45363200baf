//! The records of what a job has done, and their ids.

use serde::Serialize;
use types::Ticks;

use crate::date::Date;
use crate::spelling::{ActionName, HistoryStatus};
use crate::view::Dialect;

/// One attempt of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRecord {
    pub start: Ticks,
    pub end: Option<Ticks>,
    /// The nominal time of the occurrence.
    pub expected: Ticks,
    pub status: HistoryStatus,
    pub message: String,
    /// 0 for the first attempt of an occurrence.
    pub retry_count: u32,
    /// The number of the occurrence, from 1.
    pub repeat_count: u64,
    pub action: ActionName,
}

/// The `properties` of a record as a client reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryView {
    start_time: Date,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_time: Option<Date>,
    expected_execution_time: Date,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<HistoryStatus>,
    message: String,
    retry_count: u32,
    repeat_count: u64,
    action_name: ActionName,
}

/// The last tick of .NET's calendar, and the first of 1970 in it.
const NET_TICKS_MAX: i64 = 3_155_378_975_999_999_999;
const NET_TICKS_1970: i64 = 621_355_968_000_000_000;

impl HistoryRecord {
    /// What a client reads of it. Azure leaves out the status of what was completed.
    pub fn render(&self, dialect: Dialect) -> HistoryView {
        let told = dialect.native || self.status != HistoryStatus::Completed;
        HistoryView {
            start_time: Date(self.start),
            end_time: self.end.map(Date),
            expected_execution_time: Date(self.expected),
            status: told.then_some(self.status),
            message: self.message.clone(),
            retry_count: self.retry_count,
            repeat_count: self.repeat_count,
            action_name: self.action,
        }
    }
}

/// The id of a record: in the order of text, newer records come first.
pub fn history_id(start: Ticks, counter: u64) -> String {
    let inverted =
        NET_TICKS_MAX - NET_TICKS_1970 - start.0.clamp(-NET_TICKS_1970, NET_TICKS_MAX - NET_TICKS_1970);
    format!("{inverted:020}:{counter:020}")
}

/// The start and the counter that an id was made of.
pub fn parse_history_id(id: &str) -> Option<(Ticks, u64)> {
    let (inverted, counter) = id.split_once(':')?;
    let digits = |text: &str| text.len() == 20 && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(inverted) || !digits(counter) {
        return None;
    }
    let inverted: i64 = inverted.parse().ok().filter(|ticks| *ticks <= NET_TICKS_MAX)?;
    Some((Ticks(NET_TICKS_MAX - NET_TICKS_1970 - inverted), counter.parse().ok()?))
}
