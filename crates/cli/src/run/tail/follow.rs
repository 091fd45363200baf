//! Derives events from successive lists of runs, each event exactly once.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use api_types::{PartitionView, RunSummary, Time};
use serde::Serialize;
use types::{RunStatus, Timestamp};

/// Requests get their timestamp shortly before they are in an inbox, and the clocks of instances differ.
const MARGIN_MS: i64 = 5_000;
/// At the start: how long requests may have waited without becoming a run.
const BACKLOG_MS: i64 = 60_000;

/// What happened to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TailEventKind {
    Accepted,
    Parked,
    Ended,
}

/// One event.
#[derive(Debug, Clone, Serialize)]
pub struct RunEvent {
    pub at: Time,
    pub what: TailEventKind,
    pub run: RunSummary,
}

/// One poll of the lists of runs.
#[derive(Debug, Default)]
pub struct PollResult {
    /// Runs that have not ended, all of them.
    pub live: Vec<RunSummary>,
    /// Runs that have ended and were accepted since [`Following::since`].
    pub ended: Vec<RunSummary>,
    /// Whether it was truncated.
    pub broken_off: bool,
}

/// The state of the runs that are followed.
#[derive(Debug, Default)]
pub struct RunTracker {
    live: BTreeMap<String, RunSummary>,
    /// Ended runs already reported, with their time of acceptance; only those that a poll may return again.
    ended: BTreeMap<String, Time>,
    since: Time,
    newest: Time,
    marks: VecDeque<RunMark>,
}

/// The inbox positions when a poll began. When that many requests have become runs, every request of that time is
/// in the lists.
#[derive(Debug)]
struct RunMark {
    tails: Vec<u64>,
    newest: Time,
}

impl RunTracker {
    /// Starts with the existing runs, which are not reported. `newest` is when the newest run was accepted.
    pub fn begin(newest: Option<Time>, partitions: &[PartitionView]) -> RunTracker {
        let waiting = partitions.iter().any(|partition| partition.inbox_tail > partition.inbox_through);
        let newest = newest.unwrap_or_default();
        let since = earlier(newest, if waiting { BACKLOG_MS } else { MARGIN_MS });
        RunTracker { since, newest, ..RunTracker::default() }
    }

    /// Ended runs accepted before this have been reported, or are old.
    pub fn since(&self) -> Time {
        self.since
    }

    /// Records the inbox positions; call it before a poll.
    pub fn mark(&mut self, partitions: &[PartitionView]) {
        let tails = partitions.iter().map(|partition| partition.inbox_tail).collect();
        self.marks.push_back(RunMark { tails, newest: self.newest });
    }

    /// The new events of a poll, and the ids of runs that it should have found and did not.
    pub fn take(
        &mut self,
        look: PollResult,
        now: Time,
        partitions: &[PartitionView],
    ) -> (Vec<RunEvent>, Vec<String>) {
        let mut events = Vec::new();
        let mut found = BTreeSet::new();
        let oldest = look.ended.last().map(|run| run.accepted_at);
        for run in look.live {
            found.insert(run.id.clone());
            self.newest = self.newest.max(run.accepted_at);
            if !self.ended.contains_key(&run.id) {
                self.see_live(run, now, &mut events);
            }
        }
        for run in look.ended {
            found.insert(run.id.clone());
            self.newest = self.newest.max(run.accepted_at);
            self.see_ended(run, &mut events);
        }
        let missing = self.live.keys().filter(|id| !found.contains(*id)).cloned().collect();
        match oldest.filter(|_| look.broken_off) {
            Some(oldest) => self.go_on_from(Time(Timestamp(oldest.0.0 + 1))),
            None => self.advance(partitions),
        }
        events.sort_by_key(|event| event.at);
        (events, missing)
    }

    /// Takes the state of a run that a poll did not find, or `None` if it no longer exists.
    pub fn resolve(&mut self, id: &str, run: Option<RunSummary>) -> Vec<RunEvent> {
        let mut events = Vec::new();
        match run {
            Some(run) if run.status.is_final() => self.see_ended(run, &mut events),
            // It changed while the list was read; the next poll finds it.
            Some(_) => {}
            None => drop(self.live.remove(id)),
        }
        events
    }

    fn see_live(&mut self, run: RunSummary, now: Time, events: &mut Vec<RunEvent>) {
        let parked = run.status == RunStatus::Parked;
        let before = self.live.insert(run.id.clone(), run.clone()).map(|before| before.status);
        if before.is_none() {
            events.push(RunEvent { at: run.accepted_at, what: TailEventKind::Accepted, run: run.clone() });
        }
        if parked && before != Some(RunStatus::Parked) {
            events.push(RunEvent { at: now, what: TailEventKind::Parked, run });
        }
    }

    fn see_ended(&mut self, run: RunSummary, events: &mut Vec<RunEvent>) {
        if self.ended.insert(run.id.clone(), run.accepted_at).is_some() {
            return;
        }
        if self.live.remove(&run.id).is_none() {
            events.push(RunEvent { at: run.accepted_at, what: TailEventKind::Accepted, run: run.clone() });
        }
        events.push(RunEvent {
            at: run.ended_at.unwrap_or(run.accepted_at),
            what: TailEventKind::Ended,
            run,
        });
    }

    /// Polls need not go back further than the newest mark that all requests have passed.
    fn advance(&mut self, partitions: &[PartitionView]) {
        let passed = |mark: &RunMark| {
            mark.tails.len() == partitions.len()
                && mark.tails.iter().zip(partitions).all(|(tail, now)| now.inbox_through >= *tail)
        };
        while let Some(mark) = self.marks.pop_front_if(|mark| passed(mark)) {
            self.go_on_from(earlier(mark.newest, MARGIN_MS));
        }
    }

    fn go_on_from(&mut self, since: Time) {
        self.since = self.since.max(since);
        let since = self.since;
        self.ended.retain(|_, accepted_at| *accepted_at >= since);
    }
}

fn earlier(time: Time, ms: i64) -> Time {
    Time(Timestamp(time.0.0.saturating_sub(ms)))
}
