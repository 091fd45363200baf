//! When a job runs, in its canonical form, and the same as the kernel knows it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use types::{Cron, Span, Ticks};

use crate::cron::parse_cron;
use crate::date::{Date, Moment};
use crate::duration::Duration;
use crate::spelling::{Frequency, Gap, Repeat, WeekDay};
use crate::zone;

/// A rule that yields many occurrences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recurrence {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Date>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<RecurrenceSchedule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<CronText>,
}

/// Which moments of a period count.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RecurrenceSchedule {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub minutes: Vec<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hours: Vec<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub week_days: Vec<WeekDay>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub month_days: Vec<i8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub monthly_occurrences: Vec<Monthly>,
}

/// The n-th weekday of a month; every one when no number is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Monthly {
    pub day: WeekDay,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occurrence: Option<i8>,
}

/// What becomes of local times that the clocks leave out or show twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockChangeRule {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
}

/// A cron expression as it was written, and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronText {
    text: String,
    cron: Cron,
}

impl CronText {
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// The canonical members that say when a job runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Clock {
    pub(crate) start_time: Option<Date>,
    pub(crate) recurrence: Option<Recurrence>,
    /// What `at` came to when it was written: zones may change their rules later.
    pub(crate) at_instant: Option<Date>,
    pub(crate) time_zone: Option<String>,
    pub(crate) clock_change: Option<ClockChangeRule>,
    pub(crate) jitter: Option<Duration>,
}

impl Clock {
    pub(crate) fn timing(&self) -> types::Timing {
        types::Timing {
            start: self.at_instant.or(self.start_time).map(|date| date.0),
            recurrence: self.recurrence.as_ref().map(Recurrence::rule),
            zone: self.time_zone.clone(),
            gap: self
                .clock_change
                .and_then(|change| change.gap)
                .map_or_else(Default::default, types::Gap::from),
            repeat: self
                .clock_change
                .and_then(|change| change.repeat)
                .map_or_else(Default::default, types::Repeat::from),
            jitter: self.jitter.as_ref().map_or(Span::ZERO, Duration::span),
        }
    }
}

/// The instant of the member `at`, when it is there and its zone knows the moment.
pub(crate) fn at_instant(properties: &Map<String, Value>) -> Option<Result<Ticks, String>> {
    let moment: Moment = properties.get("at")?.as_str()?.parse().ok()?;
    let zone = properties.get("timeZone").and_then(Value::as_str);
    let gap = properties.get("clockChange").and_then(|change| change.get("gap")).and_then(Value::as_str);
    let gap = gap.and_then(Gap::read).map_or_else(Default::default, types::Gap::from);
    Some(zone::instant(moment, zone, gap))
}

impl Recurrence {
    fn rule(&self) -> types::Recurrence {
        let rule = match (&self.cron, self.frequency) {
            (Some(cron), _) => types::Rule::Cron(cron.cron),
            (None, frequency) => types::Rule::Every {
                frequency: frequency.expect("a recurrence without cron has a frequency").into(),
                interval: self.interval.unwrap_or(1),
                schedule: self.schedule.as_ref().map(RecurrenceSchedule::rule),
            },
        };
        types::Recurrence { rule, count: self.count, end: self.end_time.map(|date| date.0) }
    }
}

impl RecurrenceSchedule {
    /// The lists in order and without repetitions: clients read theirs back, the kernel needs sets.
    fn rule(&self) -> types::Schedule {
        let mut week_days: Vec<types::WeekDay> = self.week_days.iter().map(|day| (*day).into()).collect();
        week_days.sort_unstable();
        week_days.dedup();
        let mut monthly: Vec<types::Monthly> = Vec::new();
        for item in &self.monthly_occurrences {
            let item = types::Monthly { day: item.day.into(), occurrence: item.occurrence };
            if !monthly.contains(&item) {
                monthly.push(item);
            }
        }
        types::Schedule {
            minutes: sorted(&self.minutes),
            hours: sorted(&self.hours),
            week_days,
            month_days: sorted(&self.month_days),
            monthly,
        }
    }
}

fn sorted<N: Copy + Ord>(list: &[N]) -> Vec<N> {
    let mut list = list.to_vec();
    list.sort_unstable();
    list.dedup();
    list
}

impl Serialize for CronText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for CronText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CronText, D::Error> {
        let text = String::deserialize(deserializer)?;
        let cron = parse_cron(&text).map_err(serde::de::Error::custom)?;
        Ok(CronText { text, cron })
    }
}
