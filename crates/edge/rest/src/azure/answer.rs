//! Answers in the shape of Azure Resource Manager: bodies, errors and the headers that all of them carry.

use axum::body::Body;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, EXPIRES, PRAGMA};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use kernel::job::JobRejection;
use serde::Serialize;
use uuid::Uuid;

use crate::auth::access::Denied;
use crate::error::{ApiError, NOT_HELD};
use crate::jobs::{CollectionPath, JobsError};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-ms-request-id");
const CORRELATION_ID: HeaderName = HeaderName::from_static("x-ms-correlation-request-id");
const ROUTING_ID: HeaderName = HeaderName::from_static("x-ms-routing-request-id");
const FAILURE_CAUSE: HeaderName = HeaderName::from_static("x-ms-failure-cause");

/// An error as Azure Resource Manager words it.
#[derive(Debug)]
pub(crate) struct AzureError {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// The gateway in front of the scheduler used to answer this.
    by_gateway: bool,
    /// Another instance is to be asked.
    not_held: bool,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: ErrorText<'a>,
}

#[derive(Serialize)]
struct ErrorText<'a> {
    code: &'a str,
    message: &'a str,
}

impl AzureError {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> AzureError {
        AzureError { status, code, message: message.into(), by_gateway: false, not_held: false }
    }

    pub fn bad_request(message: impl Into<String>) -> AzureError {
        AzureError::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub fn no_collection(at: &CollectionPath) -> AzureError {
        let message = format!(
            "The Resource 'Microsoft.Scheduler/jobcollections/{}' under resource group '{}' was not found.",
            at.name, at.group
        );
        let error = AzureError::new(StatusCode::NOT_FOUND, "ResourceNotFound", message);
        AzureError { by_gateway: true, ..error }
    }

    /// What went wrong at a place.
    pub fn at(place: &CollectionPath, job: &str, error: JobsError) -> AzureError {
        let conflict = |message: String| AzureError::new(StatusCode::CONFLICT, "ConflictError", message);
        match error {
            JobsError::Problems(problems) => AzureError::bad_request(problems.to_string()),
            JobsError::Bad(message) => AzureError::bad_request(message),
            JobsError::Conflict(message) => conflict(message),
            JobsError::Api(error) => error.into(),
            JobsError::Rejected(rejection) => match rejection {
                JobRejection::NoCollection => AzureError::no_collection(place),
                JobRejection::NoJob => AzureError::new(
                    StatusCode::NOT_FOUND,
                    "NotFound",
                    format!("Job '{job}' cannot be found."),
                ),
                JobRejection::Exists | JobRejection::Changed { .. } => {
                    let code = "PreconditionFailed";
                    AzureError::new(StatusCode::PRECONDITION_FAILED, code, rejection.to_string())
                }
                JobRejection::TooManyJobs { .. }
                | JobRejection::TooOften { .. }
                | JobRejection::NoAuthentication
                | JobRejection::QuotaTooLow { .. }
                | JobRejection::JobDoesNotFit { .. }
                | JobRejection::TooMuch { .. }
                | JobRejection::Final { .. }
                | JobRejection::Running => conflict(rejection.to_string()),
            },
        }
    }

    pub fn into_response(self) -> Response<Body> {
        let body = ErrorBody { error: ErrorText { code: self.code, message: &self.message } };
        let mut response = json(self.status, &body);
        if self.by_gateway {
            response.headers_mut().insert(FAILURE_CAUSE, HeaderValue::from_static("gateway"));
        }
        if self.not_held {
            response.headers_mut().insert(NOT_HELD, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<ApiError> for AzureError {
    fn from(error: ApiError) -> AzureError {
        let (status, _) = error.status_and_code();
        let code = match (&error, status) {
            (ApiError::Denied(Denied::Unknown), _) => "AuthenticationFailed",
            (ApiError::Denied(_), _) => "AuthorizationFailed",
            (_, StatusCode::NOT_FOUND) => "NotFound",
            (_, StatusCode::CONFLICT) => "ConflictError",
            (_, StatusCode::METHOD_NOT_ALLOWED) => "InvalidHttpVerb",
            (_, StatusCode::TOO_MANY_REQUESTS) => "TooManyRequests",
            (_, StatusCode::SERVICE_UNAVAILABLE) => "ServerBusy",
            (_, status) if status.is_client_error() => "BadRequest",
            _ => "InternalError",
        };
        let not_held = error.is_not_held();
        AzureError { not_held, ..AzureError::new(status, code, error.to_string()) }
    }
}

pub(crate) fn json<T: Serialize>(status: StatusCode, body: &T) -> Response<Body> {
    let body = serde_json::to_vec(body).expect("an answer in memory can always be encoded");
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let content = HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, content);
    stamped(response)
}

pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    stamped(response)
}

fn stamped(mut response: Response<Body>) -> Response<Body> {
    let id = Uuid::now_v7().to_string();
    let routing = format!("SORTIE:{id}");
    let value = |text: &str| HeaderValue::try_from(text).expect("an id is a header value");
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, value(&id));
    headers.insert(CORRELATION_ID, value(&id));
    headers.insert(ROUTING_ID, value(&routing));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
    headers.insert(EXPIRES, HeaderValue::from_static("-1"));
    response
}
