//! Time zones by their IANA names, and the instant that a clock's reading in one of them is.

use jiff::tz::{AmbiguousOffset, TimeZone};
use types::{Gap, Ticks};

use crate::date::Moment;
use crate::problem::{did_you_mean, quote};

/// The zone's name as the database spells it.
pub(crate) fn name(text: &str) -> Result<String, String> {
    let zone = TimeZone::get(text.trim()).ok();
    let known = zone.as_ref().and_then(TimeZone::iana_name).filter(|_| !text.trim().is_empty());
    known.map(str::to_owned).ok_or_else(|| {
        let names: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
        let mut hint = did_you_mean(text, names.iter().map(String::as_str));
        if hint.is_empty() {
            hint = "; write an IANA name like Europe/Berlin".to_owned();
        }
        format!("{} is not a known time zone{hint}", quote(text))
    })
}

/// The instant of a moment. A reading that the clocks show twice is the first of the two.
pub(crate) fn instant(moment: Moment, zone: Option<&str>, gap: Gap) -> Result<Ticks, String> {
    let local = match (moment, zone) {
        (Moment::Instant(date), _) | (Moment::Local(date), None) => return Ok(date.0),
        (Moment::Local(date), Some(zone)) => (date, zone),
    };
    let (date, zone) = local;
    let seconds = date.0.0.div_euclid(Ticks::PER_SECOND);
    let beyond = || format!("{moment} is beyond what time zones are known for");
    let clock = jiff::Timestamp::from_second(seconds).map_err(|_| beyond())?;
    let clock = TimeZone::UTC.to_datetime(clock);
    let zone_rules = TimeZone::get(zone).map_err(|_| format!("{} is not a known time zone", quote(zone)))?;
    let offset = match zone_rules.to_ambiguous_timestamp(clock).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Fold { before, .. } => before,
        AmbiguousOffset::Gap { before, .. } => match gap {
            Gap::Skip => {
                return Err(format!("{moment} does not exist in {zone}: the clocks go forward over it"));
            }
            // The first instant after the gap is the transition itself.
            Gap::End => {
                let inside = before.to_timestamp(clock).map_err(|_| beyond())?;
                let transition = zone_rules.preceding(inside).next();
                let end = transition.map(|transition| transition.timestamp()).ok_or_else(beyond)?;
                return Ok(Ticks(end.as_second() * Ticks::PER_SECOND));
            }
        },
    };
    Ok(Ticks(date.0.0 - i64::from(offset.seconds()) * Ticks::PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::date::Date;

    fn at(text: &str, zone: &str, gap: Gap) -> String {
        let moment: Moment = text.parse().expect("a moment");
        instant(moment, Some(zone), gap).map_or_else(|problem| problem, |ticks| Date(ticks).to_string())
    }

    #[test]
    fn a_local_time_is_placed_in_its_zone() {
        for (text, instant) in [
            ("2026-01-15T09:00:00", "2026-01-15T08:00:00Z"),
            ("2026-07-15T09:00:00.25", "2026-07-15T07:00:00.25Z"),
            ("2026-07-15T09:00:00Z", "2026-07-15T09:00:00Z"),
            // Left out: the clocks go from 02:00 to 03:00.
            ("2026-03-29T02:30:00", "2026-03-29T01:00:00Z"),
            // Shown twice: the first time it is still summer.
            ("2026-10-25T02:30:00", "2026-10-25T00:30:00Z"),
        ] {
            assert_eq!(at(text, "Europe/Berlin", Gap::End), instant, "{text}");
        }
        assert_eq!(
            at("2026-03-29T02:30:00", "Europe/Berlin", Gap::Skip),
            "2026-03-29T02:30:00 does not exist in Europe/Berlin: the clocks go forward over it"
        );
        assert_eq!(
            at("9999-12-31T23:59:59", "Europe/Berlin", Gap::End),
            "9999-12-31T23:59:59 is beyond what time zones are known for"
        );
    }

    #[test]
    fn a_zone_has_one_spelling() {
        assert_eq!(name("europe/berlin"), Ok("Europe/Berlin".to_owned()));
        assert_eq!(
            name("Europe/Berln"),
            Err("'Europe/Berln' is not a known time zone; did you mean 'Europe/Berlin'?".to_owned())
        );
        assert_eq!(
            name("W. Europe Standard Time"),
            Err("'W. Europe Standard Time' is not a known time zone; write an IANA name like Europe/Berlin"
                .to_owned())
        );
        assert!(name("").is_err());
    }
}
