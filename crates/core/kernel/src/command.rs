//! What comes in: requests, outcomes, ticks of the clock, and what people ask.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use types::{
    BodyHash, DecisionKind, Key, Outcome, RunId, RunStatus, Seq, StepIndex, Timestamp, Work, WorkflowName,
};

use crate::RunNo;
use crate::job::Firing;

/// One input of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The next request of the inbox. `seen` is the body of an ended run with its id, if the view has one.
    Request { inbox: Seq, request: Request, seen: Option<BodyHash> },
    /// An attempt that was owed has ended.
    Outcome { run: RunNo, work: Work, attempt: u32, outcome: Outcome },
    /// An occurrence of a job begins.
    Fire(Box<Firing>),
    /// Time has passed.
    Tick,
    /// Somebody asks for something.
    Command { id: RunId, by: String, command: Command },
}

/// A request as it stands in the inbox. The journal holds it: fields are only added, at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// When the request was acknowledged to the client.
    pub accepted_at: Timestamp,
    pub id: RunId,
    pub workflow: WorkflowName,
    pub version: u32,
    pub key: Key,
    pub body: Bytes,
    pub body_hash: BodyHash,
    /// The W3C trace context that came with it.
    pub trace: Option<String>,
}

/// What can be asked of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Take the run back. `pending` says that its request is accepted but may still be in the inbox.
    Cancel { pending: bool },
    /// A person's decision on a parked run.
    Decide { decision: Decision, note: String },
}

/// What a person decided about a parked run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// Try the failed step again, or every failed step.
    Retry { step: Option<StepIndex> },
    /// Go forward again from this step; it and all that comes after it is called again.
    RetryFrom { step: StepIndex },
    /// Go on as if the step's call or undo had been done.
    Skip { step: StepIndex },
    /// Somebody has done it by hand; `output` stands for the step's own.
    ByHand { step: StepIndex, output: Option<Bytes> },
    /// Try this action (JSON) in place of the step's call or undo.
    Instead { step: StepIndex, action: String },
    /// Leave everything as it is and end the run.
    GiveUp,
}

impl Decision {
    pub fn kind(&self) -> DecisionKind {
        match self {
            Decision::Retry { .. } => DecisionKind::Retry,
            Decision::RetryFrom { .. } => DecisionKind::RetryFrom,
            Decision::Skip { .. } => DecisionKind::Skip,
            Decision::ByHand { .. } => DecisionKind::ByHand,
            Decision::Instead { .. } => DecisionKind::Instead,
            Decision::GiveUp => DecisionKind::GiveUp,
        }
    }

    /// The step that it names, if it names one.
    pub fn step(&self) -> Option<StepIndex> {
        match self {
            Decision::Retry { step } => *step,
            Decision::RetryFrom { step }
            | Decision::Skip { step }
            | Decision::ByHand { step, .. }
            | Decision::Instead { step, .. } => Some(*step),
            Decision::GiveUp => None,
        }
    }
}

/// Why an input changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("no run has this id")]
    NotFound,
    #[error("the run is past its pivot: it only goes forward; undo it by a new request")]
    AfterPivot,
    #[error("the run has ended: it is {0}")]
    Ended(RunStatus),
    #[error("the run is parked: decide on it instead")]
    IsParked,
    #[error("the run is {0}, not parked: there is nothing to decide")]
    NotParked(RunStatus),
    #[error("the workflow of this run has no such step")]
    NoSuchStep,
    #[error("the step does not wait for a decision; these do: {open}")]
    NotOpen { open: String },
    #[error("the run is being undone: it cannot go forward again; submit a new request")]
    OnlyBack,
    /// The attempt was not under way: a late or repeated answer.
    #[error("the attempt is not running")]
    Stale,
}
