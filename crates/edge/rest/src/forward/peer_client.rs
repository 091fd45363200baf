//! The client that sends requests to other instances.

use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use cluster::Member;
use http::{HeaderName, Request, Response};

/// Marks a forwarded request and names the instance that forwarded it. The receiver answers from what it owns.
pub const FORWARDED: HeaderName = HeaderName::from_static("sortie-forwarded");

/// Sends requests to other instances.
pub trait PeerClient: Send + Sync + 'static {
    /// Sends a request and waits for the reply, up to a time.
    fn send(&self, to: &Member, request: Request<Bytes>, patience: Duration) -> PeerReply<'_>;
}

/// The reply of another instance.
pub type PeerReply<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, PeerError>> + Send + 'a>>;

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// Nothing has reached the other instance.
    #[error("it was not reached: {0}")]
    NotSent(String),
    /// It may have done what was requested.
    #[error("it did not answer: {0}")]
    Unknown(String),
}

/// For an instance that has no others.
pub struct NoPeers;

impl PeerClient for NoPeers {
    fn send(&self, to: &Member, _: Request<Bytes>, _: Duration) -> PeerReply<'_> {
        let reason = format!("there is no way to instance {}", to.id);
        Box::pin(std::future::ready(Err(PeerError::NotSent(reason))))
    }
}
