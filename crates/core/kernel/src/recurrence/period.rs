//! The smallest distance between two occurrences of a rule, for quotas.

use types::{Rule, Span, Ticks, Timing};

use super::calendar::{DAY_SECONDS, DAY_TICKS, TICKS, date, first_day};
use super::days::bits;
use super::pattern::{MONTHS_MAX, Pattern};
use super::zone::Clocks;
use super::{BOUNDS, NOTHING, elapsed, named};

/// The smallest distance between two occurrences; `None` when there are never two.
///
/// It is measured on a clock that is never set, so that it is the same in every zone: a daily job has a period of
/// 24 hours, though some of its days may have 23. The anchor is that of `next`.
pub fn shortest_period(timing: &Timing, anchor: Ticks) -> Option<Span> {
    let rule = &timing.recurrence.as_ref()?.rule;
    let seconds = match rule {
        Rule::Cron(cron) => shortest(&Pattern::of_cron(cron), 0),
        Rule::Every { frequency, interval, schedule } => match (elapsed(*frequency), named(schedule)) {
            (Some(unit), None) => Some(unit / TICKS * i64::from((*interval).max(1))),
            (_, schedule) => {
                let base = timing.start.unwrap_or(anchor).0.clamp(BOUNDS.0, BOUNDS.1);
                let anchor = Clocks::of(timing.zone.as_deref()).local(base);
                shortest(&Pattern::of(*frequency, *interval, schedule.unwrap_or(&NOTHING), anchor), anchor)
            }
        },
    };
    seconds.and_then(|seconds| u64::try_from(seconds).ok()).map(Span::from_secs)
}

fn shortest(pattern: &Pattern<'_>, anchor: i64) -> Option<i64> {
    if pattern.same_times_every_day() { by_days(pattern, anchor) } else { by_slots(pattern, anchor) }
}

/// The times are the same every day: so it is the smallest distance within a day, or that from the last time of a
/// day to the first of the nearest day that follows it.
fn by_days(pattern: &Pattern<'_>, anchor: i64) -> Option<i64> {
    let first = pattern.time_of_day(0, 0)?;
    let (mut last, mut smallest) = (first, None);
    while let Some(time) = pattern.time_of_day(0, last + 1) {
        smallest = Some(smallest.map_or(time - last, |least: i64| least.min(time - last)));
        last = time;
        if smallest == Some(1) {
            // Nothing is closer than a second, and a day may have 86,400 of them.
            return smallest;
        }
    }
    let days = nearest_days(pattern, anchor);
    // Without any day there are no times either.
    days.any.then_some(())?;
    let overnight = days.apart.map(|days| days * DAY_SECONDS + first - last);
    [smallest, overnight].into_iter().flatten().min()
}

struct NearestDays {
    any: bool,
    apart: Option<i64>,
}

/// Two years that follow each other are of 21 kinds, by their leap days and weekdays. 28 years show them all, unless
/// a century without a leap day lies between; so twice as many do.
const KINDS_OF_YEARS_MONTHS: i64 = 2 * 28 * 12;

/// How near two days of the rule are to each other, over as many months as it takes the calendar to repeat itself,
/// or to show all that can come within a year.
fn nearest_days(pattern: &Pattern<'_>, anchor: i64) -> NearestDays {
    let mut month = pattern.days.reachable(date(anchor.div_euclid(DAY_TICKS)).month);
    let mut last = None;
    let mut apart: Option<i64> = None;
    let short = pattern.days.takes_every_period();
    for seen in 0..=MONTHS_MAX {
        if short && seen > KINDS_OF_YEARS_MONTHS && apart.is_some_and(|days| days <= 365) {
            break;
        }
        for of_month in bits(pattern.days.of_month(month)) {
            let day = first_day(month) + i64::from(of_month);
            apart = last.map(|last| apart.map_or(day - last, |least| least.min(day - last)));
            last = Some(day);
            if apart == Some(1) {
                return NearestDays { any: true, apart };
            }
        }
        month = pattern.days.reachable(month + 1);
    }
    NearestDays { any: last.is_some(), apart }
}

/// Steps of hours and minutes: their times differ from day to day. A cycle of n hours or minutes meets the same time of
/// day after at most 24 or 1440 steps. So with n up to 1000 all is seen after 1000 days, and after this many slots (60
/// for each hour).
fn by_slots(pattern: &Pattern<'_>, anchor: i64) -> Option<i64> {
    const SLOTS_MAX: usize = 2 * 24 * 60;
    const LENGTH_MAX: i64 = 2 * 1000 * DAY_TICKS;
    let first = pattern.at_or_after(anchor)?;
    let (mut last, mut smallest) = (first, None);
    for _ in 0..SLOTS_MAX {
        let Some(slot) = pattern.at_or_after(last + 1) else { break };
        let apart = (slot - last) / TICKS;
        smallest = Some(smallest.map_or(apart, |least: i64| least.min(apart)));
        last = slot;
        if last - first > LENGTH_MAX {
            break;
        }
    }
    smallest
}
