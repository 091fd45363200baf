//! Jobs in the loop: fires due jobs, carries out commands, counts ended occurrences.

use std::collections::BTreeMap;

use journal::{AppendError, Journal};
use kernel::job::{self, Collection, Due, Expect, Job, JobRejection};
use kernel::{Event, Input, JobFact};
use tokio::sync::oneshot;
use types::{JobRef, Timestamp};

use super::{Batch, Partition};
use crate::jobs::{JobAnswer, JobCommand, JobError, record};
use crate::limits::FIRINGS_PER_BATCH_MAX;

/// The result of a command about jobs.
pub(crate) type JobDecision = Result<JobAnswer, JobRejection>;
/// The same, as the caller receives it.
type JobReply = Result<JobAnswer, JobError>;

/// The changes of this batch to jobs and collections; written to the view when they are durable.
#[derive(Default)]
pub(crate) struct JobChanges {
    pub jobs: BTreeMap<JobRef, Option<Job>>,
    /// When each job that was read is due according to the view.
    due_in_view: BTreeMap<JobRef, Option<Timestamp>>,
    /// When each occurrence that starts was due.
    pub fired: Vec<Timestamp>,
    collections: BTreeMap<String, Option<Collection>>,
    pub replies: Vec<(oneshot::Sender<JobReply>, JobReply)>,
}

impl<J: Journal> Partition<J> {
    /// Whether another occurrence may start: calls and runs in memory are bounded, and a due job stays due.
    pub(super) fn may_fire(&self) -> bool {
        let settings = &self.shared.settings;
        let live = self.state.live_count() - self.state.parked_count();
        !self.draining
            && self.state.calls_count() < settings.firing_calls_max_per_partition
            && live < settings.live_runs_max_per_partition
    }

    pub(super) fn take_due(&mut self, batch: &mut Batch) -> Result<(), AppendError> {
        let refilled = self.window.refill(&self.shared.view, self.id, batch.wall);
        refilled.map_err(|error| self.damaged(&error.to_string()))?;
        for _ in 0..FIRINGS_PER_BATCH_MAX {
            if batch.is_full() || !self.may_fire() {
                return Ok(());
            }
            let Some((at, job)) = self.window.pop(batch.wall) else { return Ok(()) };
            let found = self.job(batch, &job)?;
            match found.filter(|found| found.progress.due == Some(at)) {
                Some(found) => self.take_due_job(batch, found)?,
                None => {
                    let forgotten = self.shared.view.forget_due(self.id, at, &job);
                    forgotten.map_err(|error| self.damaged(&error.to_string()))?;
                }
            }
        }
        Ok(())
    }

    fn take_due_job(&mut self, batch: &mut Batch, mut found: Job) -> Result<(), AppendError> {
        let live = self.state.occurrences(&found.key()).len();
        match job::due(&found, batch.wall, live) {
            Due::Fire(firing) => {
                batch.jobs.fired.extend(found.progress.due);
                found.progress = firing.progress.clone();
                batch.jobs.jobs.insert(found.definition.at.clone(), Some(found));
                self.apply(batch, &Input::Fire(firing)).expect("an occurrence is never rejected");
            }
            Due::Progress(progress) => {
                let left_out = |progress: &job::JobProgress| progress.skipped + progress.missed;
                let more = left_out(&progress) - left_out(&found.progress);
                self.shared.metrics.job_left_out.inc_by(more);
                self.record_progress(batch, found, progress);
            }
            Due::Forget => {
                let collection = self.collection_of(batch, &found)?;
                self.delete_job(batch, collection, &found);
            }
        }
        Ok(())
    }

    /// Counts the occurrences that have ended in this batch.
    pub(super) fn count_ended(&mut self, batch: &mut Batch) -> Result<(), AppendError> {
        let ended = batch.retired.iter().filter_map(|run| job::job_of(run).map(|at| (run.clone(), at)));
        for (run, at) in ended.collect::<Vec<_>>() {
            // A job that was deleted meanwhile, or created again with the same name, is not affected.
            let found = self.job(batch, &at)?.filter(|found| found.key() == run.request.key);
            if let Some(found) = found {
                let live = self.state.occurrences(&run.request.key).len();
                let progress = job::ended(&found, &run, batch.wall, live);
                self.record_progress(batch, found, progress);
            }
        }
        Ok(())
    }

    pub(super) fn take_job_command(
        &mut self,
        batch: &mut Batch,
        command: JobCommand,
        reply: oneshot::Sender<JobReply>,
    ) -> Result<(), AppendError> {
        let answer = match command {
            JobCommand::PutCollection { draft, expect } => {
                let id = job::collection_id(&draft.subscription, &draft.group, &draft.name);
                let existing = self.collection(batch, &id)?;
                let jobs = match &existing {
                    Some(existing) => self.jobs_of(batch, existing)?,
                    None => Vec::new(),
                };
                self.put_collection(batch, existing, &jobs, &draft, expect)
            }
            JobCommand::DeleteCollection { collection, expect } => {
                match self.collection(batch, &collection)? {
                    None => Err(JobRejection::NoCollection),
                    Some(found) => {
                        let jobs = self.jobs_of(batch, &found)?;
                        self.delete_collection(batch, &found, jobs, expect)
                    }
                }
            }
            JobCommand::PutJob { collection, draft, expect, manner } => {
                match self.collection(batch, &collection)? {
                    None => Err(JobRejection::NoCollection),
                    Some(found) => {
                        let existing = self.job(batch, &job_ref(&found, &draft.name))?;
                        self.put_job(batch, found, existing, |collection, existing, wall| {
                            job::put(collection, existing, &draft, expect, manner, wall)
                        })
                    }
                }
            }
            JobCommand::DeleteJob { collection, name, expect } => {
                match self.find(batch, &collection, &name)? {
                    Err(rejection) => Err(rejection),
                    Ok((collection, job)) => expect.check(Some(job.definition.version)).map(|()| {
                        self.delete_job(batch, Some(collection), &job);
                        JobAnswer::Deleted
                    }),
                }
            }
            JobCommand::Import { collection, draft, jobs, deleted } => {
                self.import(batch, &collection, draft, &jobs, &deleted)?
            }
            JobCommand::RunJob { collection, name } => match self.find(batch, &collection, &name)? {
                Err(rejection) => Err(rejection),
                Ok((_, job)) => self.run_job(batch, job),
            },
        };
        batch.jobs.replies.push((reply, answer.map_err(JobError::Rejected)));
        Ok(())
    }

    fn put_collection(
        &mut self,
        batch: &mut Batch,
        existing: Option<Collection>,
        jobs: &[Job],
        draft: &job::CollectionDraft,
        expect: Expect,
    ) -> JobDecision {
        let (collection, moved) = job::put_collection(existing.as_ref(), jobs, draft, expect, batch.wall)?;
        self.note_collection(batch, collection.clone());
        for (at, progress) in moved {
            let found = jobs.iter().find(|job| job.definition.at == at).expect("one of the jobs handed in");
            self.record_progress(batch, found.clone(), progress);
        }
        Ok(JobAnswer::Collection { collection: Box::new(collection), created: existing.is_none() })
    }

    fn delete_collection(
        &mut self,
        batch: &mut Batch,
        collection: &Collection,
        jobs: Vec<Job>,
        expect: Expect,
    ) -> JobDecision {
        expect.check(Some(collection.version))?;
        for job in jobs {
            self.delete_job(batch, None, &job);
        }
        batch.jobs.collections.insert(collection.id(), None);
        push(batch, JobFact::CollectionDeleted { id: collection.id() });
        Ok(JobAnswer::Deleted)
    }

    fn put_job(
        &mut self,
        batch: &mut Batch,
        mut collection: Collection,
        existing: Option<Job>,
        put: impl FnOnce(&Collection, Option<&Job>, Timestamp) -> Result<Job, JobRejection>,
    ) -> JobDecision {
        let job = put(&collection, existing.as_ref(), batch.wall)?;
        let created = existing.is_none();
        if created {
            collection.jobs += 1;
            self.note_collection(batch, collection.clone());
        }
        batch.jobs.jobs.insert(job.definition.at.clone(), Some(job.clone()));
        push(batch, JobFact::Put(Box::new(job.clone())));
        Ok(JobAnswer::Job { collection: Box::new(collection), job: Box::new(job), created })
    }

    fn run_job(&mut self, batch: &mut Batch, mut found: Job) -> JobDecision {
        let live = self.state.occurrences(&found.key()).len();
        let firing = job::run_now(&found, batch.wall, live)?;
        let run = firing.request.id.clone();
        found.progress = firing.progress.clone();
        batch.jobs.jobs.insert(found.definition.at.clone(), Some(found));
        self.apply(batch, &Input::Fire(Box::new(firing))).expect("an occurrence is never rejected");
        Ok(JobAnswer::Fired { run })
    }

    /// `collection` is given when its count of jobs must be updated.
    pub(super) fn delete_job(&mut self, batch: &mut Batch, collection: Option<Collection>, job: &Job) {
        if let Some(mut collection) = collection {
            collection.jobs = collection.jobs.saturating_sub(1);
            self.note_collection(batch, collection);
        }
        let at = job.definition.at.clone();
        batch.jobs.jobs.insert(at.clone(), None);
        push(batch, JobFact::Deleted { job: at });
    }

    pub(super) fn record_progress(&mut self, batch: &mut Batch, mut job: Job, progress: job::JobProgress) {
        let at = job.definition.at.clone();
        job.progress = progress.clone();
        batch.jobs.jobs.insert(at.clone(), Some(job));
        push(batch, JobFact::Progressed { job: at, progress });
    }

    pub(super) fn note_collection(&mut self, batch: &mut Batch, collection: Collection) {
        batch.jobs.collections.insert(collection.id(), Some(collection.clone()));
        push(batch, JobFact::CollectionPut(Box::new(collection)));
    }

    fn find(
        &self,
        batch: &mut Batch,
        collection: &str,
        name: &str,
    ) -> Result<Result<(Collection, Job), JobRejection>, AppendError> {
        let Some(collection) = self.collection(batch, collection)? else {
            return Ok(Err(JobRejection::NoCollection));
        };
        let job = self.job(batch, &job_ref(&collection, name))?;
        Ok(job.map(|job| (collection, job)).ok_or(JobRejection::NoJob))
    }

    pub(super) fn collection(&self, batch: &Batch, id: &str) -> Result<Option<Collection>, AppendError> {
        if let Some(changed) = batch.jobs.collections.get(id) {
            return Ok(changed.clone());
        }
        let row =
            self.shared.view.collection(self.id, id).map_err(|error| self.damaged(&error.to_string()))?;
        let collection = row.map(|row| record::read_collection(&row)).transpose();
        collection.map_err(|error| self.damaged(&format!("collection {id}: {error}")))
    }

    fn collection_of(&self, batch: &Batch, job: &Job) -> Result<Option<Collection>, AppendError> {
        let id = job.definition.collection.to_lowercase();
        let collection = self.collection(batch, &id)?;
        Ok(collection.filter(|collection| collection.uid == job.definition.at.collection))
    }

    fn job(&self, batch: &mut Batch, at: &JobRef) -> Result<Option<Job>, AppendError> {
        if let Some(changed) = batch.jobs.jobs.get(at) {
            return Ok(changed.clone());
        }
        let job = match self.firing.get(at) {
            Some(job) => Some(job.clone()),
            None => self.read_job(at)?,
        };
        if let Some(job) = &job {
            batch.jobs.due_in_view.insert(at.clone(), job.progress.due);
        }
        Ok(job)
    }

    fn read_job(&self, at: &JobRef) -> Result<Option<Job>, AppendError> {
        let rows = self.shared.view.job(self.id, at).map_err(|error| self.damaged(&error.to_string()))?;
        let job = rows.map(|rows| record::read_job(&rows)).transpose();
        job.map_err(|error| self.damaged(&format!("job {}: {error}", at.name)))
    }

    pub(super) fn jobs_of(&self, batch: &Batch, collection: &Collection) -> Result<Vec<Job>, AppendError> {
        let rows = self.shared.view.jobs(self.id, collection.uid, None, usize::MAX);
        let rows = rows.map_err(|error| self.damaged(&error.to_string()))?;
        let mut jobs: BTreeMap<JobRef, Job> = BTreeMap::new();
        for (at, rows) in &rows {
            let job = record::read_job(rows);
            jobs.insert(at.clone(), job.map_err(|error| self.damaged(&format!("job {}: {error}", at.name)))?);
        }
        let changed = batch.jobs.jobs.iter().filter(|(at, _)| at.collection == collection.uid);
        for (at, job) in changed {
            match job {
                Some(job) => jobs.insert(at.clone(), job.clone()),
                None => jobs.remove(at),
            };
        }
        Ok(jobs.into_values().collect())
    }

    /// Writes durable changes to the view, and updates the window of jobs due soon.
    pub(super) fn record(&mut self, changes: &mut JobChanges, event: &Event) -> Result<(), AppendError> {
        let (at, progress) = match event {
            Event::Fired(fired) => (&fired.job, &fired.progress),
            Event::Job(fact) => match &**fact {
                JobFact::Put(job) => (&job.definition.at, &job.progress),
                JobFact::Progressed { job, progress } => (job, progress),
                JobFact::Deleted { job } => {
                    changes.due_in_view.insert(job.clone(), None);
                    return self.write(None, event);
                }
                JobFact::CollectionPut(_) | JobFact::CollectionDeleted { .. } => {
                    return self.write(None, event);
                }
            },
            _ => return Ok(()),
        };
        let before = changes.due_in_view.insert(at.clone(), progress.due);
        self.write(before, event)?;
        if let Some(due) = progress.due {
            self.window.note(due, at);
        }
        Ok(())
    }

    /// Caches the jobs whose occurrences are running: they are needed again when those end.
    pub(super) fn keep_at_hand(&mut self, changes: JobChanges) {
        for (at, job) in changes.jobs {
            match job.filter(|job| self.state.occurrences(&job.key()).len() > 0) {
                Some(job) => self.firing.insert(at, job),
                None => self.firing.remove(&at),
            };
        }
    }

    /// A job that cannot be written to the view stops the partition: a later snapshot would let the journal drop it.
    fn write(&self, due_before: Option<Option<Timestamp>>, event: &Event) -> Result<(), AppendError> {
        let written = record::write(&self.shared.view, self.id, due_before, event);
        written.map_err(|error| self.damaged(&error.to_string()))
    }
}

pub(super) fn push(batch: &mut Batch, fact: JobFact) {
    let from = batch.events.len();
    batch.events.push(Event::Job(Box::new(fact)));
    batch.count(from);
}

pub(super) fn job_ref(collection: &Collection, name: &str) -> JobRef {
    JobRef { collection: collection.uid, name: name.to_lowercase().into() }
}
