//! Which days a rule names, as a set of bits per month: bit n stands for day n.

use types::{Cron, Frequency, Monthly, Schedule};

use super::calendar::{Date, date, days_in, first_day, week, week_day};

/// A rule for days. A day counts when all of it agrees.
#[derive(Debug)]
pub(super) struct Days<'a> {
    /// Every n-th day, week or month, from the period that holds the anchor.
    pub step: DayStep,
    /// Bits 1 to 12.
    months: u16,
    week_days: u8,
    /// `None`: every day of the month will do.
    in_month: Option<InMonth<'a>>,
    /// The day of the week or the day of the month decides, whichever agrees.
    either: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum DayStep {
    Day { every: i64, from: i64 },
    Week { every: i64, from: i64 },
    Month { every: i64, from: i64 },
}

#[derive(Debug)]
struct InMonth<'a> {
    /// Bit n: the n-th day.
    from_start: u32,
    /// Bit n: the n-th day from the end.
    from_end: u32,
    monthly: &'a [Monthly],
}

const ALL_WEEK: u8 = 0x7f;
const ALL_MONTHS: u16 = 0x1ffe;
const EVERY_DAY: DayStep = DayStep::Day { every: 1, from: 0 };

impl<'a> Days<'a> {
    /// The days of a recurrence whose first period holds the day `anchor`.
    pub fn of(frequency: Frequency, interval: i64, schedule: &'a Schedule, anchor: i64) -> Days<'a> {
        let Date { month, day } = date(anchor);
        let listed = !schedule.month_days.is_empty() || !schedule.monthly.is_empty();
        let mut week_days = schedule.week_days.iter().fold(0, |set, day| set | 1 << (*day as u8));
        let mut in_month = listed.then(|| InMonth::of(schedule));
        if week_days == 0 {
            week_days = ALL_WEEK;
            // The one day of a period that nothing names is the anchor's.
            match frequency {
                Frequency::Week if !listed => week_days = 1 << week_day(anchor),
                Frequency::Month if !listed => {
                    in_month = Some(InMonth { from_start: 1 << day, from_end: 0, monthly: &[] });
                }
                _ => {}
            }
        }
        let step = match frequency {
            Frequency::Day => DayStep::Day { every: interval, from: anchor },
            Frequency::Week => DayStep::Week { every: interval, from: week(anchor) },
            Frequency::Month => DayStep::Month { every: interval, from: month },
            Frequency::Minute | Frequency::Hour => EVERY_DAY,
        };
        Days { step, months: ALL_MONTHS, week_days, in_month, either: false }
    }

    pub fn of_cron(cron: &Cron) -> Days<'static> {
        let in_month =
            InMonth { from_start: cron.month_days, from_end: u32::from(cron.last_day) << 1, monthly: &[] };
        Days {
            step: EVERY_DAY,
            months: cron.months,
            week_days: cron.week_days,
            in_month: Some(in_month),
            either: cron.either_day,
        }
    }

    /// The days of a month (counted from January 1970) that the rule names.
    pub fn of_month(&self, month: i64) -> u32 {
        if self.months >> (month.rem_euclid(12) + 1) & 1 == 0 {
            return 0;
        }
        let first = first_day(month);
        let length = days_in(month, first);
        let stepped = self.step.of_month(month, first, length);
        if stepped == 0 {
            return 0;
        }
        let by_week = if self.week_days == ALL_WEEK { !0 } else { week_bits(self.week_days, first) };
        let by_month = self.in_month.as_ref().map_or(!0, |rule| rule.of_month(first, length));
        let named = if self.either { by_week | by_month } else { by_week & by_month };
        stepped & named & all_days(length)
    }

    /// Whether no day, week or month is passed over.
    pub fn takes_every_period(&self) -> bool {
        let (DayStep::Day { every, .. } | DayStep::Week { every, .. } | DayStep::Month { every, .. }) =
            self.step;
        every == 1
    }

    /// The first month, this one or later, that the step can reach.
    pub fn reachable(&self, month: i64) -> i64 {
        match self.step {
            DayStep::Day { every: ..32, .. } | DayStep::Week { every: ..5, .. } => month,
            DayStep::Day { every, from } => {
                let first = first_day(month);
                date(first + (from - first).rem_euclid(every)).month
            }
            DayStep::Week { every, from } => {
                let first = first_day(month);
                let weeks = (from - week(first)).rem_euclid(every);
                // Some day of the week that counts is seven times `weeks` days away, its Monday up to six less.
                date(first + (weeks * 7 - 6).max(0)).month
            }
            DayStep::Month { every, from } => month + (from - month).rem_euclid(every),
        }
    }
}

impl DayStep {
    fn of_month(self, month: i64, first: i64, length: u32) -> u32 {
        let length = i64::from(length);
        match self {
            DayStep::Day { every: 1, .. }
            | DayStep::Week { every: 1, .. }
            | DayStep::Month { every: 1, .. } => !0,
            DayStep::Month { every, from } => {
                if (month - from).rem_euclid(every) == 0 {
                    !0
                } else {
                    0
                }
            }
            DayStep::Day { every, from } => {
                let mut days = 0;
                let mut offset = (from - first).rem_euclid(every);
                while offset < length {
                    days |= 2 << offset;
                    offset += every;
                }
                days
            }
            DayStep::Week { every, from } => (0..length)
                .filter(|offset| (week(first + offset) - from).rem_euclid(every) == 0)
                .fold(0, |days, offset| days | 2 << offset),
        }
    }
}

impl<'a> InMonth<'a> {
    fn of(schedule: &'a Schedule) -> InMonth<'a> {
        let mut rule = InMonth { from_start: 0, from_end: 0, monthly: &schedule.monthly };
        for day in &schedule.month_days {
            match day {
                1..=31 => rule.from_start |= 1 << day,
                -31..=-1 => rule.from_end |= 1 << day.unsigned_abs(),
                _ => {}
            }
        }
        rule
    }

    fn of_month(&self, first: i64, length: u32) -> u32 {
        let mut days = self.from_start;
        for back in bits(self.from_end) {
            if back <= length {
                days |= 1 << (length + 1 - back);
            }
        }
        for rule in self.monthly {
            days |= of_monthly(*rule, first, length);
        }
        days
    }
}

/// The days of a month that are its n-th such weekday.
fn of_monthly(rule: Monthly, first: i64, length: u32) -> u32 {
    let all = week_bits(1 << (rule.day as u8), first) & all_days(length);
    let Some(occurrence) = rule.occurrence else { return all };
    let nth = usize::from(occurrence.unsigned_abs());
    let found = match occurrence {
        1.. => bits(all).nth(nth - 1),
        0 => None,
        _ => (all.count_ones() as usize).checked_sub(nth).and_then(|index| bits(all).nth(index)),
    };
    found.map_or(0, |day| 1 << day)
}

/// The days of a month that fall on one of these days of the week; those beyond its end are included.
fn week_bits(week_days: u8, first: i64) -> u32 {
    // Bit 0 of `turned` is the weekday of the month's first day; then the week is laid out five times.
    let turn = week_day(first);
    let week = u64::from(week_days & ALL_WEEK);
    let turned = (week >> turn | week << (7 - turn)) & u64::from(ALL_WEEK);
    let laid = turned * (1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28);
    u32::try_from(laid << 1 & u64::from(u32::MAX)).expect("cut to 32 bits")
}

fn all_days(length: u32) -> u32 {
    // Bits 1 to `length`.
    u32::MAX >> (31 - length) & !1
}

/// The numbers of the bits that are set, lowest first.
pub(super) fn bits(set: u32) -> impl Iterator<Item = u32> {
    (0..32).filter(move |bit| set >> bit & 1 == 1)
}
