//! Creating, replacing and changing a job.

use types::{CollectionSpec, JobRef, JobSpec, JobState, Span, Ticks, Timestamp, Uid};

use super::{Collection, Job, JobDefinition, JobProgress, JobRejection};
use crate::recurrence;

/// A job as somebody wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub name: String,
    /// The id that it gets if it is new.
    pub uid: Uid,
    pub spec: JobSpec,
    pub document: String,
    /// How long after now "at once" is.
    pub delay: Span,
}

/// What must be there for a change to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    Anything,
    Nothing,
    Version(u32),
}

/// Whether a job is replaced or changed in parts. A finished job can only be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutMode {
    Replace,
    Change,
}

impl Expect {
    /// Checks the version of what is there, if anything is.
    pub fn check(self, current: Option<u32>) -> Result<(), JobRejection> {
        match (self, current) {
            (Expect::Anything, _) | (Expect::Nothing, None) => Ok(()),
            (Expect::Nothing, Some(_)) => Err(JobRejection::Exists),
            (Expect::Version(wanted), Some(current)) if wanted == current => Ok(()),
            (Expect::Version(_), Some(current)) => Err(JobRejection::Changed { current }),
            (Expect::Version(_), None) => Err(JobRejection::Changed { current: 0 }),
        }
    }
}

/// The job as it becomes. Nothing is changed when it is rejected.
pub fn put(
    collection: &Collection,
    existing: Option<&Job>,
    draft: &Draft,
    expect: Expect,
    manner: PutMode,
    wall: Timestamp,
) -> Result<Job, JobRejection> {
    expect.check(existing.map(|job| job.definition.version))?;
    if let Some(job) = existing.filter(|job| job.progress.state.is_final() && manner == PutMode::Change) {
        return Err(JobRejection::Final { state: job.progress.state });
    }
    if existing.is_none() && collection.jobs >= collection.spec.jobs_max {
        return Err(JobRejection::TooManyJobs { max: collection.spec.jobs_max });
    }
    check_fit(&draft.spec, wall.into(), &collection.spec)?;
    let at = JobRef { collection: collection.uid, name: draft.name.to_lowercase().into() };
    let before = existing.map(|job| &job.definition);
    let definition = JobDefinition {
        at,
        uid: before.map_or(draft.uid, |before| before.uid),
        name: before.map_or(&draft.name, |before| &before.name).clone(),
        collection: collection.full_name(),
        version: before.map_or(1, |before| before.version + 1),
        created_at: before.map_or(wall, |before| before.created_at),
        changed_at: wall,
        spec: draft.spec.clone(),
        document: draft.document.clone(),
    };
    let progress = progress_after_change(existing, &definition, collection.spec.enabled, wall, draft.delay);
    Ok(Job { definition, progress })
}

/// Whether a collection allows a job.
pub(super) fn check_fit(
    job: &JobSpec,
    anchor: Ticks,
    collection: &CollectionSpec,
) -> Result<(), JobRejection> {
    if job.authenticates && !collection.authentication {
        return Err(JobRejection::NoAuthentication);
    }
    match recurrence::shortest_period(&job.timing, anchor) {
        Some(period) if period < collection.period_min => {
            Err(JobRejection::TooOften { period, min: collection.period_min })
        }
        _ => Ok(()),
    }
}

fn progress_after_change(
    existing: Option<&Job>,
    definition: &JobDefinition,
    collection_enabled: bool,
    wall: Timestamp,
    delay: Span,
) -> JobProgress {
    let mut progress = existing.map_or_else(|| JobProgress::new(wall.into()), |job| job.progress.clone());
    let same_timing = existing.is_some_and(|job| {
        job.definition.spec.timing == definition.spec.timing && !job.progress.state.is_final()
    });
    if !same_timing {
        progress.anchor = wall.into();
        progress.counted = 0;
    }
    let was_enabled = existing.is_some_and(|job| job.progress.state == JobState::Enabled);
    progress.held = definition.spec.enabled && !collection_enabled;
    if !definition.spec.enabled || progress.held {
        progress.rest();
    } else if !(same_timing && was_enabled) {
        progress.wake(definition, wall, delay);
    }
    progress
}

impl JobProgress {
    /// Nothing is planned while the job is disabled.
    pub(super) fn rest(&mut self) {
        self.state = JobState::Disabled;
        self.next = None;
        self.due = None;
    }

    /// Plans from now on. What passed while the job was disabled is left out.
    pub(super) fn wake(&mut self, definition: &JobDefinition, wall: Timestamp, delay: Span) {
        self.state = JobState::Enabled;
        self.held = false;
        // When the clock was set back, the grid must not begin later than what is planned on it.
        self.anchor = self.anchor.min(wall.into());
        let next = self.first(definition, wall, delay);
        self.plan(definition, next, wall);
        if next.is_none() {
            // It ends at once, unless an occurrence is under way.
            self.due = Some(wall);
        }
    }

    fn first(&self, definition: &JobDefinition, wall: Timestamp, delay: Span) -> Option<Ticks> {
        let timing = &definition.spec.timing;
        let most = timing.recurrence.as_ref().map_or(Some(1), |recurrence| recurrence.count);
        if most.is_some_and(|most| self.counted >= most) {
            return None;
        }
        let now = Ticks::from(wall);
        let first = recurrence::first(timing, now, now + delay)?;
        match self.newest {
            // A clock that was set back must not bring back what was fired.
            Some(newest) if first <= newest && timing.recurrence.is_some() => {
                let anchor = if recurrence::drifts(timing) { newest } else { self.anchor };
                recurrence::next(timing, anchor, newest)
            }
            Some(newest) => Some(first.max(Ticks(newest.0 + 1))),
            None => Some(first),
        }
    }
}
