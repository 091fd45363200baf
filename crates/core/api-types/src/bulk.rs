//! Doing one thing to many runs: what is asked for, what it would do, and how far it has come.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use types::RunStatus;

use crate::schema::RunIdText;
use crate::{ApiSchema, DecisionKind, Time};

/// What is to be done, and to which runs: those that `select` finds, or those that `ids` names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[serde(deny_unknown_fields)]
#[schema(name = "BulkDraft", input)]
pub struct BulkRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<BulkSelect>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(like = Vec<RunIdText>, max_items = 1000)]
    pub ids: Vec<String>,
    pub action: BulkAction,
    /// With `resolve`: skip, by_hand or give_up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(like = String, one_of("skip", "by_hand", "give_up"))]
    pub decision: Option<DecisionKind>,
    /// With `resolve`: the step that is decided on; not needed for `give_up`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Why; kept in the timelines.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schema(max_length = 1000)]
    pub note: String,
    /// Runs per second at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000, default = 50)]
    pub rate: Option<u32>,
    /// Only say what would be done.
    #[serde(default)]
    #[schema(default = false)]
    pub dry_run: bool,
}

/// Which runs are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[serde(deny_unknown_fields)]
#[schema(name = "BulkSelect", input)]
pub struct BulkSelect {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]+$")]
    pub workflow: Option<String>,
    /// `retry` and `resolve` are for parked runs, `cancel` for queued and running ones; `rerun` needs a selection of ended ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(like = String, one_of("queued", "running", "undoing", "parked", "completed", "undone", "given_up"))]
    pub status: Option<RunStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9._~:@/+, -]+$")]
    pub key: Option<String>,
    /// Accepted at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    /// Accepted before this time; never later than the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Time>,
    /// Text that stands somewhere in the run's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1)]
    pub reason: Option<String>,
}

/// What is done to each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[serde(rename_all = "snake_case")]
pub enum BulkAction {
    /// Parked runs try again what failed.
    Retry,
    /// Runs under way turn back.
    Cancel,
    /// Parked runs get a decision.
    Resolve,
    /// The requests of ended runs are handed in again.
    Rerun,
}

impl BulkAction {
    pub fn as_str(self) -> &'static str {
        match self {
            BulkAction::Retry => "retry",
            BulkAction::Cancel => "cancel",
            BulkAction::Resolve => "resolve",
            BulkAction::Rerun => "rerun",
        }
    }
}

/// How many runs there are: exactly, or more than could be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "BulkCount")]
pub struct BulkCount {
    pub count: u64,
    /// Whether there may be more.
    #[serde(default)]
    pub at_least: bool,
}

/// What a dry run found. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "BulkPreview")]
pub struct BulkPreview {
    pub matched: BulkCount,
    /// The first of them.
    pub sample: Vec<BulkSample>,
}

/// A run, and what would happen to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "BulkSample")]
pub struct BulkSample {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What would happen, in words.
    pub then: String,
}

/// Where a bulk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[serde(rename_all = "snake_case")]
pub enum BulkState {
    Running,
    /// It ended before it was through: a person stopped it, or it could not go on.
    Stopped,
    Done,
}

/// A bulk: what it does, for whom, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Bulk")]
pub struct BulkView {
    pub id: String,
    pub state: BulkState,
    pub action: BulkAction,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// As asked for; none when ids were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<BulkSelect>,
    /// How many runs were selected when it began, when that has been counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matched: Option<BulkCount>,
    pub done: u64,
    pub skipped: BulkSkipped,
    pub failed: BulkFailed,
    pub rate: u32,
    /// The problem that is being waited out, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
    pub by: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    pub started_at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Time>,
}

/// Runs to which nothing had to be done, or could be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "BulkSkipped")]
pub struct BulkSkipped {
    pub count: u64,
    /// How many for which reason.
    #[serde(default)]
    pub reasons: BTreeMap<String, u64>,
}

/// Runs to which it could not be done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "BulkFailed")]
pub struct BulkFailed {
    pub count: u64,
    /// The first of them.
    #[serde(default)]
    pub sample: Vec<BulkFailure>,
}

/// A run to which it could not be done, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "BulkFailure")]
pub struct BulkFailure {
    pub id: String,
    pub code: String,
    pub problem: String,
}

/// Bulks, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "BulkList")]
pub struct BulkList {
    pub items: Vec<BulkView>,
}
