//! From the local times that a rule names to the instants at which it fires, across all changes of the clocks.

use std::fmt;

use types::{Gap, Repeat};

use super::calendar::{DAY_TICKS, Local};
use super::pattern::Pattern;
use super::zone::{ClockChange, Clocks};

/// What a change of the clocks did to an occurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Daylight saving skips this local time (the first such, if there are several): it fires when the gap ends.
    Moved { from: Local },
    /// Its local time occurs twice; this is the first time.
    First,
    /// Its local time occurs twice; this is the second time.
    Second,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Moved { from } => write!(f, "moved from {from}, which daylight saving skips"),
            Change::First => f.write_str("the first of two occurrences of this local time"),
            Change::Second => f.write_str("the second of two occurrences of this local time"),
        }
    }
}

/// A local time that a rule names and that a change of the clocks takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkippedTime {
    /// Daylight saving skips it.
    Gap(Local),
    /// It occurs a second time.
    Repeat(Local),
}

impl fmt::Display for SkippedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkippedTime::Gap(at) => write!(f, "{at}, which daylight saving skips"),
            SkippedTime::Repeat(at) => write!(f, "{at}, the second time that it occurs"),
        }
    }
}

/// How a rule is read by the clocks of a zone.
#[derive(Debug)]
pub(super) struct Wall<'a> {
    pub pattern: Pattern<'a>,
    pub clocks: Clocks,
    pub gap: Gap,
    pub repeat: Repeat,
}

/// How far back a change can be whose repeated times are not over. No clock was ever set back by more than a day.
const LOOK_BACK: i64 = 2 * DAY_TICKS;

impl Wall<'_> {
    /// The first occurrence after an instant.
    ///
    /// Between two changes of the clocks, local times and instants differ by a constant. So the slots are sought
    /// from one change to the next; `slot` is always the first one at or after `from`.
    pub fn after(&self, after: i64) -> Option<i64> {
        let mut piece = self.clocks.piece(after);
        let mut from = after.saturating_add(1).saturating_add(piece.offset);
        if self.repeat == Repeat::First {
            from = from.max(self.shown_until(after));
        }
        let mut slot = self.pattern.at_or_after(from)?;
        loop {
            let change = match piece.change {
                Some(change) if slot >= change.local_before() => change,
                _ => return Some(slot - piece.offset),
            };
            if slot < change.local_after() && self.gap == Gap::End {
                return Some(change.at);
            }
            let sought_from = from;
            from = match self.repeat {
                Repeat::First => from.max(change.local_before()).max(change.local_after()),
                Repeat::Both => change.local_after(),
            };
            if from < sought_from || from > slot {
                slot = self.pattern.at_or_after(from)?;
            }
            piece = self.clocks.piece(change.at);
        }
    }

    /// What a change of the clocks did to the occurrence at an instant.
    pub fn change(&self, at: i64) -> Option<Change> {
        let local = self.clocks.local(at);
        for change in self.clocks.changes_back(at, at.saturating_sub(LOOK_BACK)) {
            if local < change.local_before() {
                return Some(Change::Second);
            }
            if change.at == at && self.gap == Gap::End {
                let slot = self.pattern.at_or_after(change.local_before());
                if let Some(ticks) = slot.filter(|slot| *slot < change.local_after()) {
                    return Some(Change::Moved { from: Local { ticks } });
                }
            }
        }
        let next = self.clocks.piece(at).change?;
        (local >= next.local_after() && local < next.local_before()).then_some(Change::First)
    }

    /// The local times that are left out between two instants, at most `most` of them.
    pub fn skipped_times(&self, after: i64, until: i64, most: usize) -> Vec<SkippedTime> {
        let mut found = Vec::new();
        let mut piece = self.clocks.piece(after);
        while let Some(change) = piece.change.filter(|change| change.at <= until) {
            let (low, high) = (change.local_before(), change.local_after());
            if low < high && self.gap == Gap::Skip {
                self.slots(low, high, most, |local| found.push(SkippedTime::Gap(local)));
            }
            if high < low && self.repeat == Repeat::First {
                self.slots(high, low, most, |local| found.push(SkippedTime::Repeat(local)));
            }
            if found.len() >= most {
                break;
            }
            piece = self.clocks.piece(change.at);
        }
        found.truncate(most);
        found
    }

    fn slots(&self, low: i64, high: i64, most: usize, mut take: impl FnMut(Local)) {
        let mut slot = self.pattern.at_or_after(low);
        for _ in 0..most {
            let Some(ticks) = slot.filter(|ticks| *ticks < high) else { return };
            take(Local { ticks });
            slot = self.pattern.at_or_after(ticks + 1);
        }
    }

    /// The furthest that the clocks had got to before they were last set back: all before it was shown already.
    fn shown_until(&self, at: i64) -> i64 {
        let changes = self.clocks.changes_back(at, at.saturating_sub(LOOK_BACK));
        changes.map(ClockChange::local_before).max().unwrap_or(i64::MIN)
    }
}
