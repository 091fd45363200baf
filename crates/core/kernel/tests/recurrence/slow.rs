//! A slow reading of the rules: every day, hour, minute and second of the calendar is looked at, one by one, and
//! each local time is turned into moments by itself. It shares nothing with the kernel but the words.

use std::collections::BTreeSet;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp, ToSpan};
use types::{Frequency, Gap, Monthly, Repeat, Rule, Schedule, Ticks, Timing, WeekDay};

/// What a change of the clocks has to do with an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touched {
    Not,
    First,
    Second,
    Moved,
}

pub struct Slow<'a> {
    timing: &'a Timing,
    zone: TimeZone,
    base: Timestamp,
    /// The base as the clocks of the zone show it.
    local: DateTime,
}

impl<'a> Slow<'a> {
    pub fn new(timing: &'a Timing, anchor: Ticks) -> Slow<'a> {
        let zone = zone(timing.zone.as_deref().unwrap_or("UTC"));
        let base = moment(timing.start.unwrap_or(anchor));
        Slow { timing, local: zone.to_datetime(base), zone, base }
    }

    /// The occurrences after a moment, as long as `days` days last or until there are `enough`; and the moment up
    /// to which none is missing.
    pub fn after(&self, after: Ticks, days: u32, enough: usize) -> (Vec<Ticks>, Ticks) {
        let mut found = BTreeSet::new();
        if self.is_plain() {
            found.insert(self.base);
        }
        let mut date = self.zone.to_datetime(moment(after).max(self.base)).date() - 2.days();
        for _ in 0..days {
            self.slots(date, |slot| {
                let fires = fires(&self.zone, slot, self.timing.gap, self.timing.repeat);
                found.extend(fires.into_iter().map(|(at, _)| at));
            });
            date += 1.day();
            if found.len() > enough {
                break;
            }
        }
        // What is named for a day can fire a day off: offsets differ by that much.
        let complete = ticks(TimeZone::UTC.to_timestamp(DateTime::from(date - 2.days())).unwrap());
        let end = self.timing.recurrence.as_ref().unwrap().end.unwrap_or(Ticks(i64::MAX));
        let counts = |at: &Ticks| *at > after && *at >= ticks(self.base) && *at <= complete && *at <= end;
        (found.into_iter().map(ticks).filter(counts).collect(), complete)
    }

    fn is_plain(&self) -> bool {
        matches!(self.rule(), Rule::Every { schedule: None, .. })
    }

    fn rule(&self) -> &Rule {
        &self.timing.recurrence.as_ref().unwrap().rule
    }

    /// Every local time of a day that the rule names.
    fn slots(&self, date: Date, mut take: impl FnMut(DateTime)) {
        let base = self.local;
        if !self.names_day(date) {
            return;
        }
        for hour in (0..24).filter(|hour| self.names_hour(date, *hour)) {
            for minute in (0..60).filter(|minute| self.names_minute(date, hour, *minute)) {
                match self.rule() {
                    Rule::Cron(cron) => {
                        for second in (0..60).filter(|second| cron.seconds & 1 << second != 0) {
                            take(date.at(hour, minute, second, 0));
                        }
                    }
                    Rule::Every { schedule: Some(schedule), .. } if !schedule.minutes.is_empty() => {
                        take(date.at(hour, minute, 0, 0));
                    }
                    Rule::Every { .. } => {
                        take(date.at(hour, minute, base.second(), base.subsec_nanosecond()));
                    }
                }
            }
        }
    }

    fn names_day(&self, date: Date) -> bool {
        let nothing = Schedule::default();
        let (frequency, interval, schedule) = match self.rule() {
            Rule::Cron(cron) => return names_cron_day(cron, date),
            Rule::Every { frequency, interval, schedule } => {
                (*frequency, i64::from(*interval), schedule.as_ref().unwrap_or(&nothing))
            }
        };
        let base = self.local.date();
        let in_step = match frequency {
            Frequency::Minute | Frequency::Hour => true,
            Frequency::Day => days_between(base, date) % interval == 0,
            Frequency::Week => days_between(monday(base), monday(date)) / 7 % interval == 0,
            Frequency::Month => (month_number(date) - month_number(base)) % interval == 0,
        };
        let by_month = schedule.month_days.iter().any(|day| names_month_day(*day, date))
            || schedule.monthly.iter().any(|rule| names_monthly(*rule, date));
        let no_month = schedule.month_days.is_empty() && schedule.monthly.is_empty();
        let named = match (schedule.week_days.is_empty(), no_month) {
            (false, false) => schedule.week_days.contains(&week_day(date)) && by_month,
            (false, true) => schedule.week_days.contains(&week_day(date)),
            (true, false) => by_month,
            (true, true) => match frequency {
                Frequency::Minute | Frequency::Hour | Frequency::Day => true,
                Frequency::Week => date.weekday() == base.weekday(),
                Frequency::Month => date.day() == base.day(),
            },
        };
        in_step && named
    }

    fn names_hour(&self, date: Date, hour: i8) -> bool {
        let base = self.local;
        match self.rule() {
            Rule::Cron(cron) => cron.hours & 1 << hour != 0,
            Rule::Every { frequency, interval, schedule } => {
                let (hours, minutes) = lists(schedule);
                let since = days_between(base.date(), date) * 24 + i64::from(hour - base.hour());
                let in_step = *frequency != Frequency::Hour || since % i64::from(*interval) == 0;
                let anchored = *frequency >= Frequency::Day && hours.is_empty() && minutes.is_empty();
                let named = hours.is_empty() || hours.contains(&(hour as u8));
                in_step && named && (!anchored || hour == base.hour())
            }
        }
    }

    fn names_minute(&self, date: Date, hour: i8, minute: i8) -> bool {
        let base = self.local;
        match self.rule() {
            Rule::Cron(cron) => cron.minutes & 1 << minute != 0,
            Rule::Every { frequency, interval, schedule } => {
                let (_, minutes) = lists(schedule);
                let hours = days_between(base.date(), date) * 24 + i64::from(hour - base.hour());
                let since = hours * 60 + i64::from(minute - base.minute());
                match frequency {
                    Frequency::Minute => {
                        since % i64::from(*interval) == 0
                            && (minutes.is_empty() || minutes.contains(&(minute as u8)))
                    }
                    _ if minutes.is_empty() => minute == base.minute(),
                    _ => minutes.contains(&(minute as u8)),
                }
            }
        }
    }
}

/// The moments at which a local time fires, and what a change of the clocks has to do with it.
pub fn fires(zone: &TimeZone, slot: DateTime, gap: Gap, repeat: Repeat) -> Vec<(Timestamp, Touched)> {
    match zone.to_ambiguous_timestamp(slot).offset() {
        AmbiguousOffset::Unambiguous { offset } => vec![(offset.to_timestamp(slot).unwrap(), Touched::Not)],
        AmbiguousOffset::Gap { before, after } => {
            let sides = [before, after].map(|offset| offset.to_timestamp(slot).unwrap());
            let end = end_of_gap(zone, sides[0].min(sides[1]), sides[0].max(sides[1]));
            if gap == Gap::End { vec![(end, Touched::Moved)] } else { vec![] }
        }
        AmbiguousOffset::Fold { before, after } => {
            let [one, other] = [before, after].map(|offset| offset.to_timestamp(slot).unwrap());
            let mut both = vec![(one.min(other), Touched::First), (one.max(other), Touched::Second)];
            both.truncate(if repeat == Repeat::Both { 2 } else { 1 });
            both
        }
    }
}

/// The first second with another offset than the one before it. The gap lies between the two moments.
fn end_of_gap(zone: &TimeZone, mut low: Timestamp, mut high: Timestamp) -> Timestamp {
    low -= SignedDuration::from_secs(1);
    let old = zone.to_offset(low);
    while high.as_second() - low.as_second() > 1 {
        let middle = Timestamp::from_second(i64::midpoint(low.as_second(), high.as_second())).unwrap();
        if zone.to_offset(middle) == old {
            low = middle;
        } else {
            high = middle;
        }
    }
    Timestamp::from_second(high.as_second()).unwrap()
}

pub fn zone(name: &str) -> TimeZone {
    TimeZoneDatabase::bundled().get(name).unwrap()
}

pub fn moment(at: Ticks) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(at.0) * 100).unwrap()
}

pub fn ticks(at: Timestamp) -> Ticks {
    Ticks(i64::try_from(at.as_nanosecond().div_euclid(100)).unwrap())
}

fn lists(schedule: &Option<Schedule>) -> (&[u8], &[u8]) {
    schedule.as_ref().map_or((&[], &[]), |schedule| (&schedule.hours, &schedule.minutes))
}

fn names_cron_day(cron: &types::Cron, date: Date) -> bool {
    let by_month =
        cron.month_days & 1 << date.day() != 0 || cron.last_day && date.day() == date.days_in_month();
    let by_week = cron.week_days & 1 << date.weekday().to_sunday_zero_offset() != 0;
    let by_day = if cron.either_day { by_month || by_week } else { by_month && by_week };
    cron.months & 1 << date.month() != 0 && by_day
}

fn names_month_day(day: i8, date: Date) -> bool {
    if day > 0 { date.day() == day } else { date.day() - date.days_in_month() - 1 == day }
}

fn names_monthly(rule: Monthly, date: Date) -> bool {
    let weekday = Weekday::from_sunday_zero_offset(rule.day as i8).unwrap();
    match rule.occurrence {
        None => date.weekday() == weekday,
        Some(nth) => date.nth_weekday_of_month(nth, weekday).is_ok_and(|found| found == date),
    }
}

fn week_day(date: Date) -> WeekDay {
    WeekDay::ALL[date.weekday().to_sunday_zero_offset() as usize]
}

fn days_between(from: Date, to: Date) -> i64 {
    from.duration_until(to).as_hours() / 24
}

fn monday(date: Date) -> Date {
    date - i64::from(date.weekday().to_monday_zero_offset()).days()
}

fn month_number(date: Date) -> i64 {
    i64::from(date.year()) * 12 + i64::from(date.month())
}
