//! Where messages come from at a broker.

use std::fmt;

use crate::Login;
use crate::destination::Shown;

/// A place at a broker that gives messages. Kafka is not among them: its client keeps no offsets.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A queue or subscription of Service Bus, or an address of any broker that speaks AMQP 1.0.
    Amqp {
        /// `amqps://host[:port]` or `amqp://host[:port]`.
        url: String,
        address: String,
        login: Option<Login>,
    },
    /// A queue of RabbitMQ, by AMQP 0-9-1. It must be there.
    RabbitMq {
        /// `amqps://host[:port][/vhost]` or `amqp://…`.
        url: String,
        queue: String,
        login: Option<Login>,
    },
    /// A stream of JetStream. It must be there; the consumer is made when it is not.
    Nats {
        /// `nats://host[:port]` or `tls://…`; several, with commas between.
        url: String,
        stream: String,
        /// Only messages of this subject, which may have wildcards.
        subject: Option<String>,
        /// The name under which the server remembers what is done.
        durable: String,
        login: Option<Login>,
    },
}

// A url that holds a secret is refused when it is used, and must not be told before.
impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Amqp { url, address, login } => f
                .debug_struct("Amqp")
                .field("url", &Shown(url))
                .field("address", address)
                .field("login", login)
                .finish(),
            Origin::RabbitMq { url, queue, login } => f
                .debug_struct("RabbitMq")
                .field("url", &Shown(url))
                .field("queue", queue)
                .field("login", login)
                .finish(),
            Origin::Nats { url, stream, subject, durable, login } => f
                .debug_struct("Nats")
                .field("url", &Shown(url))
                .field("stream", stream)
                .field("subject", subject)
                .field("durable", durable)
                .field("login", login)
                .finish(),
        }
    }
}
