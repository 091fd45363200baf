//! Why a request is not accepted.

use journal::AppendError;
use types::{PartitionId, RunId};
use workflow::{BodyProblem, SchemaProblem};

use crate::admission::Refusal;
use crate::limits::BODY_BYTES_MAX;

/// Why a request was not accepted. Nothing of it remains.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    #[error("a body of {bytes} bytes is larger than {BODY_BYTES_MAX}")]
    TooLarge { bytes: usize },
    #[error("the body is {0}")]
    NotJson(String),
    #[error("the body does not match the workflow's schema")]
    Schema(Vec<SchemaProblem>),
    /// The id or the key cannot be used; says why.
    #[error("{0}")]
    Unfit(String),
    #[error(
        "run {id} exists with another body or workflow; use another id, or send the same bytes to the same workflow"
    )]
    Conflict { id: RunId },
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("the request could not be made durable: {0}")]
    Journal(#[from] AppendError),
    #[error("the view cannot be read: {0}")]
    View(String),
    /// No instance would carry it out, and whether its id is taken cannot be checked.
    #[error("partition {partition} is stopped; see /readyz")]
    Stopped { partition: PartitionId },
}

impl From<BodyProblem> for SubmitError {
    fn from(problem: BodyProblem) -> SubmitError {
        match problem {
            BodyProblem::Json(invalid) => SubmitError::NotJson(invalid.to_string()),
            BodyProblem::Schema(problems) => SubmitError::Schema(problems),
            BodyProblem::Accept(problem) => SubmitError::Unfit(problem.to_string()),
        }
    }
}
