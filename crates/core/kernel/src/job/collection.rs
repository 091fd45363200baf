//! Creating and changing a collection, with what that does to its jobs.

use types::{CollectionSpec, JobRef, JobState, Timestamp, Uid};

use super::change::{Expect, check_fit};
use super::{Collection, Job, JobProgress, JobRejection};

/// A collection as somebody wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionDraft {
    pub subscription: String,
    pub group: String,
    pub name: String,
    /// The id that it gets if it is new.
    pub uid: Uid,
    pub spec: CollectionSpec,
    pub document: String,
}

/// The collection as it becomes, and the jobs that record_progress differently by that. `jobs` are all of its jobs.
pub fn put_collection(
    existing: Option<&Collection>,
    jobs: &[Job],
    draft: &CollectionDraft,
    expect: Expect,
    wall: Timestamp,
) -> Result<(Collection, Vec<(JobRef, JobProgress)>), JobRejection> {
    expect.check(existing.map(|collection| collection.version))?;
    let count = existing.map_or(0, |collection| collection.jobs);
    if count > draft.spec.jobs_max {
        return Err(JobRejection::QuotaTooLow { jobs: count, max: draft.spec.jobs_max });
    }
    for job in jobs {
        check_fit(&job.definition.spec, job.progress.anchor, &draft.spec).map_err(|reason| {
            JobRejection::JobDoesNotFit { job: job.definition.name.clone(), reason: reason.to_string() }
        })?;
    }
    let collection = Collection {
        uid: existing.map_or(draft.uid, |existing| existing.uid),
        subscription: existing.map_or(&draft.subscription, |existing| &existing.subscription).clone(),
        group: existing.map_or(&draft.group, |existing| &existing.group).clone(),
        name: existing.map_or(&draft.name, |existing| &existing.name).clone(),
        version: existing.map_or(1, |existing| existing.version + 1),
        created_at: existing.map_or(wall, |existing| existing.created_at),
        changed_at: wall,
        spec: draft.spec,
        jobs: count,
        document: draft.document.clone(),
    };
    let was_enabled = existing.is_none_or(|existing| existing.spec.enabled);
    let moved = match (was_enabled, draft.spec.enabled) {
        (true, false) => jobs.iter().filter_map(hold).collect(),
        (false, true) => jobs.iter().filter_map(|job| release(job, wall)).collect(),
        (true, true) | (false, false) => Vec::new(),
    };
    Ok((collection, moved))
}

fn hold(job: &Job) -> Option<(JobRef, JobProgress)> {
    if job.progress.state != JobState::Enabled {
        return None;
    }
    let mut progress = job.progress.clone();
    progress.rest();
    progress.held = true;
    Some((job.definition.at.clone(), progress))
}

fn release(job: &Job, wall: Timestamp) -> Option<(JobRef, JobProgress)> {
    if !job.progress.held {
        return None;
    }
    let mut progress = job.progress.clone();
    progress.wake(&job.definition, wall, types::Span::ZERO);
    Some((job.definition.at.clone(), progress))
}
