//! Why something about collections and jobs was not done.

use engine::jobs::{JobError, ReadJobError};
use kernel::job::JobRejection;

use crate::error::ApiError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum JobsError {
    #[error("{0}")]
    Problems(#[from] schedule::Problems),
    #[error("{0}")]
    Bad(String),
    #[error("{0}")]
    Conflict(String),
    #[error(transparent)]
    Rejected(#[from] JobRejection),
    #[error(transparent)]
    Api(#[from] ApiError),
}

impl From<JobError> for JobsError {
    fn from(error: JobError) -> JobsError {
        match error {
            JobError::Rejected(rejection) => JobsError::Rejected(rejection),
            JobError::Stopped { partition, reason } => {
                ApiError::Command(engine::CommandError::Stopped { partition, reason }).into()
            }
            JobError::NotHeld { partition } => {
                ApiError::Command(engine::CommandError::NotHeld { partition }).into()
            }
            JobError::Unknown { partition } => {
                ApiError::Command(engine::CommandError::Unknown { partition }).into()
            }
        }
    }
}

impl From<ReadJobError> for JobsError {
    fn from(error: ReadJobError) -> JobsError {
        ApiError::View(error.to_string()).into()
    }
}
