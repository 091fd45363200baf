//! The one table from what went wrong to a status, a stable code and a problem.

mod codes;

use api_types::{FieldError, Problem};
use axum::response::{IntoResponse, Response};
use engine::queues::QueueError;
use engine::{ApplyError, CommandError, DeleteError, KeepError};
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use ingest::{Refusal, RefusalReason, SubmitError};
use journal::AppendError;
use kernel::Rejection;
use kernel::job::JobRejection;
use kernel::queue::QueueRejection;
use types::PartitionId;

pub use codes::{CODES, Code};

use crate::auth::access::Denied;
use crate::jobs::JobsError;
use crate::region::{RegionRefusal, StandingBy};

/// Marks a reply that says only that another instance must be asked.
pub(crate) const NOT_HELD: HeaderName = HeaderName::from_static("sortie-not-held");

/// Every error that the API replies with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiError {
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    UnknownWorkflow(String),
    #[error("{0}")]
    BadRequest(String),
    #[error("{0}")]
    MediaType(String),
    #[error("{method} is not supported here")]
    Method {
        method: http::Method,
        /// The methods that are supported; empty where they are not known.
        allow: &'static str,
    },
    #[error("the body is larger than the {bytes_max} bytes that this route accepts")]
    BodyTooLarge { bytes_max: usize },
    #[error("the body did not arrive in time")]
    BodyTimeout,
    #[error("the connection broke before the whole body arrived: {0}")]
    BodyBroken(String),
    #[error("{}", denied(.0))]
    Denied(Denied),
    #[error(transparent)]
    Submit(#[from] SubmitError),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Apply(#[from] ApplyError),
    #[error("the definition cannot be used")]
    Invalid(workflow::Problems),
    #[error(transparent)]
    Delete(#[from] DeleteError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Keep(#[from] KeepError),
    #[error("{0}")]
    TooManyBulks(String),
    #[error("{0}")]
    View(String),
    #[error("the job or collection cannot be used: {0}")]
    BadJob(schedule::Problems),
    #[error(transparent)]
    Job(JobRejection),
    #[error("{0}")]
    JobConflict(String),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error("{0}")]
    BadQueue(String),
    #[error("{0}")]
    BadMessage(String),
    #[error("{0}")]
    QueueChanged(String),
    #[error("it already exists")]
    QueueExists,
    #[error("region {} is not active{}", .0.region, active_instead(.0))]
    Standby(StandingBy),
    #[error(transparent)]
    Region(#[from] RegionRefusal),
    #[error("partition {partition} is changing owners, or no instance owns it; try again")]
    NotHeld { partition: PartitionId },
    #[error(
        "instance {instance} did not answer: the request may or may not have been carried out; check before you try again"
    )]
    OutcomeUnknown { instance: String },
    /// Something may be in a partition without an owner.
    #[error("{0}; try again")]
    Unsure(String),
    #[error("this instance does not have the role {role}; send the request to one that does")]
    WrongRole { role: &'static str },
}

impl From<JobsError> for ApiError {
    fn from(error: JobsError) -> ApiError {
        match error {
            JobsError::Problems(problems) => ApiError::BadJob(problems),
            JobsError::Bad(text) => ApiError::BadRequest(text),
            JobsError::Conflict(text) => ApiError::JobConflict(text),
            JobsError::Rejected(rejection) => ApiError::Job(rejection),
            JobsError::Api(error) => error,
        }
    }
}

fn denied(denied: &Denied) -> String {
    let text = match denied {
        Denied::Signature(error) => return error.to_string(),
        Denied::Elsewhere => "the token is for another queue or topic",
        Denied::Unknown => "send a valid API token as 'Authorization: Bearer TOKEN'",
        Denied::Forbidden => "the role of this token does not allow it",
        Denied::Foreign => {
            "a server without tokens answers only clients on this machine, not pages of other sites"
        }
    };
    text.to_owned()
}

fn active_instead(standing_by: &StandingBy) -> String {
    match &standing_by.active {
        Some(active) => format!("; send the request to {active}, which is"),
        None => ", and no other region is known to be active".to_owned(),
    }
}

impl ApiError {
    /// The table. Codes are never renamed and never reused; `CODES` says what they mean.
    pub(crate) fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            ApiError::NotFound(_) => (StatusCode::NOT_FOUND, "not_found"),
            ApiError::UnknownWorkflow(_) => (StatusCode::NOT_FOUND, "unknown_workflow"),
            ApiError::BadRequest(_) => (StatusCode::BAD_REQUEST, "bad_request"),
            ApiError::MediaType(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type"),
            ApiError::Method { .. } => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            ApiError::BodyTooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            ApiError::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, "body_timeout"),
            ApiError::BodyBroken(_) => (StatusCode::BAD_REQUEST, "body_broken"),
            ApiError::Denied(Denied::Unknown | Denied::Signature(_) | Denied::Elsewhere) => {
                (StatusCode::UNAUTHORIZED, "unauthorized")
            }
            ApiError::Denied(Denied::Forbidden | Denied::Foreign) => (StatusCode::FORBIDDEN, "forbidden"),
            ApiError::Submit(error) => submit_code(error),
            ApiError::Refused(refusal) => refusal_code(refusal),
            ApiError::Apply(ApplyError::Invalid(_)) | ApiError::Invalid(_) => {
                (StatusCode::BAD_REQUEST, "invalid_definition")
            }
            ApiError::Apply(ApplyError::RouteTaken { .. }) => (StatusCode::CONFLICT, "route_taken"),
            ApiError::Apply(ApplyError::Changed { .. }) => (StatusCode::PRECONDITION_FAILED, "changed"),
            ApiError::Apply(ApplyError::Journal(error)) => journal_code(error),
            ApiError::Apply(ApplyError::NotHeld) | ApiError::Delete(DeleteError::NotHeld) => NOT_HELD_CODE,
            ApiError::Delete(DeleteError::NotFound) => (StatusCode::NOT_FOUND, "unknown_workflow"),
            ApiError::Delete(DeleteError::Journal(error)) => journal_code(error),
            ApiError::Keep(error) => keep_code(error),
            ApiError::TooManyBulks(_) => (StatusCode::CONFLICT, "too_many_bulks"),
            ApiError::Command(CommandError::Rejected(rejection)) => rejection_code(rejection),
            ApiError::Command(CommandError::Stopped { .. }) => {
                (StatusCode::SERVICE_UNAVAILABLE, "partition_stopped")
            }
            ApiError::Command(CommandError::NotHeld { .. }) => NOT_HELD_CODE,
            ApiError::Command(CommandError::Unknown { .. }) => OUTCOME_UNKNOWN_CODE,
            ApiError::View(_) => (StatusCode::SERVICE_UNAVAILABLE, "view_unavailable"),
            ApiError::BadJob(_) => (StatusCode::BAD_REQUEST, "invalid_job"),
            ApiError::Job(rejection) => job_code(rejection),
            ApiError::JobConflict(_) => (StatusCode::CONFLICT, "job_conflict"),
            ApiError::Queue(error) => queue_code(error),
            ApiError::BadQueue(_) => (StatusCode::BAD_REQUEST, "invalid_queue"),
            ApiError::BadMessage(_) => (StatusCode::BAD_REQUEST, "invalid_message"),
            ApiError::QueueChanged(_) => (StatusCode::PRECONDITION_FAILED, "changed"),
            ApiError::QueueExists => (StatusCode::PRECONDITION_FAILED, "exists"),
            ApiError::Standby(_) => (StatusCode::SERVICE_UNAVAILABLE, "standby"),
            ApiError::Region(RegionRefusal::Conflict(_)) => (StatusCode::CONFLICT, "region_conflict"),
            ApiError::Region(RegionRefusal::Unavailable(_)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "region_unavailable")
            }
            ApiError::NotHeld { .. } => NOT_HELD_CODE,
            ApiError::OutcomeUnknown { .. } => OUTCOME_UNKNOWN_CODE,
            ApiError::Unsure(_) => (StatusCode::SERVICE_UNAVAILABLE, "incomplete"),
            ApiError::WrongRole { .. } => (StatusCode::MISDIRECTED_REQUEST, "wrong_role"),
        }
    }

    /// Whether another instance must be asked, now or in a moment.
    pub(crate) fn is_not_held(&self) -> bool {
        self.status_and_code() == NOT_HELD_CODE
    }

    fn retry_after_secs(&self) -> Option<u64> {
        match self {
            ApiError::Refused(refusal) | ApiError::Submit(SubmitError::Refused(refusal)) => {
                Some(refusal.retry_after_secs)
            }
            ApiError::Submit(SubmitError::Journal(_) | SubmitError::View(_)) | ApiError::View(_) => Some(5),
            ApiError::Unsure(_) => Some(1),
            error if error.is_not_held() => Some(1),
            ApiError::Command(CommandError::Stopped { .. })
            | ApiError::Queue(QueueError::Stopped { .. })
            | ApiError::Submit(SubmitError::Stopped { .. }) => Some(30),
            ApiError::Queue(QueueError::NoRoom | QueueError::NoMemory) | ApiError::Standby(_) => Some(5),
            _ => None,
        }
    }

    fn field_errors(&self) -> Vec<FieldError> {
        match self {
            ApiError::Submit(SubmitError::Schema(problems)) => problems
                .iter()
                .map(|problem| FieldError {
                    pointer: Some(problem.pointer.clone()),
                    field: None,
                    line: None,
                    message: problem.message.clone(),
                })
                .collect(),
            ApiError::Apply(ApplyError::Invalid(problems)) | ApiError::Invalid(problems) => problems
                .iter()
                .map(|problem| FieldError {
                    pointer: None,
                    field: Some(problem.field.clone()),
                    line: problem.line,
                    message: problem.message.clone(),
                })
                .collect(),
            ApiError::BadJob(problems) => problems
                .iter()
                .map(|problem| FieldError {
                    pointer: None,
                    field: Some(problem.field.clone()),
                    line: None,
                    message: problem.message.clone(),
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn problem(&self) -> Problem {
        let (status, code) = self.status_and_code();
        Problem {
            kind: format!("/docs/errors#{code}"),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            code: code.to_owned(),
            detail: self.to_string(),
            errors: self.field_errors(),
        }
    }
}

/// Another instance owns the partition, or none at this moment: a retry finds it soon.
const NOT_HELD_CODE: (StatusCode, &str) = (StatusCode::SERVICE_UNAVAILABLE, "not_held");
const OUTCOME_UNKNOWN_CODE: (StatusCode, &str) = (StatusCode::BAD_GATEWAY, "outcome_unknown");

fn keep_code(error: &KeepError) -> (StatusCode, &'static str) {
    match error {
        KeepError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
        KeepError::NameTooLong { .. } => (StatusCode::BAD_REQUEST, "bad_request"),
        KeepError::TooMany => (StatusCode::CONFLICT, "quota"),
        KeepError::Changed { .. } => (StatusCode::PRECONDITION_FAILED, "changed"),
        KeepError::NotHeld => NOT_HELD_CODE,
        KeepError::Journal(error) => journal_code(error),
    }
}

fn submit_code(error: &SubmitError) -> (StatusCode, &'static str) {
    match error {
        SubmitError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
        SubmitError::NotJson(_) => (StatusCode::BAD_REQUEST, "not_json"),
        SubmitError::Schema(_) => (StatusCode::BAD_REQUEST, "schema"),
        SubmitError::Unfit(_) => (StatusCode::BAD_REQUEST, "bad_id"),
        SubmitError::Conflict { .. } => (StatusCode::CONFLICT, "id_conflict"),
        SubmitError::Refused(refusal) => refusal_code(refusal),
        SubmitError::Journal(error) => journal_code(error),
        SubmitError::View(_) => (StatusCode::SERVICE_UNAVAILABLE, "view_unavailable"),
        SubmitError::Stopped { .. } => (StatusCode::SERVICE_UNAVAILABLE, "partition_stopped"),
    }
}

fn refusal_code(refusal: &Refusal) -> (StatusCode, &'static str) {
    match refusal.reason {
        RefusalReason::Backlog => (StatusCode::TOO_MANY_REQUESTS, "backlog_full"),
        RefusalReason::Disk => (StatusCode::SERVICE_UNAVAILABLE, "disk_full"),
        RefusalReason::Memory => (StatusCode::SERVICE_UNAVAILABLE, "memory_full"),
    }
}

fn journal_code(error: &AppendError) -> (StatusCode, &'static str) {
    match error {
        AppendError::Full => (StatusCode::SERVICE_UNAVAILABLE, "disk_full"),
        AppendError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
        AppendError::Damaged { .. } => (StatusCode::SERVICE_UNAVAILABLE, "partition_stopped"),
        AppendError::Closed => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        AppendError::Fenced { .. } | AppendError::Conflict { .. } | AppendError::Unknown { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "journal_unavailable")
        }
    }
}

fn rejection_code(rejection: &Rejection) -> (StatusCode, &'static str) {
    match rejection {
        Rejection::NotFound => (StatusCode::NOT_FOUND, "not_found"),
        Rejection::AfterPivot => (StatusCode::CONFLICT, "after_pivot"),
        Rejection::Ended(_) => (StatusCode::CONFLICT, "run_ended"),
        Rejection::IsParked => (StatusCode::CONFLICT, "run_parked"),
        Rejection::NotParked(_) => (StatusCode::CONFLICT, "not_parked"),
        Rejection::NoSuchStep => (StatusCode::BAD_REQUEST, "no_such_step"),
        Rejection::NotOpen { .. } => (StatusCode::CONFLICT, "step_not_open"),
        Rejection::OnlyBack => (StatusCode::CONFLICT, "only_back"),
        Rejection::Stale => (StatusCode::CONFLICT, "stale"),
    }
}

fn job_code(rejection: &JobRejection) -> (StatusCode, &'static str) {
    match rejection {
        JobRejection::NoCollection => (StatusCode::NOT_FOUND, "unknown_collection"),
        JobRejection::NoJob => (StatusCode::NOT_FOUND, "unknown_job"),
        JobRejection::Exists => (StatusCode::PRECONDITION_FAILED, "exists"),
        JobRejection::Changed { .. } => (StatusCode::PRECONDITION_FAILED, "changed"),
        JobRejection::TooManyJobs { .. }
        | JobRejection::TooOften { .. }
        | JobRejection::NoAuthentication
        | JobRejection::QuotaTooLow { .. }
        | JobRejection::JobDoesNotFit { .. } => (StatusCode::CONFLICT, "quota"),
        JobRejection::TooMuch { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
        JobRejection::Final { .. } => (StatusCode::CONFLICT, "job_finished"),
        JobRejection::Running => (StatusCode::CONFLICT, "job_running"),
    }
}

fn queue_code(error: &QueueError) -> (StatusCode, &'static str) {
    let rejection = match error {
        QueueError::NoRoom => return (StatusCode::SERVICE_UNAVAILABLE, "disk_full"),
        QueueError::NoMemory => return (StatusCode::SERVICE_UNAVAILABLE, "memory_full"),
        QueueError::Stopped { .. } => return (StatusCode::SERVICE_UNAVAILABLE, "partition_stopped"),
        QueueError::NotHeld { .. } => return NOT_HELD_CODE,
        QueueError::Unknown { .. } => return OUTCOME_UNKNOWN_CODE,
        QueueError::Rejected(rejection) => rejection,
    };
    match rejection {
        QueueRejection::NotFound(_) => (StatusCode::NOT_FOUND, "unknown_queue"),
        QueueRejection::NoSubscription { .. } => (StatusCode::NOT_FOUND, "unknown_subscription"),
        QueueRejection::IsTopic(_) => (StatusCode::CONFLICT, "is_topic"),
        QueueRejection::IsQueue(_) => (StatusCode::CONFLICT, "is_queue"),
        QueueRejection::SessionsFixed => (StatusCode::CONFLICT, "sessions_fixed"),
        QueueRejection::SessionNeeded(_) => (StatusCode::BAD_REQUEST, "session_needed"),
        // As Service Bus answers.
        QueueRejection::Full { .. } | QueueRejection::TooManyIds { .. } => {
            (StatusCode::FORBIDDEN, "queue_full")
        }
        QueueRejection::IdTooLong { .. } | QueueRejection::TooManyProperties { .. } => {
            (StatusCode::BAD_REQUEST, "invalid_message")
        }
        QueueRejection::TooLarge { .. } | QueueRejection::TooMuch { .. } => {
            (StatusCode::PAYLOAD_TOO_LARGE, "too_large")
        }
        QueueRejection::LockLost => (StatusCode::NOT_FOUND, "lock_lost"),
        QueueRejection::TooManyQueues { .. } => (StatusCode::CONFLICT, "quota"),
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let problem = self.problem();
        if problem.status >= 500 {
            tracing::warn!(code = problem.code, detail = problem.detail, "request failed");
        }
        let body = serde_json::to_vec(&problem).expect("a problem in memory can always be encoded");
        let mut response = Response::new(body.into());
        *response.status_mut() = self.status_and_code().0;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(secs) = self.retry_after_secs() {
            headers.insert(RETRY_AFTER, HeaderValue::from(secs));
        }
        if self.is_not_held() {
            headers.insert(NOT_HELD, HeaderValue::from_static("1"));
        }
        if let ApiError::Method { allow, .. } = self
            && !allow.is_empty()
        {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        if matches!(self.status_and_code().0, StatusCode::UNAUTHORIZED) {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
