//! Queues and topics: the rules of messages, from the send to the end.
//!
//! All of a queue is in one partition, and a topic is there with all its subscriptions: a send to a topic reaches
//! every subscription or none. Where each message stands is in memory; its body is a row of the view, so that a long
//! queue costs some hundred bytes a message. A message is received by locking it, and the lock is a fact like any
//! other: it outlives a crash, and so does the count of deliveries.

mod contents;
mod due;
mod entity;
mod evolve;
mod fact;
mod receive;
mod remembered_ids;
mod send;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use types::{QueueName, Timestamp};

pub use contents::{Counts, Dead, MessageState, Queue, Slot};
pub use entity::{Entity, Subscription, Topic};
pub use fact::{Left, MessageFact, MessageNo, QueueFact, QueueNo, Sent, SubQueue};
pub use receive::{Settle, Take, Taken};
pub use send::{
    HOLDER_BYTES, ID_BYTES_MAX, IDS_MAX, MESSAGE_BYTES_MAX, PROPERTIES_MAX, SEND_BYTES_MAX, SendResult,
};

/// All queues and topics of a partition. The same facts always make the same queues.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queues {
    next_queue: u64,
    next_message: u64,
    names: BTreeMap<QueueName, Entity>,
    queues: BTreeMap<QueueNo, Queue>,
    /// In how many queues a message is that is in more than one.
    holders: BTreeMap<MessageNo, u32>,
    #[serde(skip)]
    wakes: BTreeSet<(Timestamp, QueueNo, MessageNo)>,
    /// When all ids that a queue or topic remembers can be forgotten, if none comes until then.
    #[serde(skip)]
    idle: BTreeSet<(Timestamp, QueueName)>,
}

/// What a change came to, held back until it is durable.
#[derive(Debug, Default)]
pub struct Changes {
    pub facts: Vec<QueueFact>,
    /// Messages that no queue holds any more: their rows can go.
    pub freed: Vec<MessageNo>,
}

/// Which queue is meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueRef {
    /// The queue or the topic.
    pub name: QueueName,
    /// The subscription, of a topic.
    pub subscription: Option<QueueName>,
}

/// Why something about queues was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueRejection {
    #[error("no queue or topic is called {0}")]
    NotFound(QueueName),
    #[error("topic {topic} has no subscription called {name}")]
    NoSubscription { topic: QueueName, name: QueueName },
    #[error("{0} is a topic: messages are received from its subscriptions, at /{0}/subscriptions/NAME")]
    IsTopic(QueueName),
    #[error("{0} is a queue, not a topic")]
    IsQueue(QueueName),
    #[error("sessions cannot be switched on or off: delete the queue and create it again")]
    SessionsFixed,
    #[error("SessionId: the messages of {0} need one, because it handles each session in order")]
    SessionNeeded(String),
    #[error("{name} is full: it holds {messages} messages of {messages_max}, {bytes} bytes of {bytes_max}")]
    Full { name: String, messages: usize, messages_max: u32, bytes: u64, bytes_max: u64 },
    #[error(
        "{name} remembers {max} message ids already: send fewer, or shorten its duplicate_window of {window}"
    )]
    TooManyIds { name: QueueName, max: usize, window: types::Span },
    #[error("a message of {bytes} bytes, its properties included, is larger than {bytes_max}")]
    TooLarge { bytes: usize, bytes_max: usize },
    #[error("MessageId: it has more than {bytes_max} bytes")]
    IdTooLong { bytes_max: usize },
    #[error("a message has at most {max} properties of its sender's own")]
    TooManyProperties { max: usize },
    #[error("{bytes} bytes in one send are more than {bytes_max}: send them in parts")]
    TooMuch { bytes: usize, bytes_max: usize },
    #[error("the lock is not held: it has expired, or the message was settled")]
    LockLost,
    #[error("a partition holds at most {max} queues and subscriptions")]
    TooManyQueues { max: usize },
}

impl QueueRef {
    pub fn queue(name: QueueName) -> QueueRef {
        QueueRef { name, subscription: None }
    }

    pub fn subscription(topic: QueueName, name: QueueName) -> QueueRef {
        QueueRef { name: topic, subscription: Some(name) }
    }
}

impl std::fmt::Display for QueueRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.subscription {
            None => write!(f, "{}", self.name),
            Some(subscription) => write!(f, "{}/subscriptions/{subscription}", self.name),
        }
    }
}

impl Queues {
    /// Puts back what a snapshot leaves out.
    pub fn restore(mut self) -> Queues {
        self.wakes.clear();
        for (no, queue) in &mut self.queues {
            queue.restore();
            let wakes =
                queue.slots.iter().filter_map(|(message, slot)| Some((slot.wake_at()?, *no, *message)));
            self.wakes.extend(wakes);
        }
        for entity in self.names.values_mut() {
            entity.restore();
        }
        let idle = self.names.keys().filter_map(|name| Some((self.idle_at(name)?, name.clone())));
        self.idle = idle.collect();
        self
    }

    /// The queues and topics, in the order of their names.
    pub fn entities(&self) -> impl Iterator<Item = (&QueueName, &Entity)> {
        self.names.iter()
    }

    pub fn entity(&self, name: &QueueName) -> Option<&Entity> {
        self.names.get(name)
    }

    /// The number of a queue or subscription.
    pub fn find(&self, at: &QueueRef) -> Result<QueueNo, QueueRejection> {
        let entity = self.names.get(&at.name).ok_or_else(|| QueueRejection::NotFound(at.name.clone()))?;
        match (entity, &at.subscription) {
            (Entity::Queue(no), None) => Ok(*no),
            (Entity::Queue(_), Some(_)) => Err(QueueRejection::IsQueue(at.name.clone())),
            (Entity::Topic(_), None) => Err(QueueRejection::IsTopic(at.name.clone())),
            (Entity::Topic(topic), Some(name)) => {
                let found = topic.subscriptions.get(name).map(|subscription| subscription.no);
                let missing =
                    || QueueRejection::NoSubscription { topic: at.name.clone(), name: name.clone() };
                found.ok_or_else(missing)
            }
        }
    }

    pub fn queue(&self, no: QueueNo) -> Option<&Queue> {
        self.queues.get(&no)
    }

    /// When the next message, or what is remembered of messages, wants attention, if nothing comes in.
    pub fn wake_at(&self) -> Option<Timestamp> {
        let message = self.wakes.first().map(|(at, _, _)| *at);
        let ids = self.idle.first().map(|(at, _)| *at);
        message.into_iter().chain(ids).min()
    }

    /// When the ids that a queue or topic remembers can all be forgotten.
    fn idle_at(&self, name: &QueueName) -> Option<Timestamp> {
        let (seen, window) = self.seen_of(name).ok()?;
        seen.idle_at(window)
    }

    fn take(&mut self, fact: QueueFact, changes: &mut Changes) {
        self.evolve(&fact, &mut changes.freed);
        changes.facts.push(fact);
    }

    fn take_message(
        &mut self,
        queue: QueueNo,
        no: MessageNo,
        at: Timestamp,
        fact: MessageFact,
        changes: &mut Changes,
    ) {
        self.take(QueueFact::Message { queue, no, at, fact }, changes);
    }
}
