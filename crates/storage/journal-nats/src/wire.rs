//! What the journal needs of JetStream: implemented by [`crate::NatsWire`], and by a model in the simulator.

use bytes::Bytes;
use tokio::sync::watch;

use crate::jetstream::JetStreamError;

/// A message to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The stream that must store it.
    pub stream: String,
    pub subject: String,
    /// If the append is guarded: the last sequence that the stream must have.
    pub expected_last: Option<u64>,
    /// If given: within the duplicate window of the stream, the message is stored once however often it is sent.
    pub message_id: Option<String>,
    pub payload: Bytes,
}

/// Why a message was not acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The stream does not end at the expected sequence.
    #[error("the stream does not end at the expected sequence")]
    WrongLast,
    /// The stream has reached its limit and stored nothing.
    #[error("the stream is full")]
    Full,
    #[error("the message is larger than the server accepts")]
    TooLarge,
    /// The message may be stored or not, now or later.
    #[error("it is unknown whether the message was stored: {0}")]
    Unknown(String),
}

/// What a stream has, as its leader reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// The first sequence; one past the last if the stream is empty.
    pub first: u64,
    pub last: u64,
    pub bytes: u64,
    /// The region's epoch under which the stream is open; none for a mirror or a closed stream, which accept no messages.
    pub opened: Option<u64>,
}

/// The use of storage on the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Storage {
    pub used_bytes: u64,
    /// The limit, if there is one.
    pub bytes_max: Option<u64>,
}

impl Storage {
    /// The one with the smaller free part.
    pub fn tighter(self, other: Storage) -> Storage {
        if other.left_part() < self.left_part() { other } else { self }
    }

    /// The free part in millionths; the maximum without a limit.
    fn left_part(&self) -> u128 {
        let part =
            |max: u64| u128::from(max.saturating_sub(self.used_bytes)) * 1_000_000 / u128::from(max.max(1));
        self.bytes_max.map_or(u128::MAX, part)
    }
}

/// Where a message is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The stream's leader.
    Leader,
    /// Whichever replica responds; the next read may reach another one.
    AnyReplica,
    /// The mirror in the paired region; without a pair there is none.
    Pair,
}

/// JetStream as the journal needs it. An error means that there was no usable response; the request may be repeated.
pub trait Wire: Send + Sync + 'static {
    /// Publishes a message and returns the sequence at which it was stored.
    fn publish(&self, message: Outgoing) -> impl Future<Output = Result<u64, PublishError>> + Send;

    /// What the stream has, from its leader.
    fn bounds(&self, stream: &str) -> impl Future<Output = Result<Bounds, JetStreamError>> + Send;

    /// The use of storage where the least is free: of the account, or of a server.
    fn storage(&self) -> impl Future<Output = Result<Storage, JetStreamError>> + Send {
        async { Ok(Storage::default()) }
    }

    /// One message, or `None` if the source does not have this sequence.
    fn get(
        &self,
        stream: &str,
        sequence: u64,
        source: Source,
    ) -> impl Future<Output = Result<Option<Bytes>, JetStreamError>> + Send;

    /// Messages from `from` through `through` in order, from any replica, up to about `bytes_max`. There may be gaps, and the
    /// end may be missing: the caller checks.
    fn range(
        &self,
        stream: &str,
        from: u64,
        through: u64,
        bytes_max: usize,
    ) -> impl Future<Output = Result<Vec<(u64, Bytes)>, JetStreamError>> + Send;

    /// Deletes all messages below `first`.
    fn purge(&self, stream: &str, first: u64) -> impl Future<Output = Result<(), JetStreamError>> + Send;

    /// Follows the last sequence of a stream. It may lag for a moment.
    fn follow(&self, stream: &str) -> watch::Receiver<u64>;
}
