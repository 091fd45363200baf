//! A broker's address and credentials, and what is sent to or taken from it.

use std::fmt;

use action::{BrokerDestination, BrokerOrigin};

/// Where a broker listens, and who signs in there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// `amqps://host[:port][/vhost]`, `nats://host,nats://host` or, for Kafka, `host:port,host:port`.
    pub url: String,
    pub login: Option<Login>,
}

/// A name and its secret.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Login {
    pub username: String,
    pub password: String,
}

/// A destination at a broker that can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageTarget {
    pub endpoint: Endpoint,
    pub to: BrokerDestination,
}

/// An origin at a broker that can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageSource {
    pub endpoint: Endpoint,
    pub from: BrokerOrigin,
    /// The name under which a broker that keeps consumers remembers what this one has settled.
    pub consumer: String,
}

impl Endpoint {
    pub fn new(url: impl Into<String>, login: Option<Login>) -> Endpoint {
        Endpoint { url: url.into(), login }
    }

    /// What is sent to this broker.
    pub fn target(self, to: BrokerDestination) -> MessageTarget {
        MessageTarget { endpoint: self, to }
    }

    /// What is taken from this broker by the consumer of this name.
    pub fn source(self, from: BrokerOrigin, consumer: impl Into<String>) -> MessageSource {
        MessageSource { endpoint: self, from, consumer: consumer.into() }
    }
}

// A URL that holds a secret is refused when it is used, and must not be shown before.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = match self.url.rsplit_once('@') {
            Some((_, host)) => format!("…@{host}"),
            None => self.url.clone(),
        };
        f.debug_struct("Endpoint").field("url", &url).field("login", &self.login).finish()
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
    fn debug_output_shows_no_secret() {
        let login = Some(Login { username: "shop".to_owned(), password: "hush".to_owned() });
        let endpoint = Endpoint::new("amqp://shop:hush@broker", login);
        let shown =
            format!("{:?}", endpoint.target(BrokerDestination::Amqp { address: "orders".to_owned() }));
        assert_eq!(
            shown,
            "MessageTarget { endpoint: Endpoint { url: \"…@broker\", login: Some(Login { username: \"shop\", .. }) }, \
             to: Amqp { address: \"orders\" } }"
        );
    }
}
