//! Where a message goes at a broker.

use std::fmt;

/// A place at a broker that takes messages.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
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

// A url that holds a secret is refused when it is used, and must not be told before.
impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Destination::Amqp { url, address, login } => f
                .debug_struct("Amqp")
                .field("url", &Shown(url))
                .field("address", address)
                .field("login", login)
                .finish(),
            Destination::RabbitMq { url, exchange, routing_key, login } => f
                .debug_struct("RabbitMq")
                .field("url", &Shown(url))
                .field("exchange", exchange)
                .field("routing_key", routing_key)
                .field("login", login)
                .finish(),
            Destination::Nats { url, subject, stream, login } => f
                .debug_struct("Nats")
                .field("url", &Shown(url))
                .field("subject", subject)
                .field("stream", stream)
                .field("login", login)
                .finish(),
            Destination::Kafka { servers, topic, key, login } => f
                .debug_struct("Kafka")
                .field("servers", &Shown(servers))
                .field("topic", topic)
                .field("key", key)
                .field("login", login)
                .finish(),
        }
    }
}

/// An address without what is before its host.
pub(crate) struct Shown<'a>(pub &'a str);

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.rsplit_once('@') {
            Some((_, host)) => write!(f, "\"…@{host}\""),
            None => fmt::Debug::fmt(self.0, f),
        }
    }
}

// Secrets never come back, not even in a log.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("username", &self.username).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_tells_a_secret() {
        let login = Some(Login { username: "shop".to_owned(), password: "hush".to_owned() });
        let url = "amqp://shop:hush@broker".to_owned();
        let told = format!("{:?}", Destination::Amqp { url, address: "orders".to_owned(), login });
        assert_eq!(
            told,
            "Amqp { url: \"…@broker\", address: \"orders\", login: Some(Login { username: \"shop\", .. }) }"
        );
    }
}
