//! Why a call failed.

use api_types::Problem;
use types::RunStatus;

/// What a caller can react to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server refused. Its code is stable: `problem.code`, or [`Error::code`].
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// No server responded.
    #[error("no server answers at {url} ({cause})")]
    Unreachable {
        url: String,
        cause: String,
        /// Whether the request may have arrived.
        sent: bool,
    },
    /// The response is not one of this API, or of another version.
    #[error("the server's response is not what this version of sortie understands")]
    Answer(#[from] serde_json::Error),
    /// The request is invalid and was not sent.
    #[error("{0}")]
    Input(String),
    /// The run has not ended in time.
    #[error("run {id} is still {status}")]
    NotEnded { id: String, status: RunStatus },
}

impl Error {
    /// The stable code of a problem, like `unknown_workflow`; docs/reference/errors.md lists them all.
    pub fn code(&self) -> Option<&str> {
        match self {
            Error::Problem(problem) => Some(&problem.code),
            _ => None,
        }
    }
}
