//! Sending: a send is done when the broker has confirmed it.

use std::time::Duration;

use words::Message;

use crate::Destination;

/// Sends messages over connections that it keeps open. Cheap to clone.
#[derive(Clone, Default)]
pub struct Brokers;

/// Why a message is not known to be with the broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The broker said no; the same message will not be taken later either.
    #[error("{0}")]
    Refused(String),
    /// It did not leave, or the broker said that it did not take it for now.
    #[error("{0}")]
    NotSent(String),
    /// It may have arrived: the confirmation was lost or came too late.
    #[error("{0}")]
    Unknown(String),
}

impl Brokers {
    pub fn new() -> Brokers {
        Brokers
    }

    /// Sends one message and waits until the broker has confirmed it, for at most `patience`.
    pub async fn send(
        &self,
        _to: &Destination,
        _message: &Message,
        _patience: Duration,
    ) -> Result<(), SendError> {
        Err(SendError::NotSent("no broker can be reached".to_owned()))
    }
}
