//! When a job fires: which moments follow from its timing. Pure; the clock is an argument.
//!
//! Minutes and hours without a schedule are elapsed time. All else is read by the local clocks of the zone: the
//! rule names local times (`pattern`, `days`), and the clocks turn them into moments (`wall`, `zone`). The rules,
//! and what we chose where Azure Scheduler was silent, are in docs/reference/recurrence.md.

mod calendar;
mod days;
mod pattern;
mod period;
mod wall;
mod zone;

#[cfg(test)]
mod tests;

use types::{Frequency, Recurrence, Rule, Schedule, Ticks, Timing};

pub use calendar::Local;
pub use period::shortest_period;
pub use wall::{Change, SkippedTime};
pub use zone::{UnknownZone, check_zone};

use calendar::{HOUR_SECONDS, TICKS};
use pattern::Pattern;
use wall::Wall;
use zone::Clocks;

/// An occurrence to come, and what a change of the clocks did to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    pub at: Ticks,
    pub change: Option<Change>,
}

/// The first occurrence of a job that is created, edited or enabled at `now`; `None` when there is none.
///
/// A job that has nothing to wait for fires at `immediately`, which lies shortly after `now`.
pub fn first(timing: &Timing, now: Ticks, immediately: Ticks) -> Option<Ticks> {
    let Some(recurrence) = &timing.recurrence else {
        return Some(timing.start.filter(|start| *start >= now).unwrap_or(immediately));
    };
    match (timing.start, &recurrence.rule) {
        // What begins now or later may fire at its very start; what began earlier, only after now.
        (Some(start), _) if start >= now => next(timing, start, Ticks(start.0.saturating_sub(1))),
        (Some(_), _) | (None, Rule::Cron(_)) => next(timing, now, now),
        (None, Rule::Every { .. }) => {
            Some(immediately).filter(|at| recurrence.end.is_none_or(|end| *at <= end))
        }
    }
}

/// The first occurrence strictly after a moment; `None` when the rule ends before it, or names no moment at all.
///
/// The rule is anchored at the job's start, or at `anchor` when it has none: that is the job's creation, and for a
/// job that drifts the moment at which it last ran. How many occurrences there were is not counted here.
pub fn next(timing: &Timing, anchor: Ticks, after: Ticks) -> Option<Ticks> {
    match &timing.recurrence {
        None => timing.start.filter(|start| *start > after),
        Some(recurrence) => Occurrences::of(timing, recurrence, anchor).after(after.0).map(Ticks),
    }
}

/// Whether each occurrence is counted from when the one before it really ran.
pub fn drifts(timing: &Timing) -> bool {
    let plain = timing.recurrence.as_ref().is_some_and(|recurrence| match &recurrence.rule {
        Rule::Every { schedule, .. } => named(schedule).is_none(),
        Rule::Cron(_) => false,
    });
    plain && timing.start.is_none()
}

/// The newest occurrence after `after` and not after `until`. The anchor is that of `next`.
pub fn latest(timing: &Timing, anchor: Ticks, after: Ticks, until: Ticks) -> Option<Ticks> {
    match &timing.recurrence {
        None => timing.start.filter(|start| *start > after && *start <= until),
        Some(recurrence) => Occurrences::of(timing, recurrence, anchor).latest(after.0, until.0).map(Ticks),
    }
}

/// The first occurrences of a job that is created at `now`, if each runs on time: at most `most`, and not more than
/// the job's own count.
pub fn preview(timing: &Timing, now: Ticks, immediately: Ticks, most: usize) -> Vec<Planned> {
    let count = timing.recurrence.as_ref().and_then(|recurrence| recurrence.count);
    let most = count.map_or(most, |count| most.min(usize::try_from(count).unwrap_or(usize::MAX)));
    let mut planned: Vec<Planned> = Vec::new();
    let mut coming = first(timing, now, immediately);
    while let Some(at) = coming.filter(|_| planned.len() < most) {
        // A job without a start fires first because it was created, whatever its rule says.
        let by_rule = timing.start.is_some() || !planned.is_empty() || is_cron(timing);
        let anchor = planned.last().filter(|_| drifts(timing)).map_or(now, |last| last.at);
        planned.push(Planned { at, change: change(timing, anchor, at).filter(|_| by_rule) });
        let anchor = if drifts(timing) { at } else { now };
        coming = next(timing, anchor, at);
    }
    planned
}

/// What a change of the clocks did to the occurrence `at`. The anchor is that of `next`.
pub fn change(timing: &Timing, anchor: Ticks, at: Ticks) -> Option<Change> {
    let recurrence = timing.recurrence.as_ref()?;
    match Occurrences::of(timing, recurrence, anchor).kind {
        Kind::Elapsed { .. } => None,
        Kind::Calendar { wall, .. } => wall.change(at.0),
    }
}

/// The local times after `after` and not after `until` that a change of the clocks takes away from a job: at most
/// `most` of them. The anchor is that of `next`.
pub fn skipped_times(
    timing: &Timing,
    anchor: Ticks,
    after: Ticks,
    until: Ticks,
    most: usize,
) -> Vec<SkippedTime> {
    let Some(recurrence) = &timing.recurrence else { return Vec::new() };
    let occurrences = Occurrences::of(timing, recurrence, anchor);
    match &occurrences.kind {
        Kind::Elapsed { .. } => Vec::new(),
        Kind::Calendar { wall, .. } => {
            wall.skipped_times(after.0.max(occurrences.base), until.0.min(occurrences.end), most)
        }
    }
}

/// The occurrences of one rule with its anchor. Times are ticks.
struct Occurrences<'a> {
    /// No occurrence before this.
    base: i64,
    /// No occurrence after this.
    end: i64,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Elapsed {
        step: i64,
    },
    Calendar {
        wall: Wall<'a>,
        /// There is no schedule: the base is itself an occurrence.
        plain: bool,
    },
}

/// The first moments of the year 1 and of the last day but one of 9999: beyond, there are no occurrences.
const BOUNDS: (i64, i64) = (-62_135_596_800 * TICKS, 253_402_128_000 * TICKS);

/// A schedule that names nothing.
static NOTHING: Schedule = Schedule {
    minutes: Vec::new(),
    hours: Vec::new(),
    week_days: Vec::new(),
    month_days: Vec::new(),
    monthly: Vec::new(),
};

impl<'a> Occurrences<'a> {
    fn of(timing: &'a Timing, recurrence: &'a Recurrence, anchor: Ticks) -> Occurrences<'a> {
        let base = timing.start.unwrap_or(anchor).0.clamp(BOUNDS.0, BOUNDS.1);
        let end = recurrence.end.map_or(BOUNDS.1, |end| end.0.min(BOUNDS.1));
        Occurrences { base, end, kind: Kind::of(timing, &recurrence.rule, base) }
    }

    fn after(&self, after: i64) -> Option<i64> {
        let before_base = after < self.base;
        let found = match &self.kind {
            Kind::Elapsed { .. } | Kind::Calendar { plain: true, .. } if before_base => Some(self.base),
            Kind::Elapsed { step } => {
                let steps = (i128::from(after) - i128::from(self.base)) / i128::from(*step) + 1;
                i64::try_from(i128::from(self.base) + steps * i128::from(*step)).ok()
            }
            Kind::Calendar { wall, .. } => wall.after(after.clamp(self.base - 1, BOUNDS.1)),
        };
        found.filter(|at| *at <= self.end)
    }

    fn latest(&self, after: i64, until: i64) -> Option<i64> {
        let mut high = until.min(self.end);
        let mut low = self.after(after).filter(|at| *at <= high)?;
        if let Kind::Elapsed { step } = self.kind {
            return Some(high - (high - low) % step);
        }
        // `low` is an occurrence, and the newest is not before it; after `high` there is none that counts.
        while let Some(next) = self.after(low).filter(|at| *at <= until) {
            low = next;
            let middle = low + (high - low) / 2;
            match self.after(middle).filter(|at| *at <= until) {
                Some(later) => low = later,
                None => high = middle,
            }
        }
        Some(low)
    }
}

impl<'a> Kind<'a> {
    fn of(timing: &'a Timing, rule: &'a Rule, base: i64) -> Kind<'a> {
        let (pattern, clocks, plain) = match rule {
            Rule::Cron(cron) => (Pattern::of_cron(cron), Clocks::of(timing.zone.as_deref()), false),
            Rule::Every { frequency, interval, schedule } => {
                let schedule = named(schedule);
                if let (Some(unit), None) = (elapsed(*frequency), schedule) {
                    return Kind::Elapsed { step: unit.saturating_mul(i64::from((*interval).max(1))) };
                }
                let clocks = Clocks::of(timing.zone.as_deref());
                let anchor = clocks.local(base);
                let pattern = Pattern::of(*frequency, *interval, schedule.unwrap_or(&NOTHING), anchor);
                (pattern, clocks, schedule.is_none())
            }
        };
        Kind::Calendar { wall: Wall { pattern, clocks, gap: timing.gap, repeat: timing.repeat }, plain }
    }
}

/// The unit of a frequency that counts elapsed time, in ticks.
fn elapsed(frequency: Frequency) -> Option<i64> {
    match frequency {
        Frequency::Minute => Some(60 * TICKS),
        Frequency::Hour => Some(HOUR_SECONDS * TICKS),
        Frequency::Day | Frequency::Week | Frequency::Month => None,
    }
}

/// A schedule that names something; an empty one is as good as none.
fn named(schedule: &Option<Schedule>) -> Option<&Schedule> {
    schedule.as_ref().filter(|schedule| **schedule != NOTHING)
}

fn is_cron(timing: &Timing) -> bool {
    timing.recurrence.as_ref().is_some_and(|recurrence| matches!(recurrence.rule, Rule::Cron(_)))
}
