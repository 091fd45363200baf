//! Why a request of JetStream failed, by what the caller can do about it.

use std::fmt::Display;

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The codes of JetStream that callers tell apart.
pub(crate) mod code {
    pub(crate) const NO_SUITABLE_SERVERS: u16 = 10005;
    pub(crate) const NO_META_LEADER: u16 = 10008;
    pub(crate) const NO_STREAM_LEADER: u16 = 10009;
    pub(crate) const MESSAGE_NOT_FOUND: u16 = 10037;
    pub(crate) const STREAM_NAME_IN_USE: u16 = 10058;
    pub(crate) const STREAM_NOT_FOUND: u16 = 10059;
    pub(crate) const WRONG_LAST_SEQUENCE: u16 = 10071;
    pub(crate) const WRONG_LAST_SEQUENCE_CONSTANT: u16 = 10164;
}

/// The HTTP-like status of servers that are starting, or have no leader or resources at this moment.
pub(crate) const UNAVAILABLE: u16 = 503;

/// Why JetStream did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JetStreamError {
    /// There was no response. The request may have been carried out, or may be carried out later.
    #[error("no response to {request}: {cause}")]
    Unreachable { request: String, cause: String },
    #[error("{request}: the stream does not exist")]
    Missing { request: String },
    /// A write that expected a revision found another one.
    #[error("another writer has changed the key")]
    Changed,
    #[error("{request}: the message is larger than the server's max_payload")]
    TooLarge { request: String },
    #[error("JetStream refused {request}: {description} (error {code})")]
    Refused { request: String, status: u16, code: u16, description: String },
    #[error("{request}: invalid content: {cause}")]
    Invalid { request: String, cause: String },
    /// A condition outside JetStream is not met, in the paired region for example. A later attempt may succeed.
    #[error("{0}")]
    NotReady(String),
}

impl JetStreamError {
    pub fn unreachable(request: &str, cause: impl Display) -> JetStreamError {
        JetStreamError::Unreachable { request: request.to_owned(), cause: cause.to_string() }
    }

    pub fn invalid(request: &str, cause: impl Display) -> JetStreamError {
        JetStreamError::Invalid { request: request.to_owned(), cause: cause.to_string() }
    }

    /// The code of a refusal.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            JetStreamError::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct Envelope {
    error: Option<ApiError>,
}

#[derive(Deserialize)]
struct ApiError {
    #[serde(default)]
    code: u16,
    #[serde(default)]
    err_code: u16,
    #[serde(default)]
    description: String,
}

/// The content of a response, or the error that it carries.
pub(crate) fn parse<A: DeserializeOwned>(request: &str, payload: &[u8]) -> Result<A, JetStreamError> {
    // Twice over the bytes rather than once into a tree: responses are small, and publishing goes this way.
    let Envelope { error } =
        serde_json::from_slice(payload).map_err(|error| JetStreamError::invalid(request, error))?;
    match error {
        None => serde_json::from_slice(payload).map_err(|error| JetStreamError::invalid(request, error)),
        Some(error) => Err(refusal(request, error)),
    }
}

fn refusal(request: &str, error: ApiError) -> JetStreamError {
    let ApiError { code: status, err_code: code, description } = error;
    match code {
        code::STREAM_NOT_FOUND => JetStreamError::Missing { request: request.to_owned() },
        // Without a leader the request was not decided.
        code::NO_META_LEADER | code::NO_STREAM_LEADER => JetStreamError::unreachable(request, description),
        code => JetStreamError::Refused { request: request.to_owned(), status, code, description },
    }
}
