//! Lengths of time in the notations of Azure's clients: ISO 8601, .NET's TimeSpan, and Sortie's own `30s`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use types::Span;

use crate::date::fraction_ticks;

/// A length of time, and how its writer wrote it: clients read back only the notation that they write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duration {
    text: String,
    span: Span,
}

/// A text that is not a length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a length of time; write it like PT30S, 00:00:30 or 30s")]
pub struct InvalidDuration;

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

impl Duration {
    pub fn span(&self) -> Span {
        self.span
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for Duration {
    type Err = InvalidDuration;

    fn from_str(text: &str) -> Result<Duration, InvalidDuration> {
        let text = text.trim();
        if !text.is_ascii() || text.len() > 60 {
            return Err(InvalidDuration);
        }
        if text.starts_with(['P', 'p']) {
            let ms = iso_ms(&text.to_ascii_uppercase()).ok_or(InvalidDuration)?;
            Ok(Duration { text: text.to_owned(), span: Span::from_ms(ms) })
        } else if text.contains(':') {
            let ms = timespan_ms(text).ok_or(InvalidDuration)?;
            Ok(Duration { text: text.to_owned(), span: Span::from_ms(ms) })
        } else {
            // Azure's clients know nothing of this notation, so it is written down in one they may read.
            let span: Span = text.parse().map_err(|_| InvalidDuration)?;
            Ok(Duration { text: iso(span), span })
        }
    }
}

/// `P1DT2H3M4.5S`, and the `PT1D` of Azure's documentation. A year has 365 days and a month 30, as in .NET.
fn iso_ms(text: &str) -> Option<u64> {
    let mut rest = &text[1..];
    let mut in_time = false;
    let mut parts = 0;
    let mut total_ms: u64 = 0;
    while !rest.is_empty() {
        if !in_time && rest.starts_with('T') {
            in_time = true;
            rest = &rest[1..];
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let unit_ms = match (&rest[end..=end], in_time) {
            ("Y", false) => 365 * DAY_MS,
            ("M", false) => 30 * DAY_MS,
            ("W", _) => 7 * DAY_MS,
            ("D", _) => DAY_MS,
            ("H", true) => HOUR_MS,
            ("M", true) => MINUTE_MS,
            ("S", true) => 1000,
            _ => return None,
        };
        total_ms = total_ms.saturating_add(times(&rest[..end], unit_ms)?);
        parts += 1;
        rest = &rest[end + 1..];
    }
    (parts > 0 && !text.ends_with('T')).then_some(total_ms)
}

/// A number with or without a fraction, as so many units.
fn times(number: &str, unit_ms: u64) -> Option<u64> {
    let (whole, fraction) =
        number.split_once('.').map_or((number, None), |(whole, rest)| (whole, Some(rest)));
    let whole: u64 = whole.parse().ok()?;
    // Seven digits of a unit of at most a year stay far below the range of u64.
    let ticks = fraction.map_or(Some(0), fraction_ticks)?.unsigned_abs();
    Some(whole.saturating_mul(unit_ms).saturating_add(ticks * unit_ms / 10_000_000))
}

/// `[d.]hh:mm[:ss[.fffffff]]`.
fn timespan_ms(text: &str) -> Option<u64> {
    let (first, rest) = text.split_once(':')?;
    let (days, hours) = first.split_once('.').unwrap_or(("0", first));
    let (minutes, seconds) = rest.split_once(':').unwrap_or((rest, "0"));
    let (seconds, fraction) =
        seconds.split_once('.').map_or((seconds, None), |(whole, rest)| (whole, Some(rest)));
    let ticks = fraction.map_or(Some(0), fraction_ticks)?.unsigned_abs();
    let days_ms = number(days, u64::MAX)?.saturating_mul(DAY_MS);
    let clock_ms =
        number(hours, 23)? * HOUR_MS + number(minutes, 59)? * MINUTE_MS + number(seconds, 59)? * 1000;
    Some(days_ms.saturating_add(clock_ms + ticks / 10_000))
}

fn number(text: &str, max: u64) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten().filter(|n| *n <= max)
}

fn iso(span: Span) -> String {
    let ms = span.as_ms();
    let units = [(DAY_MS, "P", "D"), (HOUR_MS, "PT", "H"), (MINUTE_MS, "PT", "M"), (1000, "PT", "S")];
    let whole = units.iter().find(|(unit_ms, ..)| ms >= *unit_ms && ms.is_multiple_of(*unit_ms));
    match whole {
        Some((unit_ms, before, after)) => format!("{before}{}{after}", ms / unit_ms),
        None => format!("PT{}.{:03}S", ms / 1000, ms % 1000),
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_notations_say_the_same() {
        for (text, ms, echo) in [
            ("PT30S", 30_000, "PT30S"),
            ("pt1m", 60_000, "pt1m"),
            ("P1DT2H3M4.5S", 93_784_500, "P1DT2H3M4.5S"),
            ("PT1D", DAY_MS, "PT1D"),
            ("P1M", 30 * DAY_MS, "P1M"),
            ("P2W", 14 * DAY_MS, "P2W"),
            ("00:01:00", 60_000, "00:01:00"),
            ("30.00:00:00", 30 * DAY_MS, "30.00:00:00"),
            ("1:30", 90 * MINUTE_MS, "1:30"),
            ("00:00:00.2500000", 250, "00:00:00.2500000"),
            ("30s", 30_000, "PT30S"),
            ("2h", 2 * HOUR_MS, "PT2H"),
            ("90m", 90 * MINUTE_MS, "PT90M"),
            ("1500ms", 1500, "PT1.500S"),
            ("7d", 7 * DAY_MS, "P7D"),
        ] {
            let duration: Duration = text.parse().expect(text);
            assert_eq!((duration.span().as_ms(), duration.as_str()), (ms, echo), "{text}");
            assert_eq!(echo.parse::<Duration>().expect(echo).span(), duration.span(), "{echo}");
        }
    }

    #[test]
    fn a_malformed_duration_is_refused() {
        for text in [
            "",
            "P",
            "PT",
            "P1H",
            "PT1",
            "30",
            "24:00:00",
            "00:60:00",
            "-00:01:00",
            "1.5",
            "P1DT",
            "PT.5S",
            ":",
        ] {
            assert_eq!(text.parse::<Duration>(), Err(InvalidDuration), "{text}");
        }
    }

    #[test]
    fn the_longest_duration_does_not_overflow() {
        for text in ["P99999999999999999Y", "9999999999999999999.00:00:00", "PT0.9999999S"] {
            text.parse::<Duration>().expect(text);
        }
    }
}
