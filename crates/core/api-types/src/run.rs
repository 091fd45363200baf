//! Runs: in lists, in full, and what can be asked of them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use types::{DecisionKind, RunStatus};

use crate::schema::StepState;
use crate::{ApiSchema, Problem, Time};

/// A run in one line. Of a request deep in a long inbox only the id and the status are given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "RunSummary")]
pub struct RunSummary {
    pub id: String,
    #[serde(default)]
    pub workflow: String,
    #[serde(default)]
    pub version: u32,
    pub status: RunStatus,
    #[serde(default)]
    pub key: String,
    #[serde(default)]
    pub accepted_at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
    /// Why it is not simply going forward or completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The summary of a run that has just been accepted, written without a copy: the answer that is given most often.
#[derive(Debug, Serialize)]
pub struct AcceptedRun<'a> {
    pub id: &'a str,
    pub workflow: &'a str,
    pub version: u32,
    pub status: RunStatus,
    pub key: &'a str,
    pub accepted_at: Time,
}

/// A page of runs, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "RunPage")]
pub struct RunPage {
    pub items: Vec<RunSummary>,
    /// Hand it in as `cursor` to get the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A run with its request, its steps and its timeline.
#[derive(Debug, Clone, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Run")]
pub struct RunDetail {
    #[serde(flatten)]
    #[schema(required("id", "status"))]
    pub summary: RunSummary,
    pub partition: u16,
    /// The request's body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<RawValue>>,
    #[serde(default)]
    #[schema(optional)]
    pub steps: Vec<StepView>,
    /// Steps that wait for a person's decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_steps: Vec<String>,
    #[serde(default)]
    #[schema(optional)]
    pub timeline: Vec<MomentView>,
}

/// Where a step stands.
#[derive(Debug, Clone, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Step")]
pub struct StepView {
    pub name: String,
    /// waiting, running, retrying, done, refused, failed, unknown, undoing, undone or undo_failed
    #[schema(like = StepState)]
    pub state: String,
    /// call, alternative, instead, hand or skipped, once the step is done or undone
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(one_of("call", "alternative", "instead", "hand", "skipped"))]
    pub by: Option<String>,
    /// Attempts that began so far, of calls and undos together.
    pub attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it gave, for the steps after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Box<RawValue>>,
}

/// One entry of a timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Moment")]
pub struct MomentView {
    pub at: Time,
    /// accepted, begun, started, ended, overdue, cancel_asked, undoing, parked, decided, completed, undone, given_up
    #[schema(one_of(
        "accepted",
        "begun",
        "started",
        "ended",
        "overdue",
        "cancel_asked",
        "undoing",
        "parked",
        "decided",
        "completed",
        "undone",
        "given_up"
    ))]
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// do, alternative, undo, do_instead, undo_instead or notice
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(one_of("do", "alternative", "undo", "do_instead", "undo_instead", "notice"))]
    pub work: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// done, refused, transient or unknown
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(one_of("done", "refused", "transient", "unknown"))]
    pub outcome: Option<String>,
    /// The HTTP status of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A person's decision on a parked run.
#[derive(Debug, Clone, Serialize, Deserialize, ApiSchema)]
#[serde(deny_unknown_fields)]
#[schema(name = "DecisionDraft", input)]
pub struct DecisionRequest {
    pub decision: DecisionKind,
    /// The step it is about; not needed for `give_up`, nor for `retry` of everything that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// With `by_hand`: what stands for the step's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Box<RawValue>>,
    /// With `instead`: the action to try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(type = "object")]
    pub action: Option<Box<RawValue>>,
    /// Why; kept in the run's timeline. Needed for all but `retry`.
    #[serde(default)]
    pub note: String,
}

/// The answer to one line of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "BatchAnswer")]
pub struct BatchAnswer {
    /// The line's number, from 1.
    pub line: usize,
    pub status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}
