//! The calendar as numbers: days and months since 1970, and back.
//!
//! A local time is a count of ticks, as if its clock showed UTC; so it is compared and added like an instant.

use std::fmt;

use types::Ticks;

pub(super) const TICKS: i64 = Ticks::PER_SECOND;
pub(super) const HOUR_SECONDS: i64 = 3600;
pub(super) const DAY_SECONDS: i64 = 24 * HOUR_SECONDS;
pub(super) const DAY_TICKS: i64 = DAY_SECONDS * TICKS;

/// What a clock on the wall shows, without a zone: `2026-03-29T02:30:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Local {
    /// Steps of 100 ns since 1970-01-01T00:00:00 on that clock.
    pub ticks: i64,
}

/// A day by its number since 1970-01-01, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Date {
    /// Months since January 1970.
    pub month: i64,
    /// 1 to 31.
    pub day: u32,
}

/// Days since 1970-01-01 of the first day of a month, which is given in months since January 1970.
pub(super) fn first_day(month: i64) -> i64 {
    // Years begin in March here: the leap day is then the last of its year, and months follow one formula.
    let since_march = month - 2 + 1970 * 12;
    let year = since_march.div_euclid(12);
    let month_of_year = since_march.rem_euclid(12);
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + (153 * month_of_year + 2) / 5 - 719_468
}

/// How many days a month has that begins on the day `first`.
pub(super) fn days_in(month: i64, first: i64) -> u32 {
    u32::try_from(first_day(month + 1) - first).expect("a month has 28 to 31 days")
}

pub(super) fn date(day: i64) -> Date {
    // The quotient is off by at most one month, as no month is longer than 31 days and none is shorter than 28.
    let mut month = (day * 4800).div_euclid(146_097);
    if first_day(month) > day {
        month -= 1;
    } else if first_day(month + 1) <= day {
        month += 1;
    }
    let of_month = u32::try_from(day - first_day(month)).expect("the month begins before the day");
    Date { month, day: of_month + 1 }
}

/// 0 is Sunday.
pub(super) fn week_day(day: i64) -> u32 {
    u32::try_from((day + 4).rem_euclid(7)).expect("a remainder of 7")
}

/// Weeks since that of 1970-01-01. They begin on Monday.
pub(super) fn week(day: i64) -> i64 {
    (day + 3).div_euclid(7)
}

impl fmt::Display for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.ticks.div_euclid(TICKS);
        let Date { month, day } = date(seconds.div_euclid(DAY_SECONDS));
        let (year, month) = (1970 + month.div_euclid(12), month.rem_euclid(12) + 1);
        let of_day = seconds.rem_euclid(DAY_SECONDS);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        match self.ticks.rem_euclid(TICKS) {
            0 => Ok(()),
            fraction => write!(f, ".{}", format!("{fraction:07}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_eight_centuries_agrees_with_a_calendar_counted_by_hand() {
        let (mut year, mut month, mut day) = (1600, 1, 1);
        for number in -135_140..156_000 {
            let expected = Date { month: (year - 1970) * 12 + month - 1, day };
            assert_eq!(date(number), expected);
            assert_eq!(first_day(expected.month) + i64::from(day) - 1, number);
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 if leap => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            assert_eq!(days_in(expected.month, first_day(expected.month)), length);
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn weeks_begin_on_monday() {
        assert_eq!((week_day(0), week_day(-1), week_day(3)), (4, 3, 0));
        assert_eq!((week(-3), week(3), week(4), week(-4)), (0, 0, 1, -1));
    }

    #[test]
    fn a_local_time_is_written_without_a_zone() {
        let at = Local { ticks: 1_774_751_400 * TICKS + 4_506_660 };
        assert_eq!(at.to_string(), "2026-03-29T02:30:00.450666");
    }
}
