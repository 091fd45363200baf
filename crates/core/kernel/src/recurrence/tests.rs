//! Limits of the search and of the type: what no document says, but a state might hold.

use types::{Cron, Frequency, Gap, Recurrence, Repeat, Rule, Schedule, Ticks, Timing};

use super::{first, latest, next, preview, shortest_period};

fn timing(rule: Rule) -> Timing {
    let recurrence = Some(Recurrence { rule, count: None, end: None });
    let (gap, repeat, jitter) = (Gap::End, Repeat::First, types::Span::ZERO);
    Timing { start: None, recurrence, zone: None, gap, repeat, jitter }
}

#[test]
fn every_value_that_the_type_can_hold_yields_an_answer() {
    let odd =
        Schedule { hours: vec![99], minutes: vec![200], month_days: vec![0, 99, -99], ..Schedule::default() };
    let schedules = [None, Some(Schedule::default()), Some(odd)];
    let cron = Cron {
        seconds: u64::MAX,
        minutes: u64::MAX,
        hours: u32::MAX,
        month_days: u32::MAX,
        last_day: true,
        months: u16::MAX,
        week_days: u8::MAX,
        either_day: true,
    };
    let mut rules = vec![Rule::Cron(cron), Rule::Cron(Cron { months: 0, ..cron })];
    for frequency in Frequency::ALL {
        for interval in [0, 1, u32::MAX] {
            rules.extend(schedules.iter().map(|schedule| Rule::Every {
                frequency,
                interval,
                schedule: schedule.clone(),
            }));
        }
    }
    let moments =
        [i64::MIN, -62_135_596_800 * Ticks::PER_SECOND, -1, 0, 253_402_300_799 * Ticks::PER_SECOND, i64::MAX];
    for rule in rules {
        for zone in [None, Some("Europe/Berlin"), Some("Nowhere/Atall")] {
            for (at, start) in moments.iter().flat_map(|at| moments.map(|start| (Ticks(*at), Ticks(start)))) {
                let mut timing = timing(rule.clone());
                timing.zone = zone.map(str::to_owned);
                let found = next(&timing, start, at);
                assert!(found.is_none_or(|found| found > at), "{timing:?}");
                latest(&timing, start, start, at);
                timing.start = Some(start);
                first(&timing, at, at);
                preview(&timing, at, at, 3);
            }
        }
        shortest_period(&timing(rule), Ticks(i64::MAX));
    }
}

/// Its slots are 6979 days apart: to look at as many as usual would lead far beyond the calendar.
#[test]
fn the_shortest_period_of_a_rare_rule_is_found_within_the_calendar() {
    let mondays = Schedule { hours: vec![3], week_days: vec![types::WeekDay::Monday], ..Schedule::default() };
    let rule = Rule::Every { frequency: Frequency::Hour, interval: 997, schedule: Some(mondays) };
    // A span is at most ten years.
    assert_eq!(shortest_period(&timing(rule), Ticks(0)), Some(types::Span::from_secs(3650 * 86_400)));
}
