//! Random rules, zones and moments: the kernel agrees with the slow reading on every occurrence.

use std::cell::Cell;

use kernel::recurrence::{first, latest, next, preview, shortest_period};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::{select, subsequence};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use proptest::{collection, option};
use types::{
    Cron, Frequency, Gap, Monthly, Recurrence, Repeat, Rule, Schedule, Span, Ticks, Timing, WeekDay,
};

use crate::slow::{Slow, moment, ticks, zone};
use crate::{every, in_zone, show, show_all, timing};

/// Zones whose clocks are set by an hour, by less or by more, at midnight, in winter, twice around Ramadan, across the
/// date line, and never.
const ZONES: [&str; 18] = [
    "UTC",
    "Europe/Berlin",
    "Europe/Dublin",
    "America/New_York",
    "America/St_Johns",
    "America/Sao_Paulo",
    "America/Havana",
    "America/Scoresbysund",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Gaza",
    "Asia/Tehran",
    "Asia/Kathmandu",
    "Asia/Pyongyang",
    "Antarctica/Troll",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Chatham",
];

fn schedules(frequency: Frequency) -> impl Strategy<Value = Schedule> {
    let some = |high: u8| {
        prop_oneof![
            2 => Just(Vec::new()),
            3 => collection::vec(0..high, 1..4),
            1 => Just((0..high).step_by(5).collect::<Vec<u8>>()),
        ]
    };
    let month_days = collection::vec(prop_oneof![-31..=-1i8, 1..=31i8], 0..3);
    let monthly = (select(WeekDay::ALL.to_vec()), option::of(prop_oneof![-5..=-1i8, 1..=5i8]))
        .prop_map(|(day, occurrence)| Monthly { day, occurrence });
    let week_days = subsequence(WeekDay::ALL.to_vec(), 0..=7);
    let parts = (some(60), some(24), week_days, month_days, collection::vec(monthly, 0..3), 0..20u8);
    parts.prop_filter_map("names nothing", move |(minutes, hours, week_days, month_days, monthly, odd)| {
        let mut schedule = Schedule { minutes, hours, week_days, month_days, monthly };
        // Mostly what a document may say: days by the week for weeks, by the month for months.
        if frequency != Frequency::Week && odd > 0 {
            schedule.week_days.clear();
        }
        if frequency != Frequency::Month && odd > 1 {
            schedule.month_days.clear();
            schedule.monthly.clear();
        }
        (schedule != Schedule::default()).then_some(schedule)
    })
}

fn intervals(frequency: Frequency) -> impl Strategy<Value = u32> {
    let most: u32 = match frequency {
        Frequency::Minute | Frequency::Hour => 1000,
        Frequency::Day => 548,
        Frequency::Week => 78,
        Frequency::Month => 18,
    };
    prop_oneof![3 => Just(1), 3 => 1..8u32, 1 => 1..=most]
}

fn crons() -> impl Strategy<Value = Cron> {
    let field = |low: u8, high: u8| {
        prop_oneof![
            3 => Just("*".to_owned()),
            3 => collection::vec(low..=high, 1..4).prop_map(|values| {
                values.iter().map(u8::to_string).collect::<Vec<_>>().join(",")
            }),
            1 => (2..7u8).prop_map(|step| format!("*/{step}")),
            1 => (low..=high).prop_map(move |from| format!("{from}-{high}")),
        ]
    };
    let days = prop_oneof![5 => field(1, 31), 1 => Just("L".to_owned()), 1 => Just("15,L".to_owned())];
    let seconds = prop_oneof![4 => Just("0".to_owned()), 1 => field(0, 59)];
    (seconds, field(0, 59), field(0, 23), days, field(1, 12), field(0, 6))
        .prop_map(|(s, m, h, day, month, week)| format!("{s} {m} {h} {day} {month} {week}").parse().unwrap())
}

fn rules() -> impl Strategy<Value = Rule> {
    let plain = select(Frequency::ALL[2..].to_vec()).prop_flat_map(|frequency| {
        intervals(frequency).prop_map(move |interval| Rule::Every { frequency, interval, schedule: None })
    });
    let scheduled = select(Frequency::ALL.to_vec()).prop_flat_map(|frequency| {
        (intervals(frequency), schedules(frequency)).prop_map(move |(interval, schedule)| Rule::Every {
            frequency,
            interval,
            schedule: Some(schedule),
        })
    });
    prop_oneof![1 => plain, 4 => scheduled, 2 => crons().prop_map(Rule::Cron)]
}

/// 1995 to 2045, to the tick.
fn moments() -> impl Strategy<Value = Ticks> {
    prop_oneof![
        (788_918_400..2_366_841_600i64, 0..Ticks::PER_SECOND)
            .prop_map(|(second, tick)| Ticks(second * Ticks::PER_SECOND + tick)),
        (788_918_400 / 60..2_366_841_600 / 60i64).prop_map(|minute| Ticks(minute * 60 * Ticks::PER_SECOND)),
    ]
}

fn timings(zones: &'static [&'static str]) -> impl Strategy<Value = Timing> {
    let gap = select(vec![Gap::End, Gap::Skip]);
    let repeat = select(vec![Repeat::First, Repeat::Both]);
    let parts = (rules(), moments(), select(zones.to_vec()), gap, repeat, any::<bool>());
    parts.prop_map(|(rule, start, zone, gap, repeat, starts)| Timing {
        start: starts.then_some(start),
        recurrence: Some(Recurrence { rule, count: None, end: None }),
        zone: Some(zone.to_owned()),
        gap,
        repeat,
        jitter: Span::ZERO,
    })
}

/// A moment up to some hours away from when the clocks of the zone are set for the first time after `at`, or `at`.
fn near_a_change(name: &str, at: Ticks, away: i64) -> Ticks {
    let change = zone(name).following(moment(at)).next().map(|change| ticks(change.timestamp()));
    Ticks(change.unwrap_or(at).0 + away * Ticks::PER_SECOND)
}

/// The same cases each time; others with PROPTEST_RNG_SEED.
fn config(cases: u32) -> Config {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng_seed = match config.rng_seed {
        RngSeed::Random => RngSeed::Fixed(2026),
        fixed => fixed,
    };
    Config { rng_seed, ..config }
}

fn days_to_look_at(timing: &Timing) -> u32 {
    match &timing.recurrence.as_ref().unwrap().rule {
        Rule::Every { frequency, interval, .. } => match frequency {
            Frequency::Minute | Frequency::Hour => 60,
            Frequency::Day => 20 + 3 * interval,
            Frequency::Week => 40 + 21 * interval,
            Frequency::Month => 200 + 65 * interval,
        },
        Rule::Cron(_) => 400,
    }
}

/// Holds `next`, `latest`, `first` and `shortest_period` against the slow reading; returns how many occurrences.
fn agree(timing: &Timing, anchor: Ticks, after: Ticks) -> usize {
    let (expected, complete) = Slow::new(timing, anchor).after(after, days_to_look_at(timing), 120);
    let mut found = Vec::new();
    let mut last = after;
    while let Some(at) = next(timing, anchor, last).filter(|at| *at <= complete) {
        found.push(at);
        last = at;
    }
    assert_eq!(show_all(found.clone()), show_all(expected.clone()));
    assert_eq!(
        latest(timing, anchor, after, complete),
        expected.last().copied().filter(|at| *at <= complete)
    );
    if let [.., one, other] = expected[..] {
        assert_eq!(latest(timing, anchor, after, Ticks(other.0 - 1)), Some(one));
        assert_eq!(latest(timing, anchor, one, other), Some(other));
        assert_eq!(latest(timing, anchor, one, Ticks(other.0 - 1)), None);
    }
    if timing.start.is_some_and(|start| start < after) {
        let at = first(timing, after, after);
        assert_eq!(at.filter(|at| *at <= complete), expected.first().copied());
        let planned = preview(timing, after, after, 5);
        assert!(
            planned
                .iter()
                .map(|planned| planned.at)
                .filter(|at| *at <= complete)
                .eq(expected.iter().copied().take(5))
        );
    }
    if timing.zone.as_deref() == Some("UTC") {
        let period = shortest_period(timing, anchor).map(|span| span.as_ms() as i64 * Ticks::PER_MS);
        for pair in expected.windows(2) {
            let apart = pair[1].0 - pair[0].0;
            assert!(period.is_some_and(|period| period <= apart), "{period:?} is more than {apart}");
        }
    }
    expected.len()
}

/// Runs random cases, each of which tells how many occurrences it looked at; at least `least` in all.
fn hold<S: Strategy>(cases: u32, least: usize, strategy: S, check: impl Fn(S::Value) -> usize) {
    let config = config(cases);
    println!("seed {:?}", config.rng_seed);
    let looked_at = Cell::new(0);
    let run = |case| {
        looked_at.set(looked_at.get() + check(case));
        Ok(())
    };
    TestRunner::new(config).run(&strategy, run).unwrap_or_else(|error| panic!("{error}"));
    println!("{cases} rules, {} occurrences", looked_at.get());
    assert!(looked_at.get() > least, "only {} occurrences", looked_at.get());
}

#[test]
fn in_utc_every_occurrence_is_the_one_of_the_slow_reading() {
    hold(800, 25_000, (timings(&ZONES[..1]), moments(), 0..3000i64), |(timing, anchor, days)| {
        let base = timing.start.unwrap_or(anchor);
        agree(&timing, anchor, Ticks(base.0 + days * 86_400 * Ticks::PER_SECOND - 1))
    });
}

#[test]
fn in_zones_every_occurrence_is_the_one_of_the_slow_reading() {
    let strategy = (timings(&ZONES), moments(), 0..3000i64, -150_000..150_000i64);
    hold(2000, 50_000, strategy, |(timing, anchor, days, away)| {
        let base = timing.start.unwrap_or(anchor);
        let after = Ticks(base.0 + days * 86_400 * Ticks::PER_SECOND);
        agree(&timing, anchor, near_a_change(timing.zone.as_deref().unwrap(), after, away))
    });
}

#[test]
fn the_grid_of_elapsed_time_is_the_one_that_is_walked_step_by_step() {
    let units = select(vec![(Frequency::Minute, 60), (Frequency::Hour, 3600)]);
    let strategy = (units, 1..=1000u32, moments(), -1000..5000i64, select(ZONES.to_vec()));
    hold(1500, 1000, strategy, |((frequency, seconds), interval, start, away, zone)| {
        let timing = in_zone(zone, timing(Some(&show(start)), every(interval, frequency)));
        let step = i64::from(interval) * seconds * Ticks::PER_SECOND;
        let after = Ticks(start.0 + away * step / 100);
        let mut expected = start;
        let mut before = None;
        while expected <= after {
            before = Some(expected);
            expected = Ticks(expected.0 + step);
        }
        assert_eq!(next(&timing, Ticks(0), after), Some(expected));
        assert_eq!(latest(&timing, Ticks(0), Ticks(start.0 - 1), after), before);
        assert_eq!(latest(&timing, Ticks(0), after, expected), Some(expected));
        assert_eq!(shortest_period(&timing, Ticks(0)).unwrap().as_ms() as i64 * Ticks::PER_MS, step);
        1
    });
}
