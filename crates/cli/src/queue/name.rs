//! Names of queues, topics and subscriptions; a subscription is TOPIC/SUBSCRIPTION.

use std::fmt;
use std::str::FromStr;

use crate::client::{self, Answer, Call};
use crate::names::NameKind;
use crate::session::Session;

/// A queue, or a subscription of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueName {
    name: String,
    subscription: Option<String>,
}

/// A queue or a topic by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityName(pub String);

/// A subscription as TOPIC/SUBSCRIPTION.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionName(pub QueueName);

impl QueueName {
    /// Its management path with a suffix.
    pub fn path(&self, rest: &str) -> String {
        match &self.subscription {
            None => client::path("/v1/queues/{}", &[&self.name]) + rest,
            Some(own) => client::path("/v1/topics/{}/subscriptions/{}", &[&self.name, own]) + rest,
        }
    }

    /// Calls the API for it; if it does not exist, the error suggests a similar name.
    pub async fn send(&self, session: &mut Session, call: Call) -> anyhow::Result<Answer> {
        session.find(call, NameKind::Queue, &self.to_string()).await
    }

    /// The path of its messages or dead letters, with a suffix.
    pub fn messages(&self, dead: bool, rest: &str) -> String {
        let place = match &self.subscription {
            None => client::path("/{}", &[&self.name]),
            Some(own) => client::path("/{}/subscriptions/{}", &[&self.name, own]),
        };
        let suffix = if dead { "/$DeadLetterQueue" } else { "" };
        format!("{place}{suffix}/messages{rest}")
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subscription {
            None => f.write_str(&self.name),
            Some(own) => write!(f, "{}/{own}", self.name),
        }
    }
}

impl FromStr for QueueName {
    type Err = String;

    fn from_str(text: &str) -> Result<QueueName, String> {
        let mut parts = text.split('/');
        let (name, subscription) = (parts.next().unwrap_or_default(), parts.next());
        let well =
            !name.is_empty() && subscription.is_none_or(|own| !own.is_empty()) && parts.next().is_none();
        if !well {
            return Err("must be the NAME of a queue, or TOPIC/SUBSCRIPTION".to_owned());
        }
        Ok(QueueName { name: name.to_owned(), subscription: subscription.map(str::to_owned) })
    }
}

impl FromStr for EntityName {
    type Err = String;

    fn from_str(text: &str) -> Result<EntityName, String> {
        if text.is_empty() || text.contains('/') {
            return Err(
                "must be the name of a queue or topic; a subscription is not possible here".to_owned()
            );
        }
        Ok(EntityName(text.to_owned()))
    }
}

impl FromStr for SubscriptionName {
    type Err = String;

    fn from_str(text: &str) -> Result<SubscriptionName, String> {
        let place: QueueName = text.parse()?;
        if place.subscription.is_none() {
            return Err("must be TOPIC/SUBSCRIPTION".to_owned());
        }
        Ok(SubscriptionName(place))
    }
}
