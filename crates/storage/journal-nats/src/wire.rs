//! What the protocol asks of JetStream, and no more: the real client on one side, the simulator's model on the other.

use bytes::Bytes;
use tokio::sync::watch;

use crate::jetstream::JetStreamError;

/// A message to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The stream that must store it.
    pub stream: String,
    pub subject: String,
    /// The last sequence that the stream must have, when the append is guarded.
    pub expected_last: Option<u64>,
    /// Stored once however often it is sent within the stream's window, when given.
    pub message_id: Option<String>,
    pub payload: Bytes,
}

/// Why a message has no sequence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The stream does not end where the message expected.
    #[error("the stream ends elsewhere")]
    WrongLast,
    /// The stream has reached its limit and stored nothing.
    #[error("the stream is full")]
    Full,
    #[error("the message is larger than the server takes")]
    TooLarge,
    /// It may be stored or not, now or later.
    #[error("whether the message was stored is not known: {0}")]
    Unknown(String),
}

/// What the leader of a stream says that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// The first sequence that is there; one past the last when the stream is empty.
    pub first: u64,
    pub last: u64,
    pub bytes: u64,
    /// The region's epoch under which it takes messages; none when it takes none, as a mirror or one that is fenced.
    pub opened: Option<u64>,
}

/// What everything together takes on the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Storage {
    pub used_bytes: u64,
    /// What it may take, when that is limited.
    pub bytes_max: Option<u64>,
}

impl Storage {
    /// Whichever of the two has the smaller part left.
    pub fn tighter(self, other: Storage) -> Storage {
        if other.left_part() < self.left_part() { other } else { self }
    }

    /// What is left, in millionths; all that there is when nothing limits it.
    fn left_part(&self) -> u128 {
        let part =
            |max: u64| u128::from(max.saturating_sub(self.used_bytes)) * 1_000_000 / u128::from(max.max(1));
        self.bytes_max.map_or(u128::MAX, part)
    }
}

/// Who is asked for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The stream's leader.
    Leader,
    /// Whichever replica answers; another one the next time, perhaps.
    AnyReplica,
    /// The mirror in the paired region; without a pair there is nothing there.
    Pair,
}

/// JetStream, as the journal needs it.
pub trait Wire: Send + Sync + 'static {
    /// Sends a message and waits for the sequence that it was stored at.
    fn publish(&self, message: Outgoing) -> impl Future<Output = Result<u64, PublishError>> + Send;

    /// Asks the leader what the stream holds.
    fn bounds(&self, stream: &str) -> impl Future<Output = Result<Bounds, JetStreamError>> + Send;

    /// Asks what is taken of what there is, where it is tightest: of the account, or of a server.
    fn storage(&self) -> impl Future<Output = Result<Storage, JetStreamError>> + Send {
        async { Ok(Storage::default()) }
    }

    /// One message, or `None` when who was asked has none with this sequence.
    fn get(
        &self,
        stream: &str,
        sequence: u64,
        source: Source,
    ) -> impl Future<Output = Result<Option<Bytes>, JetStreamError>> + Send;

    /// Messages from `from` through `through` in order, as some replica has them, up to about `bytes_max`. There may
    /// be gaps, and the end may be missing: the caller checks.
    fn range(
        &self,
        stream: &str,
        from: u64,
        through: u64,
        bytes_max: usize,
    ) -> impl Future<Output = Result<Vec<(u64, Bytes)>, JetStreamError>> + Send;

    /// Forgets everything below `first`.
    fn purge(&self, stream: &str, first: u64) -> impl Future<Output = Result<(), JetStreamError>> + Send;

    /// Follows the last sequence of a stream; it may lag behind, and catches up.
    fn follow(&self, stream: &str) -> watch::Receiver<u64>;
}
