//! Dates as Azure Scheduler writes them: UTC, with up to seven digits after the second.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use types::Ticks;

/// A point in time that reads leniently and writes as `2016-03-30T20:37:51.323981Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(pub Ticks);

/// A point in time, or the reading of a clock that is still to be placed in a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Instant(Date),
    /// What the clock shows, as if it were in UTC.
    Local(Date),
}

const SECONDS_PER_DAY: i64 = 24 * 3600;

/// A text that is not a date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a date; write it like 2026-03-01T12:00:00Z")]
pub struct InvalidDate;

impl std::str::FromStr for Date {
    type Err = InvalidDate;

    /// Without an offset a date is in UTC, without a time it is midnight.
    fn from_str(text: &str) -> Result<Date, InvalidDate> {
        match text.parse()? {
            Moment::Instant(date) | Moment::Local(date) => Ok(date),
        }
    }
}

impl std::str::FromStr for Moment {
    type Err = InvalidDate;

    fn from_str(text: &str) -> Result<Moment, InvalidDate> {
        parse(text.trim()).ok_or(InvalidDate)
    }
}

fn parse(text: &str) -> Option<Moment> {
    if !text.is_ascii() || text.len() < 10 {
        return None;
    }
    let (date, rest) = text.split_at(10);
    let midnight = days_since_epoch(date)? * SECONDS_PER_DAY;
    if rest.is_empty() {
        return checked(midnight, 0).map(Moment::Local);
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let zone_at = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone_at);
    let (seconds, ticks) = time_of_day(time)?;
    if zone.is_empty() {
        return checked(midnight + seconds, ticks).map(Moment::Local);
    }
    checked(midnight + seconds - offset_seconds(zone)?, ticks).map(Moment::Instant)
}

/// The date when it is in the years 1 to 9999, which are those that four digits can say.
fn checked(seconds: i64, ticks: i64) -> Option<Date> {
    let date = Date(Ticks(seconds * Ticks::PER_SECOND + ticks));
    (YEAR_1..YEAR_10000).contains(&date.0.0).then_some(date)
}

const YEAR_1: i64 = -62_135_596_800 * Ticks::PER_SECOND;
const YEAR_10000: i64 = 253_402_300_800 * Ticks::PER_SECOND;

fn days_since_epoch(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let year: i16 = digits(&text[..4])?;
    let (month, day): (i8, i8) = (digits(&text[5..7])?, digits(&text[8..])?);
    jiff::civil::Date::new(year, month, day).ok()?;
    // The years begin in March, so that the leap day is the last one of its year.
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468)
}

/// `hh:mm`, `hh:mm:ss` or `hh:mm:ss.fff…`: the seconds since midnight and the ticks beyond them.
fn time_of_day(text: &str) -> Option<(i64, i64)> {
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let mut parts = whole.split(':');
    let hours = two_digits(parts.next()?, 23)?;
    let minutes = two_digits(parts.next()?, 59)?;
    let seconds = match parts.next() {
        Some(seconds) => two_digits(seconds, 59)?,
        None if fraction.is_some() => return None,
        None => 0,
    };
    if parts.next().is_some() {
        return None;
    }
    let ticks = fraction.map_or(Some(0), fraction_ticks)?;
    Some((hours * 3600 + minutes * 60 + seconds, ticks))
}

/// A fraction of a second, rounded to 100 ns: some clients write sixteen digits.
pub(crate) fn fraction_ticks(text: &str) -> Option<i64> {
    if text.is_empty() || text.len() > 40 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digit = |n: usize| text.as_bytes().get(n).map_or(0, |b| i64::from(b - b'0'));
    let ticks = (0..7).fold(0, |ticks, n| ticks * 10 + digit(n));
    Some(ticks + i64::from(digit(7) >= 5))
}

fn offset_seconds(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, rest) = text.split_at(1);
    let (hours, minutes) = match rest.split_once(':') {
        Some(parts) => parts,
        None if rest.len() == 4 => rest.split_at(2),
        None => (rest, "00"),
    };
    let seconds = two_digits(hours, 14)? * 3600 + two_digits(minutes, 59)? * 60;
    Some(if sign == "-" { -seconds } else { seconds })
}

fn two_digits(text: &str, max: i64) -> Option<i64> {
    (text.len() == 2).then(|| digits(text)).flatten().filter(|n| *n <= max)
}

fn digits<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_clock(self.0, f)?;
        f.write_str("Z")
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::Instant(date) => date.fmt(f),
            Moment::Local(date) => write_clock(date.0, f),
        }
    }
}

fn write_clock(ticks: Ticks, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let seconds = ticks.0.div_euclid(Ticks::PER_SECOND);
    let fraction = ticks.0.rem_euclid(Ticks::PER_SECOND);
    let (year, month, day) = civil(seconds.div_euclid(SECONDS_PER_DAY));
    let clock = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
    if fraction > 0 {
        let digits = format!("{fraction:07}");
        write!(f, ".{}", digits.trim_end_matches('0'))?;
    }
    Ok(())
}

/// The year, month and day of a day since 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

impl From<Ticks> for Date {
    fn from(ticks: Ticks) -> Date {
        Date(ticks)
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        text.parse::<Date>().map_or_else(|_| "refused".into(), |date| date.to_string())
    }

    #[test]
    fn dates_are_normalised_to_utc_and_at_most_seven_digits() {
        for (text, canonical) in [
            ("2015-07-13T00:00:00Z", "2015-07-13T00:00:00Z"),
            ("2015-07-13T00:00:00", "2015-07-13T00:00:00Z"),
            ("2015-07-13 01:02", "2015-07-13T01:02:00Z"),
            ("2012-11-04", "2012-11-04T00:00:00Z"),
            ("2017-09-10T18:50:16.9049999999999999Z", "2017-09-10T18:50:16.905Z"),
            ("2017-02-09T23:57:47.9949539Z", "2017-02-09T23:57:47.9949539Z"),
            ("2016-12-31T23:59:59.99999999Z", "2017-01-01T00:00:00Z"),
            ("2016-02-29T17:30:00-07:00", "2016-03-01T00:30:00Z"),
            ("2016-02-29T17:30:00+0530", "2016-02-29T12:00:00Z"),
            ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.5Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.9999999Z"),
            (" 2000-02-29t00:00:00z ", "2000-02-29T00:00:00Z"),
        ] {
            assert_eq!(read(text), canonical, "{text}");
        }
    }

    #[test]
    fn a_malformed_date_is_refused() {
        for text in [
            "",
            "now",
            "2015-02-29",
            "2015-13-01",
            "15-07-13",
            "2015-07-13T24:00:00Z",
            "2015-07-13T10:00:60Z",
            "2015-07-13T10Z",
            "2015-07-13T10:00:00.Z",
            "2015-07-13T10:00.5Z",
            "2015-07-13T10:00:00+15:00",
            "2015-07-13T10:00:00Zulu",
            "2015-07-13T10:00:00+1:00",
            "+015-07-13",
            "9999-12-31T23:59:59.99999999Z",
            "0001-01-01T00:00:00+01:00",
            "2015‑07‑13",
        ] {
            assert_eq!(read(text), "refused", "{text}");
        }
    }

    #[test]
    fn every_day_of_eight_centuries_reads_as_it_is_written() {
        for day in -200_000..100_000 {
            let date = Date(Ticks(day * SECONDS_PER_DAY * Ticks::PER_SECOND));
            assert_eq!(date.to_string().parse(), Ok(date), "day {day}");
        }
    }
}
