//! Importing a whole collection: all of it or nothing.

use std::collections::{BTreeMap, BTreeSet};

use journal::{AppendError, Journal};
use kernel::JobFact;
use kernel::job::{self, Collection, Draft, Expect, Job, JobRejection, PutMode};
use types::{JobRef, Timestamp};

use super::jobs::{JobDecision, job_ref, push};
use super::{Batch, Partition};
use crate::jobs::JobAnswer;
use crate::limits::{IMPORT_BYTES_MAX, JOB_BYTES};

/// The changes of an import to a collection.
struct Imported {
    collection: Collection,
    moved: Vec<(JobRef, job::JobProgress)>,
    deleted: Vec<Job>,
    put: Vec<Job>,
}

impl<J: Journal> Partition<J> {
    /// Decides everything first; only then writes anything.
    pub(super) fn import(
        &mut self,
        batch: &mut Batch,
        collection: &str,
        draft: Option<job::CollectionDraft>,
        drafts: &[Draft],
        deleted: &[String],
    ) -> Result<JobDecision, AppendError> {
        let existing = self.collection(batch, collection)?;
        let jobs = match &existing {
            Some(existing) => self.jobs_of(batch, existing)?,
            None => Vec::new(),
        };
        let decided = decide_import(existing, &jobs, draft, drafts, deleted, batch.wall);
        Ok(decided.map(|imported| {
            for job in &imported.deleted {
                self.delete_job(batch, None, job);
            }
            for (at, progress) in imported.moved {
                let found = jobs.iter().find(|job| job.definition.at == at).expect("one of the jobs found");
                self.record_progress(batch, found.clone(), progress);
            }
            for job in imported.put {
                batch.jobs.jobs.insert(job.definition.at.clone(), Some(job.clone()));
                push(batch, JobFact::Put(Box::new(job)));
            }
            self.note_collection(batch, imported.collection);
            JobAnswer::Imported
        }))
    }
}

fn decide_import(
    existing: Option<Collection>,
    jobs: &[Job],
    draft: Option<job::CollectionDraft>,
    drafts: &[Draft],
    deleted: &[String],
    wall: Timestamp,
) -> Result<Imported, JobRejection> {
    let is_deleted = |job: &&Job| deleted.iter().any(|name| name.to_lowercase() == *job.definition.at.name);
    let deleted: Vec<Job> = jobs.iter().filter(is_deleted).cloned().collect();
    let kept: Vec<Job> = jobs.iter().filter(|job| !is_deleted(job)).cloned().collect();
    let (mut collection, moved) = match (existing, &draft) {
        (existing, Some(draft)) => {
            let fewer = existing.map(|existing| Collection { jobs: kept.len() as u32, ..existing });
            job::put_collection(fewer.as_ref(), &kept, draft, Expect::Anything, wall)?
        }
        (Some(existing), None) => (Collection { jobs: kept.len() as u32, ..existing }, Vec::new()),
        (None, None) => return Err(JobRejection::NoCollection),
    };
    let by_place: BTreeMap<&JobRef, &Job> = kept.iter().map(|job| (&job.definition.at, job)).collect();
    let mut put = Vec::new();
    for draft in drafts {
        let before = by_place.get(&job_ref(&collection, &draft.name)).copied();
        let job = job::put(&collection, before, draft, Expect::Anything, PutMode::Replace, wall);
        let name = || draft.name.clone();
        put.push(
            job.map_err(|reason| JobRejection::JobDoesNotFit { job: name(), reason: reason.to_string() })?,
        );
        collection.jobs += u32::from(before.is_none());
    }
    let bytes: usize = put.iter().map(|job: &Job| JOB_BYTES + job.definition.document.len()).sum();
    if bytes > IMPORT_BYTES_MAX {
        return Err(JobRejection::TooMuch { bytes, bytes_max: IMPORT_BYTES_MAX });
    }
    let places: BTreeSet<&JobRef> = put.iter().map(|job| &job.definition.at).collect();
    let moved = moved.into_iter().filter(|(at, _)| !places.contains(at)).collect();
    Ok(Imported { collection, moved, deleted, put })
}
