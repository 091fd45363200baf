//! When a job fires, worked out by trying moment after moment: slow, and nothing of the kernel's calendar is used.
//! It knows the rules that plans draw, and two changes of one zone's clocks.

use kernel::job::Job;
use types::{Frequency, Gap, Repeat, Rule, Schedule, Span, Ticks, Timestamp, Timing};

use crate::plan::jobs::{BACK_MS, FORWARD_MS};

const SECOND: i64 = 10_000_000;
const HOUR: i64 = 3600 * SECOND;
const FORWARD: i64 = FORWARD_MS * 10_000;
const BACK: i64 = BACK_MS * 10_000;

/// Longer than the longest time between two occurrences of a rule that plans draw: a day, and an hour for the clocks.
const FAR: i64 = 50 * HOUR;

pub struct Oracle<'a> {
    timing: &'a Timing,
    anchor: i64,
    newest: Option<i64>,
    counted: u32,
    rhythm: Rhythm,
}

/// How instants follow one another.
enum Rhythm {
    Once,
    /// So far from one another.
    Steps(i64),
    /// At these seconds, minutes and hours of the local clock.
    Local {
        seconds: u64,
        minutes: u64,
        hours: u64,
    },
}

impl<'a> Oracle<'a> {
    pub fn of(job: &'a Job) -> Oracle<'a> {
        let timing = &job.definition.spec.timing;
        let rhythm = timing.recurrence.as_ref().map_or(Rhythm::Once, |recurrence| rhythm(&recurrence.rule));
        let progress = &job.progress;
        let newest = progress.newest.map(|newest| newest.0);
        Oracle { timing, anchor: progress.anchor.0, newest, counted: progress.counted, rhythm }
    }

    /// What a job that wakes up at `wall` has planned first.
    pub fn first(&self, wall: Timestamp) -> Option<Ticks> {
        let now = wall.0 * 10_000;
        let start = self.timing.start.map(|start| start.0);
        let Some(recurrence) = &self.timing.recurrence else {
            let at = start.filter(|start| *start >= now).unwrap_or(now);
            let at = self.newest.map_or(at, |newest| at.max(newest + 1));
            return (self.counted == 0).then_some(Ticks(at));
        };
        if recurrence.count.is_some_and(|count| self.counted >= count) {
            return None;
        }
        let first = match start {
            Some(start) if start >= now => self.not_before(start),
            None if matches!(recurrence.rule, Rule::Every { .. }) => self.within_end(now),
            _ => self.not_before(now + 1),
        };
        match (self.newest.filter(|newest| first.is_some_and(|first| first <= *newest)), &self.rhythm) {
            (Some(newest), Rhythm::Steps(step)) if self.drifts() => self.within_end(newest + step).map(Ticks),
            (Some(newest), _) => self.not_before(newest + 1).map(Ticks),
            (None, _) => first.map(Ticks),
        }
    }

    /// What comes after an occurrence that was fired or left out at `wall`.
    pub fn following(&self, occurrence: Ticks, wall: Timestamp, counted: u32) -> Option<Ticks> {
        let recurrence = self.timing.recurrence.as_ref()?;
        if recurrence.count.is_some_and(|count| counted >= count) {
            return None;
        }
        match self.rhythm {
            Rhythm::Steps(step) if self.drifts() => {
                self.within_end(occurrence.0.max(wall.0 * 10_000) + step).map(Ticks)
            }
            _ => self.not_before(occurrence.0 + 1).map(Ticks),
        }
    }

    /// What comes after those that were missed by more than `grace` are left out.
    pub fn after_missed(&self, wall: Timestamp, grace: Span) -> Option<Ticks> {
        self.timing.recurrence.as_ref()?;
        if self.drifts() {
            return self.within_end(wall.0 * 10_000).map(Ticks);
        }
        self.not_before((wall - grace).0 * 10_000 + 1).map(Ticks)
    }

    /// The newest instant from `planned` on that is not after `wall`.
    pub fn newest(&self, planned: Ticks, wall: Timestamp) -> Ticks {
        let end = self.end().min(wall.0 * 10_000);
        let newest = match self.rhythm {
            Rhythm::Once => planned.0,
            Rhythm::Steps(step) => self.base() + (end - self.base()).div_euclid(step) * step,
            Rhythm::Local { .. } => {
                let mut at = end.div_euclid(SECOND) * SECOND;
                while at > planned.0 && !self.is_instant(at) {
                    at -= SECOND;
                }
                at
            }
        };
        Ticks(newest.max(planned.0))
    }

    fn drifts(&self) -> bool {
        self.timing.start.is_none() && matches!(self.rhythm, Rhythm::Steps(_))
    }

    /// Where the rule begins: local times without a start have no beginning.
    fn base(&self) -> i64 {
        let anchor = if matches!(self.rhythm, Rhythm::Local { .. }) { i64::MIN } else { self.anchor };
        self.timing.start.map_or(anchor, |start| start.0)
    }

    fn end(&self) -> i64 {
        let end = self.timing.recurrence.as_ref().and_then(|recurrence| recurrence.end);
        end.map_or(i64::MAX, |end| end.0)
    }

    fn within_end(&self, at: i64) -> Option<i64> {
        (at <= self.end()).then_some(at)
    }

    /// The first instant of the rule at `from` or later.
    fn not_before(&self, from: i64) -> Option<i64> {
        let from = from.max(self.base());
        match self.rhythm {
            Rhythm::Once => None,
            Rhythm::Steps(step) => {
                let steps = (from - self.base() + step - 1).div_euclid(step);
                self.within_end(self.base() + steps * step)
            }
            Rhythm::Local { seconds, .. } => {
                // Rules without seconds are tried minute by minute, because theirs may be hours away.
                let unit = if seconds == 1 { 60 * SECOND } else { SECOND };
                let mut at = (from + unit - 1).div_euclid(unit) * unit;
                let last = self.end().min(from + FAR);
                while at <= last {
                    if self.is_instant(at) {
                        return Some(at);
                    }
                    at += unit;
                }
                None
            }
        }
    }

    /// Whether a local rule names the instant `at`.
    fn is_instant(&self, at: i64) -> bool {
        if self.timing.zone.is_none() {
            return self.names(at);
        }
        let summer = (FORWARD..BACK).contains(&at);
        let local = at + if summer { 2 * HOUR } else { HOUR };
        // The hour from 2 to 3 is shown a second time, or not at all.
        let repeated = (BACK..BACK + HOUR).contains(&at) && self.timing.repeat == Repeat::First;
        let moved = at == FORWARD && self.timing.gap == Gap::End && {
            let left_out = (0..3600).map(|second| FORWARD + HOUR + second * SECOND);
            left_out.into_iter().any(|local| self.names(local))
        };
        moved || (self.names(local) && !repeated)
    }

    fn names(&self, local: i64) -> bool {
        let Rhythm::Local { seconds, minutes, hours } = self.rhythm else { return false };
        let of_day = local.div_euclid(SECOND).rem_euclid(86_400);
        let has = |set: u64, value: i64| set >> value & 1 == 1;
        has(seconds, of_day % 60) && has(minutes, of_day / 60 % 60) && has(hours, of_day / 3600)
    }
}

fn rhythm(rule: &Rule) -> Rhythm {
    match rule {
        Rule::Cron(cron) => {
            Rhythm::Local { seconds: cron.seconds, minutes: cron.minutes, hours: cron.hours.into() }
        }
        Rule::Every { frequency, interval, schedule } => match (frequency, schedule) {
            (Frequency::Minute, None) => Rhythm::Steps(60 * SECOND * i64::from(*interval)),
            (Frequency::Hour, None) => Rhythm::Steps(HOUR * i64::from(*interval)),
            (Frequency::Day, Some(Schedule { hours, minutes, .. })) if *interval == 1 => {
                let set = |values: &[u8]| values.iter().fold(0, |set, value| set | 1 << value);
                Rhythm::Local { seconds: 1, minutes: set(minutes), hours: set(hours) }
            }
            _ => unreachable!("no plan draws such a rule"),
        },
    }
}
