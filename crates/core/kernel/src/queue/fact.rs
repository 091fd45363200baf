//! What the journal holds about queues. Facts are read for ever: variants are only added, at the end.

use serde::{Deserialize, Serialize};
use types::{Filter, Message, QueueName, QueueSpec, Timestamp, TopicSpec, Uid};

/// The number of a queue or subscription in its partition. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct QueueNo(pub u64);

/// The number of a message in its partition, in the order sent. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct MessageNo(pub u64);

/// Where in its queue a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SubQueue {
    Main,
    /// Among the dead letters.
    Dead,
}

/// Something that happened to a queue, a topic or a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueueFact {
    QueuePut {
        name: QueueName,
        no: QueueNo,
        at: Timestamp,
        spec: QueueSpec,
    },
    TopicPut {
        name: QueueName,
        at: Timestamp,
        spec: TopicSpec,
    },
    SubscriptionPut {
        topic: QueueName,
        name: QueueName,
        no: QueueNo,
        at: Timestamp,
        spec: QueueSpec,
        filter: Box<Filter>,
    },
    /// A queue, or a topic with all its subscriptions, and all their messages.
    Deleted {
        name: QueueName,
    },
    SubscriptionDeleted {
        topic: QueueName,
        name: QueueName,
    },
    /// A message was taken by a queue, or by those subscriptions of a topic that want it.
    Sent(Box<Sent>),
    /// Something happened to a message in one queue.
    Message {
        queue: QueueNo,
        no: MessageNo,
        at: Timestamp,
        fact: MessageFact,
    },
    /// A queue or topic has been without new ids for as long as it remembers them, and has forgotten them.
    IdsForgotten {
        name: QueueName,
        at: Timestamp,
    },
}

/// A message as it was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    pub no: MessageNo,
    pub at: Timestamp,
    /// The queue or topic.
    pub name: QueueName,
    pub to: Vec<QueueNo>,
    /// Whether its id is remembered, to drop a second one.
    pub remembered: bool,
    pub message: Message,
}

/// Something that happened to a message in one queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageFact {
    /// A scheduled message may be received from now on.
    Due,
    /// A consumer has received it, and it alone has it until then.
    Locked {
        token: Uid,
        until: Timestamp,
    },
    Renewed {
        until: Timestamp,
    },
    /// It may be received again; `deliveries` is how often it counts as delivered.
    Returned {
        deliveries: u32,
    },
    DeadLettered {
        reason: String,
        description: String,
    },
    /// A dead letter may be received again, as if for the first time.
    Redriven,
    /// It is gone.
    Left {
        how: Left,
    },
}

/// How a message left its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Left {
    /// Its consumer is done with it.
    Completed,
    /// It was received and deleted at once.
    Taken,
    /// It was not received in time.
    Expired,
    /// A person emptied the queue.
    Purged,
}
