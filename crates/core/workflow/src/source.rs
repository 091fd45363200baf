//! Where requests come from besides HTTP: each message of a source starts a run.

use types::{QueueName, ServiceName};

/// A queue or stream whose messages are requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub from: Stream,
    /// Messages that are taken and not yet settled, at most.
    pub concurrency: u32,
    /// The built-in queue that keeps what can never become a run. A built-in source keeps it among its own dead
    /// letters.
    pub park: QueueName,
}

/// The queue or stream itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stream {
    /// A built-in queue.
    Queue { queue: QueueName },
    /// A subscription of a built-in topic.
    Subscription { topic: QueueName, subscription: QueueName },
    /// A queue of RabbitMQ.
    RabbitMq { service: ServiceName, queue: String },
    /// A JetStream stream of NATS, or one subject of it.
    Nats { service: ServiceName, stream: String, subject: Option<String> },
    /// A queue or subscription of Service Bus, or an address of any broker that speaks AMQP 1.0.
    Amqp { service: ServiceName, address: String },
}

impl std::fmt::Display for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stream::Queue { queue } => write!(f, "queue {queue}"),
            Stream::Subscription { topic, subscription } => {
                write!(f, "subscription {subscription} of {topic}")
            }
            Stream::RabbitMq { service, queue } => write!(f, "queue {queue} of {service}"),
            Stream::Nats { service, stream, .. } => write!(f, "stream {stream} of {service}"),
            Stream::Amqp { service, address } => write!(f, "{address} of {service}"),
        }
    }
}
