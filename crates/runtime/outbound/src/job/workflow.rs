//! The action that starts a run of a workflow.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use serde_json::json;
use types::{Outcome, Span};

use crate::job::JobCall;
use crate::job::action::WorkflowAction;

/// Starts runs: the ingest in the product, a list in tests.
pub trait Starter: Send + Sync + 'static {
    /// Makes the request durable. Starting the same id again with the same body is a success.
    fn start(&self, request: StartRequest) -> Starting<'_>;
}

/// A run being started; its result is the run's id.
pub type Starting<'a> = Pin<Box<dyn Future<Output = Result<String, StartError>> + Send + 'a>>;

/// The run to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartRequest {
    pub workflow: String,
    /// The action's own, or the occurrence's execution tag: all attempts of an occurrence start one run.
    pub id: String,
    /// JSON.
    pub body: Bytes,
}

/// Why the run was not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct StartError {
    pub reason: String,
    pub retry_after: Option<Span>,
}

pub(super) async fn start(starter: &dyn Starter, action: WorkflowAction, call: &JobCall<'_>) -> Outcome {
    let WorkflowAction { name, id, body } = action;
    let id = id.unwrap_or_else(|| call.execution_tag.to_owned());
    match starter.start(StartRequest { workflow: name.clone(), id, body }).await {
        Ok(id) => {
            let message = format!("Workflow Action - Run '{id}' of workflow '{name}' started");
            let output = json!({ "status": 202, "message": message }).to_string().into();
            Outcome::Done { status: 202, output }
        }
        Err(StartError { reason, retry_after }) => {
            let reason = format!("Workflow Action - Run of workflow '{name}' not started: {reason}");
            Outcome::Transient { status: None, reason, retry_after }
        }
    }
}
