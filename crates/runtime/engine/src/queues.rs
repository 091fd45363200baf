//! Queues as others use them: what can be asked of the partition that holds a queue.

use kernel::queue::{MessageNo, QueueRef, QueueRejection, SendResult, Settle, Slot, SubQueue, Taken};
use types::{Filter, Message, PartitionId, QueueName, QueueSpec, Span, TopicSpec, Uid};

use crate::CommandError;
use crate::jobs;

/// Something asked about a queue or a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueCommand {
    PutQueue {
        name: QueueName,
        spec: QueueSpec,
    },
    PutTopic {
        name: QueueName,
        spec: TopicSpec,
    },
    PutSubscription {
        topic: QueueName,
        name: QueueName,
        spec: QueueSpec,
        filter: Filter,
    },
    Delete {
        at: QueueRef,
    },
    /// All of them, or none.
    Send {
        to: QueueName,
        messages: Vec<Outgoing>,
    },
    /// One message from inside, whose sender says what it must come to.
    Post {
        to: QueueName,
        kind: EntityKind,
        message: Message,
    },
    Receive(Receive),
    /// Shows messages and leaves them where they are.
    Peek {
        at: QueueRef,
        shelf: SubQueue,
        from: MessageNo,
        max: usize,
    },
    Settle {
        at: QueueRef,
        token: Uid,
        how: Settle,
    },
    /// Brings dead letters back; at most `max`, the oldest first.
    Redrive {
        at: QueueRef,
        max: usize,
    },
    /// Deletes what no consumer has locked.
    Purge {
        at: QueueRef,
        shelf: SubQueue,
        max: usize,
    },
}

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    pub message: Message,
    /// Whether the sender chose its id, so that a second one with it is a repetition.
    pub own_id: bool,
}

/// What a message from inside must come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntityKind {
    Queue,
    Topic,
    /// A queue, which is made when nothing has its name.
    MadeQueue,
}

/// What a consumer asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receive {
    pub at: QueueRef,
    pub shelf: SubQueue,
    /// Only messages of this session.
    pub session: Option<String>,
    pub mode: ReceiveMode,
    pub max: usize,
    /// How long to wait for the first when there is none.
    pub patience: Span,
}

/// Whether a message stays when it is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveMode {
    /// It stays, locked for as long as the queue says, or for this long.
    Lock { lock: Option<Span> },
    /// It is gone at once, even if the answer is lost.
    Delete,
}

/// What came of it, durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueAnswer {
    Put {
        created: bool,
    },
    Deleted,
    Sent(Vec<SendResult>),
    /// Empty when none came in time.
    Received(Vec<Received>),
    Peeked(Vec<Peeked>),
    /// The new end of the lock, when it was renewed.
    Settled {
        locked_until: Option<types::Timestamp>,
    },
    /// How many messages it was about.
    Moved {
        messages: usize,
    },
}

/// A message that a consumer has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    pub taken: Taken,
    pub message: Message,
}

/// A message that somebody looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peeked {
    pub no: MessageNo,
    pub slot: Slot,
    pub dead: Option<kernel::queue::Dead>,
    pub message: Message,
}

/// Why it was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    #[error(transparent)]
    Rejected(#[from] QueueRejection),
    #[error("the disk is full: new messages are refused until there is room")]
    NoRoom,
    #[error("the process uses too much memory: new messages are refused until it has some again")]
    NoMemory,
    #[error("partition {partition} is stopped: {reason}")]
    Stopped { partition: PartitionId, reason: String },
    #[error("partition {partition} is not held here")]
    NotHeld { partition: PartitionId },
    #[error("partition {partition} changed hands before it answered: whether it was done is not known")]
    Unknown { partition: PartitionId },
}

impl QueueError {
    pub(crate) fn of_stop(error: CommandError) -> QueueError {
        match error {
            CommandError::Stopped { partition, reason } => QueueError::Stopped { partition, reason },
            CommandError::NotHeld { partition } => QueueError::NotHeld { partition },
            CommandError::Unknown { partition } => QueueError::Unknown { partition },
            CommandError::Rejected(_) => unreachable!("sending rejects nothing"),
        }
    }
}

/// The partition of a queue, or of a topic with all its subscriptions.
pub fn partition_of(name: &QueueName, partitions: u16) -> PartitionId {
    jobs::partition_of(name.as_str(), partitions)
}
