//! The newest of many missed occurrences is found without walking through them.

use kernel::recurrence::{latest, next};
use types::{Frequency, Rule, Schedule, Ticks, Timing};

use crate::{at, cron, every, in_zone, scheduled, show, timing};

const START: &str = "2020-01-01T00:00:07Z";

fn newest(timing: &Timing, until: &str) -> String {
    latest(timing, at(START), at(START), at(until)).map_or("none".to_owned(), show)
}

#[test]
fn years_of_missed_occurrences_leave_the_newest() {
    let check = |rule: Rule, expected: &str| {
        let timing = in_zone("America/New_York", timing(Some(START), rule));
        assert_eq!(newest(&timing, "2026-05-13T10:00:00Z"), expected, "{timing:?}");
    };
    check(every(1, Frequency::Minute), "2026-05-13T09:59:07Z");
    check(every(7, Frequency::Hour), "2026-05-13T07:00:07Z");
    check(cron("* * * * * *"), "2026-05-13T10:00:00Z");
    check(cron("0 4 1 1 *"), "2026-01-01T09:00:00Z");
    let noon = Schedule { hours: vec![12], minutes: vec![0], ..Schedule::default() };
    check(scheduled(1, Frequency::Day, noon), "2026-05-12T16:00:00Z");
}

#[test]
fn the_window_is_open_below_and_closed_above() {
    let minutes = timing(Some("2026-01-01T00:00:00Z"), cron("* * * * *"));
    let window = |after: &str, until: &str| latest(&minutes, Ticks(0), at(after), at(until)).map(show);
    let ten = "2026-01-01T10:00:00Z";
    assert_eq!(window("2026-01-01T09:00:00Z", ten).unwrap(), ten);
    assert_eq!(window(ten, "2026-01-01T10:00:59.9999999Z"), None);
    assert_eq!(window(ten, ten), None);
    assert_eq!(window("2026-01-01T11:00:00Z", ten), None);
    assert_eq!(window("2000-01-01T00:00:00Z", "2025-12-31T23:59:59Z"), None);
}

#[test]
fn the_end_cuts_off_what_is_newer() {
    for rule in [every(1, Frequency::Minute), cron("7 * * * * *")] {
        let mut timing = timing(Some(START), rule);
        timing.recurrence.as_mut().unwrap().end = Some(at("2021-06-01T00:00:00Z"));
        assert_eq!(newest(&timing, "2026-05-13T10:00:00Z"), "2021-05-31T23:59:07Z");
        assert_eq!(next(&timing, at(START), at("2021-05-31T23:59:07Z")), None);
    }
}
