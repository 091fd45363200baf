//! When jobs fire, for every timing that the type can hold: the functions about it agree with each other.

use kernel::recurrence::{Planned, drifts, first, latest, next, preview, shortest_period};
use types::{
    Cron, Frequency, Gap, Monthly, Recurrence, Repeat, Rule, Schedule, Span, Ticks, Timing, WeekDay,
};

use crate::Target;
use crate::input::Input;

pub const TARGET: Target = Target { name: "recurrence", run, seeds, words: &[], inputs: 500 };

const ZONES: [Option<&str>; 10] = [
    None,
    Some("Europe/Berlin"),
    Some("America/New_York"),
    Some("Australia/Lord_Howe"),
    Some("Pacific/Apia"),
    Some("Asia/Kathmandu"),
    Some("Africa/Casablanca"),
    Some("America/Sao_Paulo"),
    Some("Nowhere/Atall"),
    Some("UTC"),
];
/// Occurrences that are looked at one by one.
const STEPS: usize = 6;

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let timing = timing(&mut input);
    let (anchor, from) = (moment(&mut input), moment(&mut input));
    walk(&timing, anchor, from);
    plan(&timing, anchor);
}

/// `next` goes strictly forward, also from between two occurrences; `latest` finds what it found.
fn walk(timing: &Timing, anchor: Ticks, from: Ticks) {
    let mut found: Vec<Ticks> = Vec::new();
    let mut after = from;
    while let Some(at) = next(timing, anchor, after).filter(|_| found.len() < STEPS) {
        assert!(at > after, "{at:?} is not after {after:?}: {timing:?}");
        let middle = Ticks(after.0.midpoint(at.0));
        if middle > after && middle < at {
            assert_eq!(next(timing, anchor, middle), Some(at), "from between: {timing:?}");
        }
        assert_eq!(latest(timing, anchor, after, at), Some(at), "{timing:?}");
        let earlier = found.last().copied();
        assert_eq!(latest(timing, anchor, from, Ticks(at.0 - 1)), earlier, "{timing:?}");
        let end = timing.recurrence.as_ref().and_then(|recurrence| recurrence.end);
        assert!(end.is_none_or(|end| at <= end), "{at:?} is after the end: {timing:?}");
        found.push(at);
        after = at;
    }
    // On clocks that are never set, nothing is closer than the shortest period.
    if let (None, Some(period)) = (&timing.zone, shortest_period(timing, anchor)) {
        let period = if is_stepped_by_days(timing) { Span::ZERO } else { period };
        let period = i128::from(period.as_ms()) * i128::from(Ticks::PER_MS);
        for pair in found.windows(2) {
            let apart = i128::from(pair[1].0) - i128::from(pair[0].0);
            assert!(apart >= period, "{apart} ticks apart, not {period}: {timing:?}");
        }
    }
}

/// Steps of minutes or hours on days that are named: there the kernel looks at 2000 days to find the shortest period,
/// and a shorter one may lie beyond (31 minutes on a 28th that is a Monday: 338 days are found, 161 occur once). It
/// only decides about a quota.
fn is_stepped_by_days(timing: &Timing) -> bool {
    match timing.recurrence.as_ref().map(|recurrence| &recurrence.rule) {
        Some(Rule::Every {
            frequency: Frequency::Minute | Frequency::Hour,
            schedule: Some(schedule),
            ..
        }) => {
            !(schedule.week_days.is_empty() && schedule.month_days.is_empty() && schedule.monthly.is_empty())
        }
        _ => false,
    }
}

/// A preview is what `first` and `next` say, one after another.
fn plan(timing: &Timing, now: Ticks) {
    let immediately = Ticks(now.0.saturating_add(5));
    let planned: Vec<Ticks> =
        preview(timing, now, immediately, STEPS).iter().map(|Planned { at, .. }| *at).collect();
    let count =
        timing.recurrence.as_ref().and_then(|recurrence| recurrence.count).unwrap_or(u32::MAX) as usize;
    assert!(planned.len() <= STEPS.min(count.max(if timing.recurrence.is_some() { 0 } else { 1 })));
    let beginning = first(timing, now, immediately);
    assert!(beginning.is_none_or(|at| at >= now), "the past: {timing:?}");
    if count > 0 {
        assert_eq!(planned.first().copied(), beginning, "{timing:?}");
    }
    for pair in planned.windows(2) {
        assert!(pair[0] < pair[1], "{planned:?} of {timing:?}");
        let anchor = if drifts(timing) { pair[0] } else { now };
        assert_eq!(next(timing, anchor, pair[0]), Some(pair[1]), "{timing:?}");
    }
}

pub(super) fn timing(input: &mut Input<'_>) -> Timing {
    let start = input.flag().then(|| moment(input));
    let recurrence = (!input.u8().is_multiple_of(8)).then(|| Recurrence {
        rule: rule(input),
        count: input.flag().then(|| input.u32() % 50),
        end: input.u8().is_multiple_of(4).then(|| moment(input)),
    });
    Timing {
        start,
        recurrence,
        zone: input.one_of(&ZONES).map(str::to_owned),
        gap: input.one_of(&[Gap::End, Gap::Skip]),
        repeat: input.one_of(&[Repeat::First, Repeat::Both]),
        jitter: Span::ZERO,
    }
}

fn rule(input: &mut Input<'_>) -> Rule {
    if input.u8().is_multiple_of(3) {
        return Rule::Cron(Cron {
            seconds: if input.flag() { 1 } else { input.u64() },
            minutes: input.u64(),
            hours: input.u32(),
            month_days: input.u32(),
            last_day: input.flag(),
            months: input.u16(),
            week_days: input.u8(),
            either_day: input.flag(),
        });
    }
    let interval = if input.u8().is_multiple_of(4) { input.u32() } else { u32::from(input.u8() % 32) };
    let schedule = input.flag().then(|| Schedule {
        minutes: input.list(4, |input| input.u8() % 70),
        hours: input.list(4, |input| input.u8() % 30),
        week_days: input.list(3, |input| input.one_of(&WeekDay::ALL)),
        month_days: input.list(3, |input| input.u8().cast_signed()),
        monthly: input.list(3, |input| Monthly {
            day: input.one_of(&WeekDay::ALL),
            occurrence: input.flag().then(|| (input.u8() % 14).cast_signed() - 7),
        }),
    });
    Rule::Every { frequency: input.one_of(&Frequency::ALL), interval, schedule }
}

/// Mostly between 1970 and 2106, sometimes anything.
fn moment(input: &mut Input<'_>) -> Ticks {
    match input.u8() % 8 {
        0 => Ticks(input.i64()),
        1 => Ticks(i64::from(input.u32()) * Ticks::PER_SECOND + i64::from(input.u32() % 10_000_000)),
        _ => Ticks(i64::from(input.u32()) * Ticks::PER_SECOND),
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let mut dice = crate::mutate::Dice::new(3);
    (0..40).map(|_| (0..80).map(|_| dice.draw() as u8).collect()).collect()
}
