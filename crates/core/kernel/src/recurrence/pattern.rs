//! The slots of a calendar rule: the local times that it names, whatever the clocks do later.

use types::{Cron, Frequency, Schedule};

use super::calendar::{DAY_SECONDS, DAY_TICKS, HOUR_SECONDS, TICKS, date, first_day};
use super::days::{Days, bits};

/// A rule for local times: days, and hours × minutes × seconds of each.
#[derive(Debug)]
pub(super) struct Pattern<'a> {
    pub days: Days<'a>,
    hours: u32,
    minutes: u64,
    seconds: u64,
    /// Ticks beyond the whole second.
    fraction: i64,
    within: Within,
}

/// Every n-th hour or minute, counted on the local clock from that of the anchor.
#[derive(Debug, Clone, Copy)]
pub(super) enum Within {
    All,
    Hours { every: i64, from: i64 },
    Minutes { every: i64, from: i64 },
}

const ALL_HOURS: u32 = 0xff_ffff;
const ALL_SIXTY: u64 = (1 << 60) - 1;

/// After 400 years the calendar repeats itself, weekdays included.
pub(super) const MONTHS_MAX: i64 = 400 * 12;
/// Rules that count hours or minutes are sought day by day, so for a shorter time. What repeats at all does so
/// within 1000 hours × 24.
const MONTHS_MAX_WITHIN: i64 = 20 * 12;

impl<'a> Pattern<'a> {
    /// The slots of a recurrence whose first period holds the local time `anchor`.
    pub fn of(frequency: Frequency, interval: u32, schedule: &'a Schedule, anchor: i64) -> Pattern<'a> {
        let every = i64::from(interval.max(1));
        let seconds = anchor.div_euclid(TICKS);
        let (day, of_day) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
        let named_hours =
            schedule.hours.iter().filter(|hour| **hour < 24).fold(0, |set, hour| set | 1 << hour);
        let named_minutes =
            schedule.minutes.iter().filter(|minute| **minute < 60).fold(0, |set, minute| set | 1 << minute);
        let (named_h, named_m) = (!schedule.hours.is_empty(), !schedule.minutes.is_empty());
        let hours = match frequency {
            _ if named_h => named_hours,
            Frequency::Minute | Frequency::Hour => ALL_HOURS,
            Frequency::Day | Frequency::Week | Frequency::Month if named_m => ALL_HOURS,
            Frequency::Day | Frequency::Week | Frequency::Month => 1 << (of_day / HOUR_SECONDS),
        };
        let minutes = match frequency {
            _ if named_m => named_minutes,
            Frequency::Minute => ALL_SIXTY,
            Frequency::Hour | Frequency::Day | Frequency::Week | Frequency::Month => 1 << (of_day / 60 % 60),
        };
        let within = match frequency {
            Frequency::Minute if every > 1 => Within::Minutes { every, from: seconds.div_euclid(60) },
            Frequency::Hour if every > 1 => Within::Hours { every, from: seconds.div_euclid(HOUR_SECONDS) },
            _ => Within::All,
        };
        // A minute that is named begins at its second 0; one that comes from the anchor brings its seconds along.
        let (seconds, fraction) =
            if named_m { (1, 0) } else { (1 << (of_day % 60), anchor.rem_euclid(TICKS)) };
        Pattern { days: Days::of(frequency, every, schedule, day), hours, minutes, seconds, fraction, within }
    }

    pub fn of_cron(cron: &Cron) -> Pattern<'static> {
        Pattern {
            days: Days::of_cron(cron),
            hours: cron.hours & ALL_HOURS,
            minutes: cron.minutes & ALL_SIXTY,
            seconds: cron.seconds & ALL_SIXTY,
            fraction: 0,
            within: Within::All,
        }
    }

    /// The first slot at or after a local time; `None` when a long search finds none.
    pub fn at_or_after(&self, local: i64) -> Option<i64> {
        if self.hours == 0 || self.minutes == 0 || self.seconds == 0 {
            return None;
        }
        let whole = local.saturating_sub(self.fraction);
        let seconds = whole.div_euclid(TICKS) + i64::from(whole.rem_euclid(TICKS) > 0);
        let (day, of_day) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
        let begin = date(day);
        // Days before the one asked for are taken off the first month.
        let mut left = u32::MAX << begin.day;
        let mut month = begin.month;
        let last = month + self.months_max();
        while month <= last {
            for of_month in bits(self.days.of_month(month) & left) {
                let found = first_day(month) + i64::from(of_month) - 1;
                let from = if found == day { of_day } else { 0 };
                if let Some(second) = self.time_of_day(found, from) {
                    return found.checked_mul(DAY_TICKS)?.checked_add(second * TICKS + self.fraction);
                }
            }
            month = self.days.reachable(month + 1);
            left = u32::MAX;
        }
        None
    }

    /// The first second of a day, `from` or later, that is a slot.
    pub fn time_of_day(&self, day: i64, from: i64) -> Option<i64> {
        let mut from = from;
        let mut hour = from / HOUR_SECONDS;
        while hour < 24 {
            let left = self.hours >> hour;
            if left == 0 {
                return None;
            }
            let skipped = i64::from(left.trailing_zeros());
            if skipped > 0 {
                hour += skipped;
                from = hour * HOUR_SECONDS;
            }
            let minutes = self.minutes_of(day * 24 + hour);
            if let Some(second) = time_of_hour(minutes, self.seconds, from % HOUR_SECONDS) {
                return Some(hour * HOUR_SECONDS + second);
            }
            hour += 1;
            from = hour * HOUR_SECONDS;
        }
        None
    }

    /// The minutes of an hour (counted from 1970) that the steps within a day leave.
    fn minutes_of(&self, hour: i64) -> u64 {
        match self.within {
            Within::All => self.minutes,
            Within::Hours { every, from } if (hour - from).rem_euclid(every) == 0 => self.minutes,
            Within::Hours { .. } => 0,
            Within::Minutes { every, from } => {
                let mut stepped = 0;
                let mut minute = (from - hour * 60).rem_euclid(every);
                while minute < 60 {
                    stepped |= 1 << minute;
                    minute += every;
                }
                self.minutes & stepped
            }
        }
    }

    /// Whether every day that counts has the same times.
    pub fn same_times_every_day(&self) -> bool {
        matches!(self.within, Within::All)
    }

    fn months_max(&self) -> i64 {
        if self.same_times_every_day() { MONTHS_MAX } else { MONTHS_MAX_WITHIN }
    }
}

/// The first second of an hour, `from` or later, that is in both sets.
fn time_of_hour(minutes: u64, seconds: u64, from: i64) -> Option<i64> {
    let (minute, second) = (from / 60, from % 60);
    if minutes >> minute & 1 == 1 && seconds >> second != 0 {
        return Some(from + i64::from((seconds >> second).trailing_zeros()));
    }
    let later = minutes >> minute >> 1;
    (later != 0)
        .then(|| (minute + 1 + i64::from(later.trailing_zeros())) * 60 + i64::from(seconds.trailing_zeros()))
}
