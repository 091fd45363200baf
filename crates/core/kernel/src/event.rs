//! The facts that a partition's journal holds. They are read for ever: variants are only added, at the end.

use serde::{Deserialize, Serialize};
use types::{JobRef, Outcome, RunId, Seq, StepIndex, Timestamp, Work};

use crate::job::{Collection, Job, JobProgress};
use crate::queue::QueueFact;
use crate::{Decision, Request};

/// The number of a run in its partition, in the order taken from the inbox. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct RunNo(pub u64);

/// One thing that happened in a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A request left the inbox and became a run.
    Accepted(Box<Accepted>),
    /// A request left the inbox and became no run.
    Dropped { inbox: Seq, id: RunId, at: Timestamp, reason: DropReason },
    /// A cancel came before its request was taken from the inbox.
    CancelNoted { id: RunId, at: Timestamp, by: String },
    /// Something happened to a run.
    Run { no: RunNo, at: Timestamp, fact: Fact },
    /// An occurrence of a job became a run.
    Fired(Box<Fired>),
    /// Something happened to a job or a collection.
    Job(Box<JobFact>),
    /// Something happened to a queue, a topic or a message.
    Queue(Box<QueueFact>),
}

/// An occurrence of a job as it became a run, and where the job stands since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fired {
    pub no: RunNo,
    pub at: Timestamp,
    pub job: JobRef,
    pub progress: JobProgress,
    pub request: Request,
}

/// Something that happened to a job or a collection: what it is since, whole, so that a replay over a view that is
/// already further ends at the same place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobFact {
    Put(Box<Job>),
    Progressed {
        job: JobRef,
        progress: JobProgress,
    },
    Deleted {
        job: JobRef,
    },
    CollectionPut(Box<Collection>),
    /// `id` is where it was found; its jobs are deleted by facts of their own.
    CollectionDeleted {
        id: String,
    },
}

/// A request as it became a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    pub no: RunNo,
    /// Where the request stood in the inbox.
    pub inbox: Seq,
    /// When the request was taken from the inbox.
    pub at: Timestamp,
    pub request: Request,
}

/// Why a request became no run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DropReason {
    /// The same id and body were accepted before.
    Duplicate,
    /// The same id was accepted before with another body.
    Conflict,
}

/// Something that happened to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// Its turn came among the runs with its key.
    Begun,
    /// An attempt begins: from now on the call is owed.
    Started {
        work: Work,
        attempt: u32,
    },
    /// An attempt ended.
    Ended {
        work: Work,
        attempt: u32,
        outcome: Outcome,
        then: Then,
    },
    /// A step was not done by its time.
    Overdue {
        step: StepIndex,
    },
    /// A client asked to take the run back.
    CancelAsked {
        by: String,
    },
    /// The run stops going forward; what was attempted is undone.
    Undoing {
        cause: Cause,
    },
    /// Only a person can help.
    Parked {
        reason: String,
    },
    /// A person decided.
    Decided {
        decision: Decision,
        by: String,
        note: String,
    },
    Completed,
    Undone,
    GivenUp,
}

/// What follows from the end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Then {
    /// The work is done.
    Done,
    /// The next attempt begins then.
    Retry { at: Timestamp },
    /// The call has used up its retries; its alternative is next.
    Alternative,
    /// The work has failed.
    Failed,
}

/// Why a run is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// A service said no.
    Refused {
        step: StepIndex,
        reason: String,
    },
    /// A step used up its retries, or its outcome stayed unknown.
    Failed {
        step: StepIndex,
        reason: String,
    },
    Cancelled {
        by: String,
    },
    /// The run did not end in time.
    Deadline,
}

/// A fact and when it happened: one entry of a run's timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    pub at: Timestamp,
    pub fact: Fact,
}
