//! Collections and jobs, whichever API they are asked through: `azure` and `native` word the answers.

mod collections;
mod error;
mod history;
mod import;
mod preview;
mod secrets;

use engine::jobs::{JobAnswer, JobCommand};
use journal::Journal;
use kernel::job::{self, Collection, Draft, Expect, Job, JobRejection, Tally};
use serde_json::Value;
use words::{JobState, Key, Span, Ticks, Uid};

use crate::api::Api;
use crate::azure::CollectionPath;
use crate::error::ApiError;

pub(crate) use collections::stored_collection;
pub(crate) use error::JobsError;
pub(crate) use history::Attempt;
pub(crate) use import::Manner;

/// A job with what its occurrences under way add to its counters.
pub(crate) struct Shown {
    pub job: Job,
    pub tally: Tally,
}

/// How a job is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writing {
    pub expect: Expect,
    /// How long after now "at once" is.
    pub delay: Span,
}

/// One page of jobs.
pub(crate) struct JobPage {
    pub jobs: Vec<Shown>,
    pub more: bool,
}

/// How often a change is tried again when somebody else was quicker.
const RACES_MAX: usize = 8;

impl<J: Journal> Api<J> {
    pub(crate) fn job(&self, collection: &Collection, name: &str) -> Result<Job, JobsError> {
        Ok(self.jobs.job(collection, name)?.ok_or(JobRejection::NoJob)?)
    }

    /// Writes a job whole. True when it is new.
    pub(crate) async fn put_job(
        &self,
        at: &CollectionPath,
        name: &str,
        body: &Value,
        writing: Writing,
    ) -> Result<(Collection, Shown, bool), JobsError> {
        check_name(name)?;
        let document = jobs::read_job(body, &self.job_limits, self.clock.wall())?;
        let document = secrets::seal_job(&self.vault, document).await?;
        self.write_job(at, name, &document, writing, job::Manner::Replace).await
    }

    /// Merges a change into a job. Somebody else's change in between is merged into, not overwritten.
    pub(crate) async fn patch_job(
        &self,
        at: &CollectionPath,
        name: &str,
        body: &Value,
        writing: Writing,
    ) -> Result<(Collection, Shown), JobsError> {
        let patch = secrets::seal_patch(&self.vault, jobs::read_job_patch(body)?).await?;
        for _ in 0..RACES_MAX {
            let collection = self.collection(at)?;
            let job = self.job(&collection, name)?;
            let current = job.definition.version;
            writing.expect.check(Some(current))?;
            let document = stored(&job)?.patched(&patch, &self.job_limits, self.clock.wall())?;
            let writing = Writing { expect: Expect::Version(current), ..writing };
            match self.write_job(at, name, &document, writing, job::Manner::Change).await {
                Err(JobsError::Rejected(JobRejection::Changed { .. })) => continue,
                written => return written.map(|(collection, job, _)| (collection, job)),
            }
        }
        Err(JobsError::Conflict("the job is being changed by others; try again".to_owned()))
    }

    async fn write_job(
        &self,
        at: &CollectionPath,
        name: &str,
        document: &jobs::JobDocument,
        writing: Writing,
        manner: job::Manner,
    ) -> Result<(Collection, Shown, bool), JobsError> {
        let draft = Draft {
            name: name.to_owned(),
            uid: new_uid(),
            spec: document.spec(),
            document: document.stored(),
            delay: writing.delay,
        };
        let (collection, expect) = (at.id(), writing.expect);
        let command = JobCommand::PutJob { collection, draft: Box::new(draft), expect, manner };
        match self.ask(at, command).await? {
            JobAnswer::Job { collection, job, created } => {
                let shown = self.with_live(vec![*job], at).await?.pop().expect("one job in, one out");
                Ok((*collection, shown, created))
            }
            other => unreachable!("a job is answered with a job: {other:?}"),
        }
    }

    pub(crate) async fn delete_job(
        &self,
        at: &CollectionPath,
        name: &str,
        expect: Expect,
    ) -> Result<(), JobsError> {
        let command = JobCommand::DeleteJob { collection: at.id(), name: name.to_owned(), expect };
        self.ask(at, command).await.map(drop)
    }

    /// Fires a job now. The id of its run.
    pub(crate) async fn run_job(&self, at: &CollectionPath, name: &str) -> Result<String, JobsError> {
        let command = JobCommand::RunJob { collection: at.id(), name: name.to_owned() };
        match self.ask(at, command).await? {
            JobAnswer::Fired { run } => Ok(run.to_string()),
            other => unreachable!("a firing is answered with a run: {other:?}"),
        }
    }

    pub(crate) async fn show_job(
        &self,
        at: &CollectionPath,
        name: &str,
    ) -> Result<(Collection, Shown), JobsError> {
        let collection = self.collection(at)?;
        let job = self.job(&collection, name)?;
        let shown = self.with_live(vec![job], at).await?.pop().expect("one job in, one out");
        Ok((collection, shown))
    }

    pub(crate) async fn list_jobs(
        &self,
        at: &CollectionPath,
        state: Option<JobState>,
        skip: usize,
        top: usize,
    ) -> Result<(Collection, JobPage), JobsError> {
        let collection = self.collection(at)?;
        let (reader, of) = (self.jobs.clone(), collection.clone());
        let all = tokio::task::spawn_blocking(move || reader.jobs(&of, None, usize::MAX)).await;
        let wanted = all
            .expect("reading does not panic")?
            .into_iter()
            .filter(|job| state.is_none_or(|state| job.standing.state == state));
        let mut page: Vec<Job> = wanted.skip(skip).take(top.saturating_add(1)).collect();
        let more = page.len() > top;
        page.truncate(top);
        let jobs = self.with_live(page, at).await?;
        Ok((collection, JobPage { jobs, more }))
    }

    /// Adds what is under way to the counters of jobs in one collection.
    async fn with_live(&self, jobs: Vec<Job>, at: &CollectionPath) -> Result<Vec<Shown>, JobsError> {
        let keys: Vec<Key> = jobs.iter().map(Job::key).collect();
        let added = self.engine.query(self.jobs.partition_of(&at.id()), move |state| {
            let tally = |key: &Key| {
                let mut tally = Tally::default();
                state.occurrences(key).for_each(|run| tally.add(run));
                tally
            };
            keys.iter().map(tally).collect::<Vec<_>>()
        });
        let added = added.await.map_err(ApiError::from)?;
        let shown = jobs.into_iter().zip(added).map(|(job, live)| {
            let ended = job.standing.tally;
            let tally = Tally {
                executions: ended.executions + live.executions,
                failures: ended.failures + live.failures,
                faulted: ended.faulted + live.faulted,
                last: ended.last.max(live.last),
            };
            Shown { job, tally }
        });
        Ok(shown.collect())
    }

    async fn ask(&self, at: &CollectionPath, command: JobCommand) -> Result<JobAnswer, JobsError> {
        Ok(self.engine.job(self.jobs.partition_of(&at.id()), command).await?)
    }
}

/// The document inside a job.
pub(crate) fn stored(job: &Job) -> Result<jobs::JobDocument, JobsError> {
    let read = jobs::JobDocument::from_stored(&job.definition.document);
    read.map_err(|error| ApiError::View(format!("job {}: {error}", job.definition.name)).into())
}

/// The status that the documents show.
pub(crate) fn status(shown: &Shown) -> jobs::Status {
    let standing = &shown.job.standing;
    let extra = [("occurrences", standing.fired), ("skipped", standing.skipped), ("missed", standing.missed)];
    jobs::Status {
        state: standing.state,
        last_execution: shown.tally.last.map(Ticks::from),
        next_execution: standing.next,
        executions: shown.tally.executions,
        failures: shown.tally.failures,
        faults: shown.tally.faulted,
        extra: extra.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect(),
    }
}

fn new_uid() -> Uid {
    Uid(uuid::Uuid::now_v7().into_bytes())
}

/// Names are part of paths, of lists in an order, and of what people type.
fn check_name(name: &str) -> Result<(), JobsError> {
    let allowed = |c: char| !c.is_control() && !matches!(c, '/' | '\\' | '?' | '#' | '%' | '~');
    if (1..=100).contains(&name.len()) && name.chars().all(allowed) && name != "." && name != ".." {
        return Ok(());
    }
    let text = "name: 1 to 100 bytes, without control characters and / \\ ? # % ~";
    Err(JobsError::Bad(text.to_owned()))
}
