//! Workflows as the API shows them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ApiSchema, Time};

/// A workflow version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Workflow")]
pub struct WorkflowView {
    pub name: String,
    pub version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    pub serial: bool,
    pub steps: Vec<StepOutline>,
    pub applied_at: Time,
    pub applied_by: String,
    /// The definition as it was applied; left out of lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The JSON Schema that requests are checked against; left out of lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

/// A step of a workflow, in outline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "StepOutline")]
pub struct StepOutline {
    pub name: String,
    pub after: Vec<String>,
    pub alternative: bool,
    pub undo: bool,
    pub pivot: bool,
}

/// All workflows, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "WorkflowList")]
pub struct WorkflowList {
    pub items: Vec<WorkflowView>,
}

/// What applying a workflow came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Applied")]
pub struct AppliedView {
    pub name: String,
    pub version: u32,
    /// False when the same text was already active.
    pub changed: bool,
}
