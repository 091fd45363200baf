//! Jobs and their collections: the records, and the pure decisions about them.
//!
//! The records live in the view, because a million of them do not fit in memory; whoever asks for a decision hands
//! them in. An occurrence becomes a run of one step: retries, the alternative, recovery and history are those of
//! every run.

mod change;
mod collection;
mod due;
mod ended;
mod occurrence;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use types::{CollectionSpec, JobRef, JobSpec, JobState, Key, Span, Ticks, Timestamp, Uid};

pub use change::{Draft, Expect, PutMode, put};
pub use collection::{CollectionDraft, put_collection};
pub use due::{Due, Firing, due, run_now};
pub use ended::{Tally, ended};
pub use occurrence::{Occurrence, STEP, WORKFLOW, job_of, plan_of};

/// A collection of jobs, as the view keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collection {
    pub uid: Uid,
    /// Subscription, resource group and name as they were written; the same in lower case is where it is found.
    pub subscription: String,
    pub group: String,
    pub name: String,
    pub version: u32,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
    pub spec: CollectionSpec,
    /// How many jobs it holds.
    pub jobs: u32,
    /// What the client wrote, in its canonical form.
    pub document: String,
}

/// A job: what a person wrote, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub definition: JobDefinition,
    pub progress: JobProgress,
}

/// What a person wrote of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDefinition {
    pub at: JobRef,
    pub uid: Uid,
    /// As it was written.
    pub name: String,
    /// The collection as `subscription/group/name`, as it was written.
    pub collection: String,
    pub version: u32,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
    pub spec: JobSpec,
    /// What the client wrote, in its canonical form, with secrets sealed.
    pub document: String,
}

/// Where a job stands. Small: it is written with every occurrence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobProgress {
    pub state: JobState,
    /// Disabled because its collection is; enabled again with it.
    pub held: bool,
    /// The next occurrence.
    pub next: Option<Ticks>,
    /// When the job wants attention: for its next occurrence, or to be forgotten.
    pub due: Option<Timestamp>,
    /// Where the grid of a rule without a start of its own begins.
    pub anchor: Ticks,
    /// The newest planned occurrence that was fired: none before it is fired any more.
    pub newest: Option<Ticks>,
    /// Occurrences since the timing was last set; `count` bounds them.
    pub counted: u32,
    /// Occurrences ever, those by hand as well.
    pub fired: u64,
    /// Occurrences left out because the one before was still under way.
    pub skipped: u64,
    /// Occurrences left out because their time passed while nobody could fire them.
    pub missed: u64,
    /// What the ended occurrences came to.
    pub tally: Tally,
    /// Whether the newest occurrence that ended has failed.
    pub last_failed: bool,
}

/// Why something about jobs was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobRejection {
    #[error("no collection has this name")]
    NoCollection,
    #[error("no job has this name")]
    NoJob,
    #[error("it exists already")]
    Exists,
    #[error("it is at version {current}, not at the version that If-Match names")]
    Changed { current: u32 },
    #[error("the collection has reached its quota of {max} jobs")]
    TooManyJobs { max: u32 },
    #[error(
        "properties.recurrence: it recurs every {period}, the quota of the collection allows every {min}"
    )]
    TooOften { period: Span, min: Span },
    #[error("action.request.authentication: the plan of the collection does not offer it")]
    NoAuthentication,
    #[error("the collection holds {jobs} jobs, more than the {max} of the quota asked for")]
    QuotaTooLow { jobs: u32, max: u32 },
    #[error("job {job} does not fit what is asked for: {reason}")]
    JobDoesNotFit { job: String, reason: String },
    #[error("the job is {state}, which is final: it can be replaced or deleted, not changed")]
    Final { state: JobState },
    #[error("the jobs take {bytes} bytes, more than the {bytes_max} of one import: import them in parts")]
    TooMuch { bytes: usize, bytes_max: usize },
    #[error("the job is running, and its occurrences do not overlap")]
    Running,
}

/// How long a finished job is kept.
pub const FINISHED_KEPT: Span = Span::from_secs(60 * 24 * 3600);

impl Job {
    /// The key that its occurrences share.
    pub fn key(&self) -> Key {
        Key::new(&self.definition.uid.to_string()).expect("hex digits make a key")
    }
}

impl Collection {
    /// Where the collection is found: its full name in lower case.
    pub fn id(&self) -> String {
        collection_id(&self.subscription, &self.group, &self.name)
    }

    /// Its full name as it was written.
    pub fn full_name(&self) -> String {
        format!("{}/{}/{}", self.subscription, self.group, self.name)
    }
}

/// Where a collection is found: its full name in lower case, because names differ by more than case.
pub fn collection_id(subscription: &str, group: &str, name: &str) -> String {
    format!("{subscription}/{group}/{name}").to_lowercase()
}

impl JobProgress {
    fn new(anchor: Ticks) -> JobProgress {
        JobProgress {
            state: JobState::Enabled,
            held: false,
            next: None,
            due: None,
            anchor,
            newest: None,
            counted: 0,
            fired: 0,
            skipped: 0,
            missed: 0,
            tally: Tally::default(),
            last_failed: false,
        }
    }

    /// Plans the next occurrence, or lets the job come to rest until it is forgotten.
    fn plan(&mut self, job: &JobDefinition, next: Option<Ticks>, wall: Timestamp) {
        self.next = next;
        self.due = Some(match next {
            Some(next) => next.ceil() + jitter(job, next),
            None => wall + FINISHED_KEPT,
        });
    }

    /// Nothing is planned, and nothing will be.
    fn finish(&mut self, failed: bool) {
        self.state = if failed { JobState::Faulted } else { JobState::Completed };
    }
}

/// The share of the jitter that an occurrence gets: the same on every machine.
fn jitter(job: &JobDefinition, occurrence: Ticks) -> Span {
    let most_ms = job.spec.timing.jitter.as_ms();
    if most_ms == 0 {
        return Span::ZERO;
    }
    let (low, high) = job.uid.0.split_at(8);
    let part = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().expect("half of 16 bytes"));
    let seed = part(low) ^ part(high).rotate_left(32) ^ occurrence.0.cast_unsigned();
    Span::from_ms(types::retry::mix(seed) % (most_ms + 1))
}
