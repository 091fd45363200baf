//! Every zone of the IANA database and every change of its clocks from 2000 to 2040, under all rules for both.

use std::collections::BTreeMap;
use std::iter::successors;

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZoneDatabase;
use jiff::{SignedDuration, Timestamp};
use kernel::recurrence::{Change, change, next};
use types::{Frequency, Gap, Repeat, Rule, Schedule, Ticks, Timing};

use crate::slow::{Touched, fires, moment, ticks, zone};
use crate::{cron, in_zone, scheduled, timing};

const RULES: [(Gap, Repeat); 4] = [
    (Gap::End, Repeat::First),
    (Gap::End, Repeat::Both),
    (Gap::Skip, Repeat::First),
    (Gap::Skip, Repeat::Both),
];

#[derive(Default)]
struct Tally {
    zones: usize,
    changes: usize,
    occurrences: usize,
    moved: usize,
    repeated: usize,
    wrong: usize,
}

#[test]
fn every_change_of_the_clocks_in_every_zone_is_kept_by_its_rules() {
    let [from, to]: [Timestamp; 2] =
        ["2000-01-01T00:00:00Z", "2041-01-01T00:00:00Z"].map(|text| text.parse().unwrap());
    let mut tally = Tally::default();
    for name in TimeZoneDatabase::bundled().available() {
        tally.zones += 1;
        let zone = zone(name.as_str());
        for change in zone.following(from).take_while(|change| change.timestamp() < to) {
            tally.changes += 1;
            check_change(name.as_str(), ticks(change.timestamp()), &mut tally);
        }
    }
    println!(
        "{} zones, {} changes of the clocks, {} occurrences ({} moved, {} of repeated times): {} wrong",
        tally.zones, tally.changes, tally.occurrences, tally.moved, tally.repeated, tally.wrong
    );
    assert_eq!(tally.wrong, 0);
    assert!(tally.zones > 550 && tally.changes > 15_000 && tally.occurrences > 500_000);
    assert!(tally.moved > 10_000 && tally.repeated > 10_000);
}

/// Around one change: a job every half hour, and one that fires daily at a local time that the change is about.
fn check_change(name: &str, at: Ticks, tally: &mut Tally) {
    let zone = zone(name);
    let hour = 3600 * Ticks::PER_SECOND;
    let local = |away: i64| zone.to_datetime(moment(Ticks(at.0 + away)));
    // Just within what is left out or repeated, if that is half an hour or more.
    let touched =
        (local(0).max(local(-1)) - SignedDuration::from_mins(17)).time().with().subsec_nanosecond(0);
    let touched = touched.second(0).build().unwrap();
    for (away, half_hours) in [(2 * hour, true), (49 * hour, false)] {
        let (from, until) = (Ticks(at.0 - away), Ticks(at.0 + away));
        let shown = [local(-away), local(-1), local(0), local(away)];
        let (low, high) = (shown.into_iter().min().unwrap(), shown.into_iter().max().unwrap());
        let first = if half_hours { low.date().at(0, 0, 0, 0) } else { low.date().to_datetime(touched) };
        let step = SignedDuration::from_mins(if half_hours { 30 } else { 24 * 60 });
        let slots: Vec<DateTime> = successors(Some(first), |slot| Some(*slot + step))
            .skip_while(|slot| *slot < low)
            .take_while(|slot| *slot <= high)
            .collect();
        let rule = if half_hours { cron("0,30 * * * *") } else { daily(touched) };
        for (gap, repeat) in RULES {
            let timing = Timing { gap, repeat, ..in_zone(name, timing(None, rule.clone())) };
            let mut expected = BTreeMap::new();
            for (at, touched) in slots.iter().flat_map(|slot| fires(&zone, *slot, gap, repeat)) {
                // A moved one says so, even where it falls together with one that is in its place.
                let known = expected.entry(ticks(at)).or_insert(touched);
                *known = touched.max(*known);
            }
            expected.retain(|at, _| *at > from && *at <= until);
            for minutes in [0, 10, 40] {
                let after = Ticks(at.0 + minutes * 60 * Ticks::PER_SECOND);
                let right = expected.keys().copied().find(|at| *at > after);
                let found = next(&timing, from, after).filter(|at| *at <= until);
                tally.wrong += usize::from(found != right);
            }
            check_around(&timing, from, until, expected, tally);
        }
    }
}

fn daily(time: Time) -> Rule {
    let (hours, minutes) = (vec![time.hour() as u8], vec![time.minute() as u8]);
    scheduled(1, Frequency::Day, Schedule { hours, minutes, ..Schedule::default() })
}

fn check_around(
    timing: &Timing,
    from: Ticks,
    until: Ticks,
    expected: BTreeMap<Ticks, Touched>,
    tally: &mut Tally,
) {
    let mut found = BTreeMap::new();
    let mut last = from;
    while let Some(at) = next(timing, from, last).filter(|at| *at <= until) {
        let touched = match change(timing, from, at) {
            None => Touched::Not,
            Some(Change::Moved { .. }) => Touched::Moved,
            Some(Change::First) => Touched::First,
            Some(Change::Second) => Touched::Second,
        };
        found.insert(at, touched);
        tally.moved += usize::from(touched == Touched::Moved);
        tally.repeated += usize::from(matches!(touched, Touched::First | Touched::Second));
        last = at;
    }
    tally.occurrences += found.len();
    if found != expected {
        tally.wrong += 1;
        println!("{timing:?}: {found:?}, not {expected:?}");
    }
}
