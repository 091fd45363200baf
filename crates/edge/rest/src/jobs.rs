//! Collections and jobs, whichever API they are asked through: `azure` and `native` word the answers.

mod collections;
mod error;
mod history;
mod import;
mod path;
mod preview;
mod secrets;

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::Engine;
use engine::jobs::{JobAnswer, JobCommand, JobReader};
use host::Clock;
use kernel::job::{self, Collection, Draft, Expect, Job, JobRejection, Tally};
use serde_json::Value;
use types::{JobState, Key, RunId, Span, Ticks, Uid};
use vault::Vault;
use view::View;

use crate::api::Cluster;
use crate::error::ApiError;

pub(crate) use collections::{scope, stored_collection};
pub(crate) use error::JobsError;
pub(crate) use history::{Attempt, record};
pub(crate) use import::Manner;
pub(crate) use path::CollectionPath;

/// A job with what its running occurrences add to its counters.
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

/// Which jobs are listed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub state: Option<JobState>,
    /// A part of the name, in lower case.
    pub name: Option<String>,
}

impl Wanted {
    fn has(&self, job: &Job) -> bool {
        let name = || job.definition.name.to_lowercase();
        self.state.is_none_or(|state| job.progress.state == state)
            && self.name.as_ref().is_none_or(|part| name().contains(part.as_str()))
    }
}

/// One page of jobs.
pub(crate) struct JobPage {
    pub jobs: Vec<Shown>,
    pub more: bool,
}

/// How often a change is tried again when another change was faster.
const RACES_MAX: usize = 8;

/// How often jobs are read before their counters are shown as they are.
const GLANCES_MAX: usize = 16;

/// Collections and jobs of the partitions that this instance owns. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Jobs {
    pub reader: JobReader,
    pub engine: Engine,
    pub view: View,
    pub vault: Arc<Vault>,
    pub clock: Clock,
    pub limits: schedule::Limits,
    pub history_for: Span,
    pub cluster: Cluster,
}

impl Jobs {
    pub(crate) fn job(&self, collection: &Collection, name: &str) -> Result<Job, JobsError> {
        Ok(self.reader.job(collection, name)?.ok_or(JobRejection::NoJob)?)
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
        let document = schedule::read_job(body, &self.limits, self.clock.wall())?;
        let document = secrets::seal_job(&self.vault, document).await?;
        self.write_job(at, name, &document, writing, job::PutMode::Replace).await
    }

    /// Merges a change into a job. A concurrent change is merged into, not overwritten.
    pub(crate) async fn patch_job(
        &self,
        at: &CollectionPath,
        name: &str,
        body: &Value,
        writing: Writing,
    ) -> Result<(Collection, Shown), JobsError> {
        let patch = secrets::seal_patch(&self.vault, schedule::read_job_patch(body)?).await?;
        for _ in 0..RACES_MAX {
            let collection = self.collection(at)?;
            let job = self.job(&collection, name)?;
            let current = job.definition.version;
            writing.expect.check(Some(current))?;
            let document = stored(&job)?.patched(&patch, &self.limits, self.clock.wall())?;
            let writing = Writing { expect: Expect::Version(current), ..writing };
            match self.write_job(at, name, &document, writing, job::PutMode::Change).await {
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
        document: &schedule::JobDocument,
        writing: Writing,
        manner: job::PutMode,
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
                let jobs = vec![*job];
                let live = self.live(&jobs, at).await?;
                Ok((*collection, show(jobs, live).pop().expect("one job in, one out"), created))
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
        let mut glances = Glances::default();
        loop {
            let collection = self.collection(at)?;
            let jobs = vec![self.job(&collection, name)?];
            let live = self.live(&jobs, at).await?;
            if glances.agree(&live) {
                return Ok((collection, show(jobs, live).pop().expect("one job in, one out")));
            }
        }
    }

    pub(crate) async fn list_jobs(
        &self,
        at: &CollectionPath,
        wanted: &Wanted,
        skip: usize,
        top: usize,
    ) -> Result<(Collection, JobPage), JobsError> {
        let mut glances = Glances::default();
        loop {
            let collection = self.collection(at)?;
            let (reader, of) = (self.reader.clone(), collection.clone());
            let all = tokio::task::spawn_blocking(move || reader.jobs(&of, None, usize::MAX)).await;
            let wanted = all.expect("reading does not panic")?.into_iter().filter(|job| wanted.has(job));
            let mut page: Vec<Job> = wanted.skip(skip).take(top.saturating_add(1)).collect();
            let more = page.len() > top;
            page.truncate(top);
            let live = self.live(&page, at).await?;
            if glances.agree(&live) {
                return Ok((collection, JobPage { jobs: show(page, live), more }));
            }
        }
    }

    /// The running occurrences of jobs in one collection, when all that ended before is in the view.
    async fn live(&self, jobs: &[Job], at: &CollectionPath) -> Result<Vec<Live>, JobsError> {
        let keys: Vec<Key> = jobs.iter().map(Job::key).collect();
        let live = self.engine.query(self.reader.partition_of(&at.id()), move |state| {
            let live = |key: Key| {
                let (mut tally, mut runs) = (Tally::default(), Vec::new());
                for run in state.occurrences(&key) {
                    tally.add(run);
                    runs.push(run.request.id.clone());
                }
                Live { runs, tally }
            };
            keys.into_iter().map(live).collect::<Vec<_>>()
        });
        Ok(live.await.map_err(ApiError::from)?)
    }

    async fn ask(&self, at: &CollectionPath, command: JobCommand) -> Result<JobAnswer, JobsError> {
        Ok(self.engine.job(self.reader.partition_of(&at.id()), command).await?)
    }
}

/// The running occurrences of a job.
struct Live {
    runs: Vec<RunId>,
    tally: Tally,
}

/// Compares the running occurrences before and after a job is read. What ends in between would be counted twice or not at
/// all, so that the job is read again then.
#[derive(Default)]
struct Glances {
    runs: Option<BTreeSet<RunId>>,
    count: usize,
}

impl Glances {
    /// Whether nothing has ended since the last look.
    fn agree(&mut self, live: &[Live]) -> bool {
        let seen: BTreeSet<RunId> = live.iter().flat_map(|live| &live.runs).cloned().collect();
        let agrees = self.runs.as_ref().is_some_and(|before| before.is_subset(&seen));
        self.runs = Some(seen);
        self.count += 1;
        // Where something ends at every look, the next look shows other numbers anyway.
        agrees || self.count == GLANCES_MAX
    }
}

/// Jobs with their running occurrences added to their counters.
fn show(jobs: Vec<Job>, live: Vec<Live>) -> Vec<Shown> {
    let shown = jobs.into_iter().zip(live).map(|(job, live)| {
        let (ended, live) = (job.progress.tally, live.tally);
        let tally = Tally {
            executions: ended.executions + live.executions,
            failures: ended.failures + live.failures,
            faulted: ended.faulted + live.faulted,
            last: ended.last.max(live.last),
        };
        Shown { job, tally }
    });
    shown.collect()
}

/// The document inside a job.
pub(crate) fn stored(job: &Job) -> Result<schedule::JobDocument, JobsError> {
    let read = schedule::JobDocument::from_stored(&job.definition.document);
    read.map_err(|error| ApiError::View(format!("job {}: {error}", job.definition.name)).into())
}

/// The status that the documents show.
pub(crate) fn status(shown: &Shown) -> schedule::JobStatus {
    let progress = &shown.job.progress;
    let extra = [("occurrences", progress.fired), ("skipped", progress.skipped), ("missed", progress.missed)];
    schedule::JobStatus {
        state: progress.state,
        last_execution: shown.tally.last.map(Ticks::from),
        next_execution: progress.next,
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
