//! Why something that was asked of a server did not come to be.

use api_types::Problem;
use types::RunStatus;

/// What a caller can react to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server said no. Its code is stable: `problem.code`, or [`Error::code`].
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// Nobody answered.
    #[error("no server answers at {url} ({cause})")]
    Unreachable {
        url: String,
        cause: String,
        /// Whether the request may have arrived all the same.
        sent: bool,
    },
    /// Somebody answered who is no server of ours, or one of another version.
    #[error("the server's answer is not what this version of sortie understands")]
    Answer(#[from] serde_json::Error),
    /// What was given cannot be sent; nothing was.
    #[error("{0}")]
    Input(String),
    /// The run that was waited for has not ended in time.
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
