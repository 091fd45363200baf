//! Writing a cron expression in its shortest plain form.

use std::fmt;

use super::{Cron, FIELDS, Field, MONTH_DAY, WEEK_DAY};

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.seconds != 1 {
            write!(f, "{} ", list(self.seconds, &FIELDS[0]))?;
        }
        write!(f, "{} {} ", list(self.minutes, &FIELDS[1]), list(self.hours.into(), &FIELDS[2]))?;
        let days = self.day(self.month_days.into(), self.last_day, &FIELDS[MONTH_DAY]);
        let months = list(self.months.into(), &FIELDS[4]);
        write!(f, "{days} {months} {}", self.day(self.week_days.into(), false, &FIELDS[WEEK_DAY]))
    }
}

impl Cron {
    /// A day field. Where either field may name a day, none is written with a star: that would leave it open.
    fn day(&self, values: u64, last_day: bool, field: &Field) -> String {
        match (last_day, self.either_day) {
            (false, false) => list(values, field),
            (false, true) => ranges(values, field),
            (true, _) if values == 0 => "L".to_owned(),
            (true, _) => format!("{},L", ranges(values, field)),
        }
    }
}

fn list(values: u64, field: &Field) -> String {
    if values == field.all() {
        return "*".to_owned();
    }
    let step = (2..=field.high - field.low).find(|step| values == field.every(*step));
    step.map_or_else(|| ranges(values, field), |step| format!("*/{step}"))
}

/// Values and ranges between commas: `1-5,8`.
fn ranges(values: u64, field: &Field) -> String {
    let has = |value: u8| values >> value & 1 == 1;
    let mut items = Vec::new();
    let mut value = field.low;
    while value <= field.high {
        if has(value) {
            let first = value;
            while value < field.high && has(value + 1) {
                value += 1;
            }
            items.push(match value - first {
                0 => format!("{first}"),
                1 => format!("{first},{value}"),
                _ => format!("{first}-{value}"),
            });
        }
        value += 1;
    }
    items.join(",")
}
