//! Queues for callers of the engine: commands for the partition that owns a queue.

use kernel::queue::{MessageNo, QueueRef, QueueRejection, SendResult, Settle, Slot, SubQueue, Taken};
use types::{Filter, Message, PartitionId, QueueName, QueueSpec, Span, TopicSpec, Uid};

use crate::CommandError;
use crate::jobs;

/// A command about a queue or a topic.
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
    /// One message from inside the process; its sender names the required kind of destination.
    Post {
        to: QueueName,
        kind: EntityKind,
        message: Message,
    },
    Receive(Receive),
    /// Shows messages without receiving them.
    Peek {
        at: QueueRef,
        sub_queue: SubQueue,
        from: MessageNo,
        max: usize,
    },
    Settle {
        at: QueueRef,
        token: Uid,
        how: Settle,
    },
    /// Moves dead letters back to the queue; at most `max`, the oldest first.
    Redrive {
        at: QueueRef,
        max: usize,
    },
    /// Deletes messages that no consumer has locked.
    Purge {
        at: QueueRef,
        sub_queue: SubQueue,
        max: usize,
    },
}

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    pub message: Message,
    /// Whether the sender chose its id, so that a second message with the same id is a duplicate.
    pub own_id: bool,
}

/// The kind of destination that a message from inside the process requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntityKind {
    Queue,
    Topic,
    /// A queue, which is created when the name is free.
    MadeQueue,
}

/// What a consumer requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receive {
    pub at: QueueRef,
    pub sub_queue: SubQueue,
    /// Only messages of this session.
    pub session: Option<String>,
    pub mode: ReceiveMode,
    pub max: usize,
    /// How long to wait for the first message when there is none.
    pub patience: Span,
}

/// Whether a message stays in the queue when it is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveMode {
    /// It stays, locked for the queue's lock duration or for this long.
    Lock { lock: Option<Span> },
    /// It is deleted at once, even if the answer is lost.
    Delete,
}

/// The durable result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueAnswer {
    Put {
        created: bool,
    },
    Deleted,
    Sent(Vec<SendResult>),
    /// Empty when no message arrived in time.
    Received(Vec<Received>),
    Peeked(Vec<Peeked>),
    /// The new end of the lock, when it was renewed.
    Settled {
        locked_until: Option<types::Timestamp>,
    },
    /// How many messages were affected.
    Moved {
        messages: usize,
    },
}

/// A message that was delivered to a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    pub taken: Taken,
    pub message: Message,
}

/// A message that was peeked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peeked {
    pub no: MessageNo,
    pub slot: Slot,
    pub dead: Option<kernel::queue::Dead>,
    pub message: Message,
}

/// Why a command failed.
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
    #[error("partition {partition} is not owned by this instance")]
    NotHeld { partition: PartitionId },
    #[error("partition {partition} changed owner before it answered: the outcome is unknown")]
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
