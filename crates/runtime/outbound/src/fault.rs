//! What kept a call from being answered, by what is known of its effect.

use crate::client::ServiceResponse;

/// Why a call has no usable answer. The variant says whether the service can have acted on it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    /// The call may not be made: a malformed URL or an address that the egress policy denies. Nothing was sent.
    #[error("call refused: {reason}")]
    Refused { reason: String },
    /// No connection to the service. Nothing was sent.
    #[error("{stage} failed: {reason}")]
    Connect { stage: Stage, reason: String },
    /// The connection ended before the first byte of the request went out.
    #[error("request not sent: {reason}")]
    Unsent { reason: String },
    /// The deadline passed. `sent` tells whether any byte of the request had gone out.
    #[error("no response by the deadline (request {})", if *.sent { "sent" } else { "not sent" })]
    Timeout { sent: bool },
    /// The connection broke after sending and before the whole answer: the outcome is unknown.
    #[error("connection lost before the response: {reason}")]
    Lost { reason: String },
    /// The answer is larger than allowed. `answer` has the body cut at the limit; none when its headers were
    /// too large already.
    #[error("response larger than allowed")]
    TooLarge { answer: Option<Box<ServiceResponse>> },
    /// What came back is not HTTP.
    #[error("response is not valid HTTP: {reason}")]
    BadAnswer { reason: String },
}

/// The stage at which connecting failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    Dns,
    Tcp,
    Tls,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stage::Dns => "name lookup",
            Stage::Tcp => "connecting",
            Stage::Tls => "TLS handshake",
        })
    }
}

/// An error with its causes, because hyper and rustls tell the reason only in the source.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
