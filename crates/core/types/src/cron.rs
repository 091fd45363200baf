//! Cron expressions of five or six fields, as sets of the moments that they name.

mod parse;
mod print;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use parse::InvalidCron;

/// A cron expression. Each field is a set of bits: bit n stands for the value n.
///
/// It is parsed from and printed as text; what is printed reads back as the same expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cron {
    /// Only second 0 when the expression has five fields.
    pub seconds: u64,
    pub minutes: u64,
    pub hours: u32,
    /// Bits 1 to 31.
    pub month_days: u32,
    /// The expression names the last day of the month (`L`).
    pub last_day: bool,
    /// Bits 1 to 12.
    pub months: u16,
    /// Bits 0 (Sunday) to 6.
    pub week_days: u8,
    /// Both day fields are named: a day counts when either names it, as cron has it.
    pub either_day: bool,
}

/// One field of an expression: what it is called, which values it takes, and by which names.
struct Field {
    name: &'static str,
    low: u8,
    high: u8,
    names: &'static [&'static str],
}

const FIELDS: [Field; 6] = [
    Field { name: "second", low: 0, high: 59, names: &[] },
    Field { name: "minute", low: 0, high: 59, names: &[] },
    Field { name: "hour", low: 0, high: 23, names: &[] },
    Field { name: "day of month", low: 1, high: 31, names: &[] },
    Field { name: "month", low: 1, high: 12, names: &MONTHS },
    Field { name: "day of week", low: 0, high: 6, names: &WEEK_DAYS },
];

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEK_DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const MONTH_DAY: usize = 3;
const WEEK_DAY: usize = 5;

impl Field {
    /// All values of the field.
    fn all(&self) -> u64 {
        (self.low..=self.high).fold(0, |set, value| set | 1 << value)
    }

    /// Every n-th value, from the lowest on: what `*/n` names.
    fn every(&self, step: u8) -> u64 {
        (self.low..=self.high).step_by(step.max(1).into()).fold(0, |set, value| set | 1 << value)
    }
}
