//! Points in time as RFC 3339 text with milliseconds.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use words::Timestamp;

/// A timestamp that reads and writes as `2026-03-01T12:00:00.000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time(pub Timestamp);

impl From<Timestamp> for Time {
    fn from(at: Timestamp) -> Time {
        Time(at)
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
            .map_err(|_| format!("{text:?} is no point in time; write it like 2026-03-01T12:00:00Z"))?;
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
}
