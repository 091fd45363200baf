//! Points and lengths of time as people read them.

use api_types::Time;
use types::{Span, Timestamp};

pub use terminal::machine::now;

/// `2026-03-01 12:00:00.123 UTC`
pub fn moment(at: Time) -> String {
    at.to_string().replace('T', " ").replace('Z', " UTC")
}

/// `2026-03-01 12:00:00`, in UTC.
pub fn second(at: Time) -> String {
    at.to_string().replace('T', " ").chars().take("2026-03-01 12:00:00".len()).collect()
}

/// `12ms`, `3.41s`, `2m 05s`, `1h 02m` or `3d 04h`: two figures that matter, not more.
pub fn length(ms: i64) -> String {
    let (sign, ms) = if ms < 0 { ("-", ms.unsigned_abs()) } else { ("", ms.unsigned_abs()) };
    let (s, m, h) = (ms / 1000, ms / 60_000, ms / 3_600_000);
    let text = match ms {
        0..1000 => format!("{ms}ms"),
        1000..60_000 => format!("{s}.{:02}s", ms % 1000 / 10),
        60_000..3_600_000 => format!("{m}m {:02}s", s % 60),
        3_600_000..86_400_000 => format!("{h}h {:02}m", m % 60),
        _ => format!("{}d {:02}h", h / 24, h % 24),
    };
    format!("{sign}{text}")
}

/// The length from one moment to another.
pub fn between(from: Time, to: Time) -> String {
    length(to.0.0.saturating_sub(from.0.0))
}

/// Reads a point in time, or a span before `now`: `2026-03-01T12:00:00Z` or `90m`.
pub fn parse(text: &str, now: Timestamp) -> Result<Time, String> {
    if let Ok(span) = text.parse::<Span>() {
        let ms = i64::try_from(span.as_ms()).unwrap_or(i64::MAX);
        return Ok(Time(Timestamp(now.0.saturating_sub(ms))));
    }
    let hint = "write it like 2026-03-01T12:00:00Z, or 90m for that long ago";
    text.parse().map_err(|_| format!("{text:?} is not a point in time; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_two_figures_that_matter() {
        let shown = [0, 999, 1000, 59_999, 61_000, 3_720_000, 90_000_000, -1500].map(length);
        assert_eq!(shown, ["0ms", "999ms", "1.00s", "59.99s", "1m 01s", "1h 02m", "1d 01h", "-1.50s"]);
    }

    #[test]
    fn a_span_is_that_long_ago() {
        let now = Timestamp(1_772_366_400_123);
        assert_eq!(second(parse("90m", now).unwrap()), "2026-03-01 10:30:00");
        assert_eq!(moment(parse("2026-03-01T12:00:00Z", now).unwrap()), "2026-03-01 12:00:00.000 UTC");
        assert!(parse("yesterday", now).unwrap_err().contains("90m for that long ago"));
    }
}
