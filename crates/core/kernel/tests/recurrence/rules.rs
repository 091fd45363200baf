//! The rules one by one: where a job starts, when it ends, how periods are counted, which days there are.

use kernel::recurrence::{check_zone, drifts, first, next, preview, shortest_period};
use types::{Frequency, Monthly, Rule, Schedule, Span, Ticks, Timing, WeekDay};

use crate::{at, cron, every, in_zone, scheduled, show, show_all, timing, upcoming};

const NOW: &str = "2026-05-13T10:00:00Z";

/// Where a job that is created at `NOW` fires first.
fn starts(start: Option<&str>, rule: Option<Rule>) -> String {
    let mut timing = timing(start, every(1, Frequency::Day));
    timing.recurrence = rule.map(|rule| types::Recurrence { rule, count: None, end: None });
    let now = at(NOW);
    first(&timing, now, now + Span::from_secs(20)).map_or("never".to_owned(), show)
}

fn noon() -> Schedule {
    Schedule { hours: vec![12], minutes: vec![0], ..Schedule::default() }
}

/// The occurrences after the start, with the start itself if it is one.
fn occurrences(start: &str, rule: Rule, most: usize) -> Vec<String> {
    let timing = timing(Some(start), rule);
    show_all(upcoming(&timing, Ticks(0), Ticks(at(start).0 - 1), most))
}

/// As `occurrences`, the days alone.
fn days(start: &str, rule: Rule, most: usize) -> Vec<String> {
    occurrences(start, rule, most).into_iter().map(|at| at[..10].to_owned()).collect()
}

#[test]
fn a_job_starts_as_the_table_of_azure_scheduler_says() {
    let immediately = "2026-05-13T10:00:20Z";
    let (past, future) = (Some("2026-05-12T11:00:00.1234567Z"), Some("2026-05-20T11:00:00Z"));
    let daily = || Some(every(1, Frequency::Day));
    let at_noon = || Some(scheduled(1, Frequency::Day, noon()));
    let by_cron = || Some(cron("30 8 * * *"));
    assert_eq!(starts(None, None), immediately);
    assert_eq!(starts(None, daily()), immediately);
    assert_eq!(starts(None, at_noon()), immediately);
    assert_eq!(starts(None, by_cron()), "2026-05-14T08:30:00Z");
    assert_eq!(starts(past, None), immediately);
    assert_eq!(starts(past, daily()), "2026-05-13T11:00:00.1234567Z");
    assert_eq!(starts(past, at_noon()), "2026-05-13T12:00:00Z");
    assert_eq!(starts(past, by_cron()), "2026-05-14T08:30:00Z");
    assert_eq!(starts(future, None), "2026-05-20T11:00:00Z");
    assert_eq!(starts(future, daily()), "2026-05-20T11:00:00Z");
    assert_eq!(starts(future, at_noon()), "2026-05-20T12:00:00Z");
    assert_eq!(starts(future, by_cron()), "2026-05-21T08:30:00Z");
}

#[test]
fn a_start_at_this_moment_still_counts() {
    let ten = Schedule { hours: vec![10], ..Schedule::default() };
    for rule in [
        None,
        Some(every(3, Frequency::Minute)),
        Some(scheduled(1, Frequency::Day, ten)),
        Some(cron("0 10 * * *")),
    ] {
        assert_eq!(starts(Some(NOW), rule), NOW);
    }
}

#[test]
fn nothing_fires_after_the_end() {
    let ends = |end: &str, rule: Rule, start: Option<&str>| {
        let mut timing = timing(start, rule);
        timing.recurrence.as_mut().unwrap().end = Some(at(end));
        timing
    };
    let now = at(NOW);
    let soon = now + Span::from_secs(20);
    let start = Some("2026-05-12T11:00:00Z");
    let daily = ends("2026-05-14T11:00:00Z", every(1, Frequency::Day), start);
    assert_eq!(preview(&daily, now, soon, 10).len(), 2);
    let daily = ends("2026-05-14T10:59:59.9999999Z", every(1, Frequency::Day), start);
    assert_eq!(preview(&daily, now, soon, 10).len(), 1);
    for rule in [every(1, Frequency::Minute), scheduled(1, Frequency::Day, noon()), cron("* * * * *")] {
        for start in [None, start, Some(NOW)] {
            let passed = ends("2026-05-13T09:59:59Z", rule.clone(), start);
            assert_eq!(first(&passed, now, soon), None, "{passed:?}");
        }
    }
    assert_eq!(first(&ends("2026-05-13T10:00:19Z", every(1, Frequency::Minute), None), now, soon), None);
    assert_eq!(
        first(&ends("2026-05-13T10:00:20Z", every(1, Frequency::Minute), None), now, soon),
        Some(soon)
    );
}

#[test]
fn a_job_that_runs_once_has_no_next() {
    let mut once = timing(Some(NOW), every(1, Frequency::Day));
    once.recurrence = None;
    assert_eq!(next(&once, at(NOW), Ticks(at(NOW).0 - 1)), Some(at(NOW)));
    assert_eq!(next(&once, at(NOW), at(NOW)), None);
    assert_eq!(preview(&once, at(NOW), at(NOW), 5).len(), 1);
    assert_eq!(shortest_period(&once, at(NOW)), None);
}

#[test]
fn a_plain_job_without_a_start_drifts() {
    let plain = timing(None, every(1, Frequency::Minute));
    assert!(drifts(&plain) && drifts(&timing(None, every(2, Frequency::Month))));
    assert!(drifts(&timing(None, scheduled(1, Frequency::Day, Schedule::default()))));
    assert!(!drifts(&timing(Some(NOW), every(1, Frequency::Minute))));
    assert!(
        !drifts(&timing(None, scheduled(1, Frequency::Day, noon())))
            && !drifts(&timing(None, cron("@daily")))
    );
    let late = at("2026-05-13T10:01:07.0000003Z");
    assert_eq!(next(&plain, late, late).map(show).unwrap(), "2026-05-13T10:02:07.0000003Z");
    let now = at(NOW);
    let planned = preview(&plain, now, now + Span::from_secs(20), 3);
    assert_eq!(
        show_all(planned.iter().map(|planned| planned.at)),
        ["2026-05-13T10:00:20Z", "2026-05-13T10:01:20Z", "2026-05-13T10:02:20Z"]
    );
}

#[test]
fn a_preview_ends_with_the_count_of_the_job() {
    let mut timing = timing(Some(NOW), every(1, Frequency::Day));
    timing.recurrence.as_mut().unwrap().count = Some(3);
    assert_eq!(preview(&timing, at(NOW), at(NOW), 10).len(), 3);
    assert_eq!(preview(&timing, at(NOW), at(NOW), 2).len(), 2);
}

#[test]
fn a_minute_of_the_start_brings_its_seconds_and_a_named_one_does_not() {
    let start = "2026-05-13T10:20:30.1234567Z";
    let at_five = Schedule { hours: vec![5], ..Schedule::default() };
    assert_eq!(
        occurrences(start, scheduled(1, Frequency::Day, at_five), 1),
        ["2026-05-14T05:20:30.1234567Z"]
    );
    let past_ten = Schedule { minutes: vec![10], ..Schedule::default() };
    assert_eq!(occurrences(start, scheduled(1, Frequency::Day, past_ten), 1), ["2026-05-13T11:10:00Z"]);
    let sundays = Schedule { week_days: vec![WeekDay::Sunday], ..Schedule::default() };
    assert_eq!(
        occurrences(start, scheduled(1, Frequency::Week, sundays), 1),
        ["2026-05-17T10:20:30.1234567Z"]
    );
    // A named minute begins before the start here, so it is the next one.
    let same = Schedule { hours: vec![10], minutes: vec![20], ..Schedule::default() };
    assert_eq!(occurrences(start, scheduled(1, Frequency::Day, same), 1), ["2026-05-14T10:20:00Z"]);
}

#[test]
fn every_other_week_counts_weeks_from_monday() {
    // 2026-05-13 is a Wednesday: its week has a Sunday to come, the next one has none that counts.
    let days_of_week = Schedule { week_days: vec![WeekDay::Sunday, WeekDay::Monday], ..Schedule::default() };
    let found = days("2026-05-13T10:00:00Z", scheduled(2, Frequency::Week, days_of_week), 4);
    assert_eq!(found, ["2026-05-17", "2026-05-25", "2026-05-31", "2026-06-08"]);
}

#[test]
fn every_third_month_counts_from_the_month_of_the_start() {
    let last = Schedule { month_days: vec![-1], ..Schedule::default() };
    let found = days("2026-11-10T10:00:00Z", scheduled(3, Frequency::Month, last), 3);
    assert_eq!(found, ["2026-11-30", "2027-02-28", "2027-05-31"]);
}

#[test]
fn months_that_lack_the_day_of_the_start_are_left_out() {
    let found = days("2026-01-31T10:00:00Z", every(1, Frequency::Month), 4);
    assert_eq!(found, ["2026-01-31", "2026-03-31", "2026-05-31", "2026-07-31"]);
    let found = days("2024-02-29T10:00:00Z", every(12, Frequency::Month), 3);
    assert_eq!(found, ["2024-02-29", "2028-02-29", "2032-02-29"]);
}

#[test]
fn days_and_weekdays_of_a_month_are_both_taken() {
    let friday = Monthly { day: WeekDay::Friday, occurrence: Some(-1) };
    let both = Schedule { month_days: vec![1, 29], monthly: vec![friday], ..Schedule::default() };
    let found = days("2026-05-13T10:00:00Z", scheduled(1, Frequency::Month, both), 4);
    assert_eq!(found, ["2026-05-29", "2026-06-01", "2026-06-26", "2026-06-29"]);
}

#[test]
fn with_hours_and_minutes_a_schedule_narrows_what_is_longer_and_names_what_is_shorter() {
    let office = Schedule { hours: vec![9, 10], ..Schedule::default() };
    let found = occurrences("2026-05-13T08:50:05Z", scheduled(20, Frequency::Minute, office.clone()), 4);
    assert_eq!(
        found,
        ["2026-05-13T09:10:05Z", "2026-05-13T09:30:05Z", "2026-05-13T09:50:05Z", "2026-05-13T10:10:05Z"]
    );
    let halves = Schedule { minutes: vec![0, 30], ..office };
    let found = occurrences("2026-05-13T08:50:05Z", scheduled(2, Frequency::Hour, halves), 3);
    assert_eq!(found, ["2026-05-13T10:00:00Z", "2026-05-13T10:30:00Z", "2026-05-14T10:00:00Z"]);
}

#[test]
fn a_rule_that_names_no_day_never_fires() {
    let february = |day: i8| Schedule { month_days: vec![day], ..Schedule::default() };
    let yearly =
        |day: i8| timing(Some("2026-02-01T00:00:00Z"), scheduled(12, Frequency::Month, february(day)));
    let start = at("2026-02-01T00:00:00Z");
    for never in [timing(None, cron("0 0 31 2 *")), timing(None, cron("0 0 30 2 *")), yearly(31), yearly(-30)]
    {
        assert_eq!(next(&never, start, start), None, "{never:?}");
        assert_eq!(shortest_period(&never, start), None, "{never:?}");
    }
    assert_eq!(next(&yearly(29), start, start).map(show).unwrap(), "2028-02-29T00:00:00Z");
}

#[test]
fn rare_days_are_found_however_far_off_they_are() {
    let leap_day = timing(None, cron("0 0 29 2 *"));
    let found = next(&leap_day, Ticks(0), at("2096-03-01T00:00:00Z"));
    assert_eq!(found.map(show).unwrap(), "2104-02-29T00:00:00Z");
    let far = |rule: Rule| occurrences("2024-02-29T12:00:00Z", rule, 2).pop().unwrap();
    assert_eq!(far(every(36, Frequency::Month)), "2036-02-29T12:00:00Z");
    assert_eq!(far(every(78, Frequency::Week)), "2025-08-28T12:00:00Z");
    assert_eq!(far(every(548, Frequency::Day)), "2025-08-30T12:00:00Z");
    assert_eq!(far(every(1000, Frequency::Hour)), "2024-04-11T04:00:00Z");
    assert_eq!(far(every(1000, Frequency::Minute)), "2024-03-01T04:40:00Z");
}

#[test]
fn the_shortest_period_is_the_smallest_distance_there_ever_is() {
    let check = |timing: Timing, expected: &str| {
        let found = shortest_period(&timing, at(NOW)).map_or("none".to_owned(), |span| span.to_string());
        assert_eq!(found, expected, "{timing:?}");
    };
    let start = Some("2026-05-13T10:00:00Z");
    check(timing(None, every(1, Frequency::Minute)), "1m");
    check(timing(start, every(36, Frequency::Hour)), "36h");
    check(in_zone("Europe/Berlin", timing(start, every(1, Frequency::Day))), "1d");
    check(timing(start, every(2, Frequency::Week)), "14d");
    check(timing(start, every(1, Frequency::Month)), "28d");
    check(timing(Some("2026-05-31T10:00:00Z"), every(1, Frequency::Month)), "31d");
    let late_and_early = Schedule { hours: vec![0, 23], minutes: vec![50], ..Schedule::default() };
    check(timing(start, scheduled(1, Frequency::Day, late_and_early.clone())), "1h");
    check(timing(start, scheduled(2, Frequency::Day, late_and_early)), "23h");
    let first_and_last = Schedule { month_days: vec![1, -1], ..Schedule::default() };
    check(timing(start, scheduled(1, Frequency::Month, first_and_last.clone())), "1d");
    check(timing(start, scheduled(2, Frequency::Month, first_and_last)), "29d");
    check(
        timing(
            start,
            scheduled(3, Frequency::Hour, Schedule { minutes: vec![5, 50], ..Schedule::default() }),
        ),
        "45m",
    );
    check(timing(start, cron("*/7 * * * *")), "4m");
    check(timing(start, cron("* * * * * *")), "1s");
    check(timing(start, cron("0 0 29 2 *")), "1461d");
}

#[test]
fn a_zone_that_is_not_known_is_answered_with_the_nearest_name() {
    for name in ["Europe/Berlin", "UTC", "utc", "america/argentina/ushuaia", "Etc/GMT+5", "US/Pacific"] {
        assert_eq!(check_zone(name), Ok(()), "{name}");
    }
    let message = |name: &str| check_zone(name).unwrap_err().to_string();
    assert_eq!(message("Europe/Berln"), "unknown time zone \"Europe/Berln\"; did you mean Europe/Berlin?");
    assert_eq!(message("Berlin"), "unknown time zone \"Berlin\"; did you mean Europe/Berlin?");
    assert_eq!(
        message("America/New York"),
        "unknown time zone \"America/New York\"; did you mean America/New_York?"
    );
    let far = "unknown time zone \"W. Europe Standard Time\"; write an IANA name like Europe/Berlin";
    assert_eq!(message("W. Europe Standard Time"), far);
    assert!(check_zone("").is_err() && check_zone(&"x".repeat(100_000)).is_err());
}
