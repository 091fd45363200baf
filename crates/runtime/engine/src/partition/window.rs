//! The window of a partition's jobs: those due within seconds are in memory, all others in the view.

use std::collections::BTreeSet;

use types::{JobRef, PartitionId, Span, Timestamp};
use view::{Error, View};

/// How far ahead jobs are loaded into memory.
const AHEAD: Span = Span::from_secs(10);

/// Jobs that one read of the view loads; about 100 bytes each.
const LOAD_MAX: usize = 20_000;

/// The jobs that are due soon. An entry is a hint: the job's progress decides.
pub(crate) struct DueWindow {
    due: BTreeSet<(Timestamp, JobRef)>,
    /// Every job due up to here is in memory.
    through: Timestamp,
}

impl DueWindow {
    pub fn new() -> DueWindow {
        DueWindow { due: BTreeSet::new(), through: Timestamp(i64::MIN) }
    }

    /// Loads the jobs due soon, when half of the look-ahead has passed.
    pub fn refill(&mut self, view: &View, partition: PartitionId, wall: Timestamp) -> Result<(), Error> {
        if self.refill_at().is_none_or(|at| at > wall) {
            return Ok(());
        }
        let (from, until) = (Timestamp(self.through.0.saturating_add(1)), wall + AHEAD);
        let mut jobs = view.due_jobs(partition, from, until, LOAD_MAX)?;
        self.through = until;
        if jobs.len() == LOAD_MAX {
            // Whole milliseconds only: the last one may be incomplete.
            let last = jobs[LOAD_MAX - 1].0;
            jobs.retain(|(at, _)| *at < last);
            if jobs.is_empty() {
                jobs = view.due_jobs(partition, last, last, usize::MAX)?;
                self.through = last;
            } else {
                self.through = Timestamp(last.0 - 1);
            }
        }
        self.due.extend(jobs);
        Ok(())
    }

    /// A job is due at a new time.
    pub fn note(&mut self, at: Timestamp, job: &JobRef) {
        if at <= self.through {
            self.due.insert((at, job.clone()));
        }
    }

    /// Removes the first due job, if its time has come.
    pub fn pop(&mut self, wall: Timestamp) -> Option<(Timestamp, JobRef)> {
        self.due.first().filter(|(at, _)| *at <= wall)?;
        self.due.pop_first()
    }

    pub fn is_due(&self, wall: Timestamp) -> bool {
        self.due.first().is_some_and(|(at, _)| *at <= wall)
    }

    /// When the window must be refilled or a job is due.
    pub fn wake_at(&self) -> Timestamp {
        let first = self.due.first().map_or(Timestamp(i64::MAX), |(at, _)| *at);
        self.refill_at().map_or(first, |at| at.min(first))
    }

    /// Between refills half of the look-ahead passes; less when a full load did not reach that far, but not before
    /// it is worked off.
    fn refill_at(&self) -> Option<Timestamp> {
        (self.due.len() < LOAD_MAX).then(|| self.through - Span::from_ms(AHEAD.as_ms() / 2))
    }
}
