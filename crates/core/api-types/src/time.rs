//! Points in time as RFC 3339 text with milliseconds.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use types::Timestamp;

/// A timestamp that reads and writes as `2026-03-01T12:00:00.000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time(pub Timestamp);

impl From<Timestamp> for Time {
    fn from(at: Timestamp) -> Time {
        Time(at)
    }
}

impl Time {
    /// As the headers of HTTP write it, and Service Bus: `Sun, 01 Mar 2026 12:00:00 GMT`, to the second.
    pub fn http(self) -> String {
        let second = jiff::Timestamp::from_millisecond(self.0.0.div_euclid(1000) * 1000);
        let text = second
            .ok()
            .and_then(|at| jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&at).ok());
        text.unwrap_or_else(|| self.to_string())
    }

    /// Reads both ways of writing a time: that of HTTP and that of ISO 8601. One without a zone is in UTC.
    pub fn parse_any(text: &str) -> Result<Time, String> {
        let text = text.trim();
        let http = || jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok();
        let civil = || text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
        let found = text.parse::<jiff::Timestamp>().ok().or_else(http);
        let found = found.or_else(|| Some(civil()?.timestamp()));
        let found = found.ok_or_else(|| {
            format!("{text:?} is not a point in time; write it like 2026-03-01T12:00:00Z or Sun, 01 Mar 2026 12:00:00 GMT")
        })?;
        Ok(Time(Timestamp(found.as_millisecond())))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{}", self.0.0),
        }
    }
}

impl std::str::FromStr for Time {
    type Err = String;
    fn from_str(text: &str) -> Result<Time, String> {
        let at: jiff::Timestamp = text
            .parse()
            .map_err(|_| format!("{text:?} is not a point in time; write it like 2026-03-01T12:00:00Z"))?;
        Ok(Time(Timestamp(at.as_millisecond())))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_they_are_written() {
        let time = Time(Timestamp(1_772_366_400_123));
        assert_eq!(time.to_string(), "2026-03-01T12:00:00.123Z");
        assert_eq!(time.to_string().parse::<Time>().unwrap(), time);
    }

    #[test]
    fn times_are_read_in_both_ways_of_writing_them() {
        let time = Time(Timestamp(1_772_366_400_000));
        assert_eq!(time.http(), "Sun, 01 Mar 2026 12:00:00 GMT");
        for text in [
            "Sun, 01 Mar 2026 12:00:00 GMT",
            "2026-03-01T12:00:00Z",
            "2026-03-01T13:00:00+01:00",
            "2026-03-01T12:00:00",
        ] {
            assert_eq!(Time::parse_any(text), Ok(time), "{text}");
        }
        for text in ["", "tomorrow", "2026-13-01T00:00:00Z", "Sun, 99 Mar 2026 12:00:00 GMT"] {
            assert!(Time::parse_any(text).is_err(), "{text}");
        }
        assert!(!Time(Timestamp(i64::MAX)).http().is_empty());
    }
}
