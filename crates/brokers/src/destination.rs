//! Where a message goes at a broker.

use std::fmt;

/// A place at a broker that takes messages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Destination {
    /// A queue or topic of Service Bus, or an address of any broker that speaks AMQP 1.0.
    Amqp {
        /// `amqps://host[:port]` or `amqp://host[:port]`.
        url: String,
        address: String,
        login: Option<Login>,
    },
    /// RabbitMQ by AMQP 0-9-1, with publisher confirms. A message that no queue takes counts as refused.
    RabbitMq {
        /// `amqps://host[:port][/vhost]` or `amqp://…`.
        url: String,
        exchange: String,
        routing_key: String,
        login: Option<Login>,
    },
    /// A subject of NATS. Only a stream confirms; without one the server has taken it, and no more is known.
    Nats {
        /// `nats://host[:port]` or `tls://…`; several, with commas between.
        url: String,
        subject: String,
        /// Whether a JetStream stream must confirm it.
        stream: bool,
        login: Option<Login>,
    },
    Kafka {
        /// `host:port`, several with commas between.
        servers: String,
        topic: String,
        /// Decides the partition; without one, they take turns.
        key: Option<String>,
        login: Option<Login>,
    },
}

/// A name and its secret.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Login {
    pub username: String,
    pub password: String,
}

// Secrets never come back, not even in a log.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("username", &self.username).finish_non_exhaustive()
    }
}
