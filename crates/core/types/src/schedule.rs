//! When a job fires: the rule as data. What follows from it is computed by the kernel.

use serde::{Deserialize, Serialize};

use crate::{Cron, Span, Ticks};

/// When a job fires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// The first moment that counts; the job's creation when absent.
    pub start: Option<Ticks>,
    /// Absent: the job runs once.
    pub recurrence: Option<Recurrence>,
    /// The IANA zone whose clocks the rule is read by; UTC when absent.
    pub zone: Option<String>,
    /// What becomes of a local time that the clocks leave out.
    pub gap: Gap,
    /// What becomes of a local time that the clocks show twice.
    pub repeat: Repeat,
    /// Each occurrence is put off by a share of this, drawn from the job and the occurrence.
    pub jitter: Span,
}

/// A rule that yields many occurrences.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recurrence {
    pub rule: Rule,
    /// Occurrences in all.
    pub count: Option<u32>,
    /// No occurrence after this.
    pub end: Option<Ticks>,
}

/// How occurrences follow one another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    Every { frequency: Frequency, interval: u32, schedule: Option<Schedule> },
    Cron(Cron),
}

/// The unit of a recurrence, shortest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Frequency {
    Minute,
    Hour,
    Day,
    Week,
    Month,
}

/// Which moments of a period count. An empty list says nothing; hours and minutes are combined with each other.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Schedule {
    /// 0 to 59.
    pub minutes: Vec<u8>,
    /// 0 to 23.
    pub hours: Vec<u8>,
    pub week_days: Vec<WeekDay>,
    /// 1 to 31, or -31 to -1 counted from the end of the month.
    pub month_days: Vec<i8>,
    pub monthly: Vec<Monthly>,
}

/// The n-th weekday of a month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Monthly {
    pub day: WeekDay,
    /// 1 to 5, or -5 to -1 counted from the end of the month; every such weekday when absent.
    pub occurrence: Option<i8>,
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WeekDay {
    Sunday,
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
}

/// What becomes of a local time that the clocks leave out when they go forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Gap {
    /// It runs when the gap ends.
    #[default]
    End,
    Skip,
}

/// What becomes of a local time that the clocks show twice when they go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Repeat {
    #[default]
    First,
    Both,
}

impl Frequency {
    pub const ALL: [Frequency; 5] =
        [Frequency::Minute, Frequency::Hour, Frequency::Day, Frequency::Week, Frequency::Month];
}

impl WeekDay {
    pub const ALL: [WeekDay; 7] = [
        WeekDay::Sunday,
        WeekDay::Monday,
        WeekDay::Tuesday,
        WeekDay::Wednesday,
        WeekDay::Thursday,
        WeekDay::Friday,
        WeekDay::Saturday,
    ];
}
