//! Windows of virtual time: when a rule of a script counts, and when Sortie itself is down.

use jiff::civil;
use jiff::tz::TimeZone;
use schedule::Moment;
use types::{Span, Timestamp};

/// From a moment up to, and without, another.
#[derive(Debug, Clone, PartialEq)]
pub enum TimeWindow {
    /// Once; a missing end is never reached.
    Once { from: Option<Timestamp>, to: Option<Timestamp> },
    /// Every day, by the clocks of a zone; it may span midnight.
    Daily { from: civil::Time, to: civil::Time, zone: TimeZone },
}

const HINT: &str = "write it like 02:00..05:10 for every day, +10m..+2h from the beginning, or \
                    2026-03-01T02:00..2026-03-01T05:10";

/// One end of a window.
enum WindowEnd {
    Open,
    At(Timestamp),
    Clock(civil::Time),
}

impl TimeWindow {
    /// Reads `from..to`. Times without an offset are those of `zone`; `+10m` is ten minutes after `begin`.
    pub fn parse(text: &str, begin: Timestamp, zone: &TimeZone) -> Result<TimeWindow, String> {
        let (from, to) = text.split_once("..").ok_or_else(|| format!("{text:?} is not a window; {HINT}"))?;
        let end = |text: &str| end(text.trim(), begin, zone);
        match (end(from)?, end(to)?) {
            (WindowEnd::Clock(from), WindowEnd::Clock(to)) if from == to => {
                Err(format!("{text:?} is empty; a window ends at another time than it begins"))
            }
            (WindowEnd::Clock(from), WindowEnd::Clock(to)) => {
                Ok(TimeWindow::Daily { from, to, zone: zone.clone() })
            }
            (WindowEnd::Clock(_), _) | (_, WindowEnd::Clock(_)) => {
                Err(format!("{text:?} mixes a time of every day with another; {HINT}"))
            }
            (from, to) => TimeWindow::once(from.at(), to.at())
                .ok_or_else(|| format!("{text:?} is empty; a window ends after it begins")),
        }
    }

    fn once(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<TimeWindow> {
        let empty = from.zip(to).is_some_and(|(from, to)| to <= from);
        (!empty).then_some(TimeWindow::Once { from, to })
    }

    pub fn contains(&self, at: Timestamp) -> bool {
        match self {
            TimeWindow::Once { from, to } => {
                from.is_none_or(|from| from <= at) && to.is_none_or(|to| at < to)
            }
            TimeWindow::Daily { from, to, zone } => {
                let Some(clock) = clock(at, zone) else { return false };
                if from < to { *from <= clock && clock < *to } else { *from <= clock || clock < *to }
            }
        }
    }

    /// When the window begins next, after `at`.
    pub fn begin_after(&self, at: Timestamp) -> Option<Timestamp> {
        match self {
            TimeWindow::Once { from, .. } => from.filter(|from| *from > at),
            TimeWindow::Daily { from, zone, .. } => next(at, *from, zone),
        }
    }

    /// When a window that contains `at` is over; `None` if it never is.
    pub fn end_after(&self, at: Timestamp) -> Option<Timestamp> {
        match self {
            TimeWindow::Once { to, .. } => *to,
            TimeWindow::Daily { to, zone, .. } => next(at, *to, zone),
        }
    }
}

impl WindowEnd {
    fn at(self) -> Option<Timestamp> {
        match self {
            WindowEnd::At(at) => Some(at),
            WindowEnd::Open | WindowEnd::Clock(_) => None,
        }
    }
}

fn end(text: &str, begin: Timestamp, zone: &TimeZone) -> Result<WindowEnd, String> {
    if text.is_empty() {
        return Ok(WindowEnd::Open);
    }
    if let Some(span) = text.strip_prefix('+') {
        let span: Span = span.parse().map_err(|error: types::time::InvalidSpan| error.to_string())?;
        return Ok(WindowEnd::At(begin + span));
    }
    if let Ok(time) = text.parse::<civil::Time>()
        && text.len() <= "02:00:00".len()
    {
        return Ok(WindowEnd::Clock(time));
    }
    moment(text, zone).map(WindowEnd::At).ok_or_else(|| format!("{text:?} is not a time; {HINT}"))
}

/// A point in time; one without an offset is read by the clocks of `zone`.
pub fn moment(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    match text.parse::<Moment>().ok()? {
        Moment::Instant(date) => Some(date.0.floor()),
        Moment::Local(date) => {
            let shown = jiff::Timestamp::from_millisecond(date.0.floor().0).ok()?;
            let local = shown.to_zoned(TimeZone::UTC).datetime();
            let at = local.to_zoned(zone.clone()).ok()?.timestamp();
            Some(Timestamp(at.as_millisecond()))
        }
    }
}

/// When the clocks of `zone` next show `time`, after `at`.
fn next(at: Timestamp, time: civil::Time, zone: &TimeZone) -> Option<Timestamp> {
    let local = jiff::Timestamp::from_millisecond(at.0).ok()?.to_zoned(zone.clone());
    let today = local.date().to_datetime(time) > local.datetime();
    let day = if today { local.date() } else { local.date().tomorrow().ok()? };
    let next = day.to_datetime(time).to_zoned(zone.clone()).ok()?;
    Some(Timestamp(next.timestamp().as_millisecond()))
}

fn clock(at: Timestamp, zone: &TimeZone) -> Option<civil::Time> {
    let at = jiff::Timestamp::from_millisecond(at.0).ok()?;
    Some(at.to_zoned(zone.clone()).time())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        moment(text, &TimeZone::UTC).expect("a time")
    }

    #[track_caller]
    fn check(window: &str, zone: &str, inside: &[&str], outside: &[&str]) {
        let zone = TimeZone::get(zone).expect("a zone");
        let window = TimeWindow::parse(window, at("2026-03-28T00:00Z"), &zone).expect("a window");
        for text in inside {
            assert!(window.contains(at(text)), "{window:?} has not {text}");
        }
        for text in outside {
            assert!(!window.contains(at(text)), "{window:?} has {text}");
        }
    }

    #[test]
    fn a_window_has_its_beginning_and_not_its_end() {
        check("02:00..05:10", "UTC", &["2026-03-28T02:00Z", "2027-01-01T05:09:59Z"], &["2026-03-28T05:10Z"]);
        check("+10m..+2h", "UTC", &["2026-03-28T00:10Z"], &["2026-03-28T00:09Z", "2026-03-28T02:00Z"]);
        check("2026-03-28T01:00..", "UTC", &["2030-01-01"], &["2026-03-28T00:59Z"]);
    }

    #[test]
    fn a_window_of_every_day_goes_by_the_clocks_of_its_zone_and_over_midnight() {
        check("02:00..05:10", "Europe/Berlin", &["2026-03-28T01:00Z"], &["2026-03-28T04:10Z"]);
        // The clocks have gone forward: it begins an hour earlier.
        check("03:30..05:10", "Europe/Berlin", &["2026-03-30T01:30Z"], &["2026-03-30T03:10Z"]);
        check("22:00..02:00", "UTC", &["2026-03-28T23:00Z", "2026-03-28T01:59Z"], &["2026-03-28T02:00Z"]);
    }

    #[test]
    fn a_window_of_every_day_ends_at_its_next_end() {
        let window = TimeWindow::parse("22:00..02:00", Timestamp(0), &TimeZone::UTC).expect("a window");
        assert_eq!(window.end_after(at("2026-03-28T23:00Z")), Some(at("2026-03-29T02:00Z")));
        assert_eq!(window.end_after(at("2026-03-28T01:00Z")), Some(at("2026-03-28T02:00Z")));
    }

    #[test]
    fn a_malformed_window_is_refused_with_the_fix() {
        for text in ["02:00", "05:00..05:00", "02:00..+5m", "noon..13:00", "+2h..+1h", "+2..+3"] {
            let error = TimeWindow::parse(text, Timestamp(0), &TimeZone::UTC).expect_err(text);
            assert!(
                error.contains("02:00..05:10") || error.contains("ends") || error.contains("500ms"),
                "{error}"
            );
        }
    }
}
