//! Changes of the clocks, one by one: what is moved, left out and repeated, and that the preview tells of it.

use kernel::recurrence::{Change, SkippedTime, next, preview, skipped_times};
use types::{Frequency, Gap, Repeat, Rule, Schedule, Timing};

use crate::{at, cron, every, in_zone, scheduled, show, show_all, timing, upcoming};

fn berlin(rule: Rule, gap: Gap, repeat: Repeat) -> Timing {
    Timing { gap, repeat, ..in_zone("Europe/Berlin", timing(None, rule)) }
}

fn after(timing: &Timing, moment: &str, most: usize) -> Vec<String> {
    show_all(upcoming(timing, at(moment), at(moment), most))
}

/// What the preview says of each occurrence, in words.
fn previewed(timing: &Timing, now: &str, most: usize) -> Vec<String> {
    let words = |change: Option<Change>| match change {
        None => String::new(),
        Some(Change::Moved { from }) => format!(" moved from {from}"),
        Some(Change::First) => " first".to_owned(),
        Some(Change::Second) => " second".to_owned(),
    };
    let planned = preview(timing, at(now), at(now), most);
    planned.iter().map(|planned| format!("{}{}", show(planned.at), words(planned.change))).collect()
}

#[test]
fn a_time_that_the_clocks_leave_out_fires_at_the_end_of_the_gap_or_not_at_all() {
    let half_past_two = || cron("30 2 * * *");
    let now = "2026-03-28T00:00:00Z";
    let moved = berlin(half_past_two(), Gap::End, Repeat::First);
    assert_eq!(
        previewed(&moved, now, 3),
        [
            "2026-03-28T01:30:00Z",
            "2026-03-29T01:00:00Z moved from 2026-03-29T02:30:00",
            "2026-03-30T00:30:00Z"
        ]
    );
    let skipped = berlin(half_past_two(), Gap::Skip, Repeat::First);
    assert_eq!(previewed(&skipped, now, 2), ["2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z"]);
    let out = skipped_times(&skipped, at(now), at(now), at("2026-12-01T00:00:00Z"), 10);
    let shown: Vec<_> = out
        .iter()
        .map(|out| match out {
            SkippedTime::Gap(local) => format!("gap {local}"),
            SkippedTime::Repeat(local) => format!("repeat {local}"),
        })
        .collect();
    assert_eq!(shown, ["gap 2026-03-29T02:30:00", "repeat 2026-10-25T02:30:00"]);
    assert_eq!(skipped_times(&skipped, at(now), at(now), at("2026-12-01T00:00:00Z"), 1).len(), 1);
}

#[test]
fn all_times_in_one_gap_make_one_occurrence() {
    let quarters = berlin(cron("*/15 1-3 * * *"), Gap::End, Repeat::First);
    assert_eq!(
        previewed(&quarters, "2026-03-29T00:40:00Z", 3),
        [
            "2026-03-29T00:45:00Z",
            "2026-03-29T01:00:00Z moved from 2026-03-29T02:00:00",
            "2026-03-29T01:15:00Z"
        ]
    );
}

#[test]
fn a_time_that_the_clocks_show_twice_fires_once_or_twice() {
    let now = "2026-10-24T01:00:00Z";
    let once = berlin(cron("30 2 * * *"), Gap::End, Repeat::First);
    assert_eq!(previewed(&once, now, 2), ["2026-10-25T00:30:00Z first", "2026-10-26T01:30:00Z"]);
    let twice = berlin(cron("30 2 * * *"), Gap::End, Repeat::Both);
    assert_eq!(
        previewed(&twice, now, 3),
        ["2026-10-25T00:30:00Z first", "2026-10-25T01:30:00Z second", "2026-10-26T01:30:00Z"]
    );
}

#[test]
fn what_was_shown_before_does_not_fire_again_even_when_asked_in_the_middle_of_it() {
    let half_hours = |repeat| berlin(cron("*/30 * * * *"), Gap::End, repeat);
    let second_time = "2026-10-25T01:10:00Z";
    assert_eq!(after(&half_hours(Repeat::First), second_time, 1), ["2026-10-25T02:00:00Z"]);
    assert_eq!(after(&half_hours(Repeat::Both), second_time, 1), ["2026-10-25T01:30:00Z"]);
}

#[test]
fn days_follow_the_local_clock_and_hours_the_time_that_passes() {
    let mut daily = berlin(every(1, Frequency::Day), Gap::End, Repeat::First);
    daily.start = Some(at("2026-03-28T08:00:00Z"));
    assert_eq!(after(&daily, "2026-03-28T08:00:00Z", 2), ["2026-03-29T07:00:00Z", "2026-03-30T07:00:00Z"]);
    let mut hourly = berlin(every(24, Frequency::Hour), Gap::End, Repeat::First);
    hourly.start = daily.start;
    assert_eq!(after(&hourly, "2026-03-28T08:00:00Z", 2), ["2026-03-29T08:00:00Z", "2026-03-30T08:00:00Z"]);
    let passes = previewed(&hourly, "2026-03-28T08:00:00Z", 4);
    assert!(passes.iter().all(|told| told.ends_with('Z')), "{passes:?}");
}

#[test]
fn a_start_in_a_repeated_time_is_kept_whichever_of_the_two_it_is() {
    for start in ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"] {
        let mut daily = berlin(every(1, Frequency::Day), Gap::End, Repeat::First);
        daily.start = Some(at(start));
        let planned = preview(&daily, at("2026-10-01T00:00:00Z"), at("2026-10-01T00:00:20Z"), 2);
        assert_eq!(show_all(planned.iter().map(|planned| planned.at)), [start, "2026-10-26T01:30:00Z"]);
    }
}

/// Samoa left out 2011-12-30 to be on the other side of the date line, Kwajalein 1993-08-21.
#[test]
fn a_day_that_a_zone_leaves_out_is_a_gap_like_any_other() {
    let cases = [
        (
            "Pacific/Apia",
            "2011-12-29T00:00:00Z",
            ["2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"],
        ),
        (
            "Pacific/Kwajalein",
            "1993-08-20T12:00:00Z",
            ["1993-08-21T00:00:00Z", "1993-08-21T12:00:00Z", "1993-08-22T00:00:00Z"],
        ),
    ];
    for (zone, now, expected) in cases {
        let noon = Schedule { hours: vec![12], minutes: vec![0], ..Schedule::default() };
        let daily = in_zone(zone, timing(None, scheduled(1, Frequency::Day, noon)));
        assert_eq!(after(&daily, now, 3), expected, "{zone}");
        let skipping = Timing { gap: Gap::Skip, ..daily };
        assert_eq!(after(&skipping, now, 2), [expected[0], expected[2]], "{zone}");
    }
}

#[test]
fn an_unknown_zone_counts_as_utc() {
    let lost = in_zone("Nowhere/Atall", timing(None, cron("@daily")));
    assert_eq!(
        next(&lost, at("2026-01-01T12:00:00Z"), at("2026-01-01T12:00:00Z")).map(show).unwrap(),
        "2026-01-02T00:00:00Z"
    );
}
