//! What an ended occurrence adds to its job.

use serde::{Deserialize, Serialize};
use types::{JobState, Outcome, Timestamp, Work};

use super::{FINISHED_KEPT, Job, JobProgress};
use crate::step::DoneBy;
use crate::{Fact, Run, StepState};

/// Attempts, as they are shown: every attempt counts, those of the alternative as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    pub executions: u64,
    pub failures: u64,
    /// Occurrences whose action failed for good, whatever became of the alternative.
    pub faulted: u64,
    /// When the newest attempt began.
    pub last: Option<Timestamp>,
}

impl Tally {
    /// What a run, ended or under way, adds.
    pub fn add(&mut self, run: &Run) {
        for moment in &run.timeline {
            match &moment.fact {
                Fact::Started { work: Work::Do(_) | Work::Alternative(_), .. } => {
                    self.executions += 1;
                    self.last = self.last.max(Some(moment.at));
                }
                Fact::Ended { outcome, .. } => {
                    self.failures += u64::from(!matches!(outcome, Outcome::Done { .. }));
                }
                _ => {}
            }
        }
        self.faulted += u64::from(run.has_ended() && has_failed(run));
    }
}

/// Where the job progress_after_change when one of its occurrences has ended. `live` counts those still under way.
pub fn ended(job: &Job, run: &Run, wall: Timestamp, live: usize) -> JobProgress {
    let mut progress = job.progress.clone();
    progress.tally.add(run);
    progress.last_failed = has_failed(run);
    if progress.state != JobState::Enabled {
        return progress;
    }
    if progress.next.is_none() && live == 0 {
        progress.finish(progress.last_failed);
        progress.due = Some(wall + FINISHED_KEPT);
    }
    if progress.next.is_some() {
        // Planned again, because a missed occurrence may have been delayed until now.
        progress.plan(&job.definition, progress.next, wall);
    }
    progress
}

/// Whether the action itself was not done.
fn has_failed(run: &Run) -> bool {
    !run.steps.iter().all(|step| matches!(step.state, StepState::Done(DoneBy::Call | DoneBy::Instead)))
}
