//! Points and spans of time, in milliseconds. Time is always an argument; nothing here reads a clock.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// A point in time: milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

/// A point in time in steps of 100 ns since 1970-01-01 UTC: as fine as the dates of Azure Scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Ticks(pub i64);

/// A length of time in milliseconds, written as `250ms`, `5s`, `3m`, `2h` or `1d`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    ms: u64,
}

/// The longest span anyone may write: ten years. Sums with a timestamp stay far from overflow.
const SPAN_MS_MAX: u64 = 3650 * 24 * 3600 * 1000;

impl Timestamp {
    /// The time that has passed since `earlier`; zero when the clock went back.
    pub fn since(self, earlier: Timestamp) -> Span {
        Span { ms: u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0) }
    }
}

impl Ticks {
    pub const PER_MS: i64 = 10_000;
    pub const PER_SECOND: i64 = 10_000_000;

    /// The millisecond that this moment is in.
    pub fn floor(self) -> Timestamp {
        Timestamp(self.0.div_euclid(Ticks::PER_MS))
    }

    /// The first whole millisecond that is not before this moment.
    pub fn ceil(self) -> Timestamp {
        Timestamp(self.0.saturating_add(Ticks::PER_MS - 1).div_euclid(Ticks::PER_MS))
    }
}

impl From<Timestamp> for Ticks {
    fn from(time: Timestamp) -> Ticks {
        Ticks(time.0.saturating_mul(Ticks::PER_MS))
    }
}

impl Add<Span> for Ticks {
    type Output = Ticks;
    fn add(self, span: Span) -> Ticks {
        Ticks(self.0.saturating_add_unsigned(span.ms.saturating_mul(Ticks::PER_MS.unsigned_abs())))
    }
}

impl Add<Span> for Timestamp {
    type Output = Timestamp;
    fn add(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_add_unsigned(span.ms))
    }
}

impl Sub<Span> for Timestamp {
    type Output = Timestamp;
    fn sub(self, span: Span) -> Timestamp {
        Timestamp(self.0.saturating_sub_unsigned(span.ms))
    }
}

impl Span {
    pub const ZERO: Span = Span { ms: 0 };

    /// A span of milliseconds, cut at ten years.
    pub const fn from_ms(ms: u64) -> Span {
        Span { ms: if ms > SPAN_MS_MAX { SPAN_MS_MAX } else { ms } }
    }

    /// A span of seconds, cut at ten years.
    pub const fn from_secs(secs: u64) -> Span {
        Span::from_ms(secs.saturating_mul(1000))
    }

    pub const fn as_ms(self) -> u64 {
        self.ms
    }

    pub const fn as_std(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.ms)
    }
}

/// A span that is not written as a whole number and a unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a span of time; write a whole number and ms, s, m, h or d, like 500ms or 3h")]
pub struct InvalidSpan(String);

impl std::str::FromStr for Span {
    type Err = InvalidSpan;

    fn from_str(text: &str) -> Result<Span, InvalidSpan> {
        let invalid = || InvalidSpan(text.chars().take(40).collect());
        let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(invalid)?;
        let number: u64 = text[..digits].parse().map_err(|_| invalid())?;
        let unit_ms = match &text[digits..] {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(invalid()),
        };
        Ok(Span::from_ms(number.saturating_mul(unit_ms)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")];
        let whole = units.iter().find(|(unit_ms, _)| self.ms >= *unit_ms && self.ms.is_multiple_of(*unit_ms));
        match whole {
            Some((unit_ms, unit)) => write!(f, "{}{unit}", self.ms / unit_ms),
            None => write!(f, "{}ms", self.ms),
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// People read and write `5s`; the journal holds a number.
impl Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_u64(self.ms)
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            text.parse().map_err(serde::de::Error::custom)
        } else {
            u64::deserialize(deserializer).map(Span::from_ms)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_print_as_they_are_written() {
        for text in ["0ms", "250ms", "5s", "3m", "2h", "1d", "90s", "1500ms"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_span_without_a_unit_is_refused_with_the_fix() {
        for text in ["5", "", "5 s", "-1s", "s", "99999999999999999999s"] {
            let error = text.parse::<Span>().unwrap_err().to_string();
            assert!(error.contains("like 500ms or 3h"), "{error}");
        }
    }

    #[test]
    fn the_largest_span_does_not_overflow_a_timestamp() {
        let span: Span = "9999999999999d".parse().unwrap();
        assert!(Timestamp(i64::MAX) + span == Timestamp(i64::MAX));
        assert!(Timestamp(0) + span > Timestamp(0));
    }
}
