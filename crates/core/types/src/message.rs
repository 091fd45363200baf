//! A message: what is handed to a queue or a topic, Sortie's own or a broker's.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{Span, Timestamp};

/// A message with the properties that brokers know. Those that a broker has no word for travel as properties of
/// the sender's own, or not at all; each broker's page says which.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Message {
    /// The same for every attempt to send it: a broker that drops duplicates knows it by this.
    pub id: String,
    pub body: Bytes,
    pub content_type: Option<String>,
    pub correlation_id: Option<String>,
    /// What it is about, in a word: `Label` of Service Bus, `subject` of AMQP 1.0.
    pub label: Option<String>,
    pub partition_key: Option<String>,
    pub reply_to: Option<String>,
    pub reply_to_session: Option<String>,
    /// Messages of one session are handled one after another.
    pub session: Option<String>,
    pub to: Option<String>,
    pub via_partition_key: Option<String>,
    pub force_persistence: Option<bool>,
    pub time_to_live: Option<Span>,
    /// When it may be received first.
    pub scheduled_at: Option<Timestamp>,
    /// The sender's own.
    pub properties: BTreeMap<String, Property>,
}

/// A property of the sender's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Property {
    Text(String),
    /// A number of JSON, as it was written.
    Number(String),
    Flag(bool),
}

impl Message {
    /// A message with an id and a body, and nothing else.
    pub fn new(id: impl Into<String>, body: impl Into<Bytes>) -> Message {
        Message { id: id.into(), body: body.into(), ..Message::default() }
    }

    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        let texts = [
            &self.content_type,
            &self.correlation_id,
            &self.label,
            &self.partition_key,
            &self.reply_to,
            &self.reply_to_session,
            &self.session,
            &self.to,
            &self.via_partition_key,
        ];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        let own = self.properties.iter().map(|(name, value)| name.len() + value.weight());
        self.id.len() + self.body.len() + texts + own.sum::<usize>()
    }
}

impl Property {
    fn weight(&self) -> usize {
        match self {
            Property::Text(text) | Property::Number(text) => text.len(),
            Property::Flag(_) => 1,
        }
    }
}

impl From<&str> for Property {
    fn from(text: &str) -> Property {
        Property::Text(text.to_owned())
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Property::Text(text) | Property::Number(text) => f.write_str(text),
            Property::Flag(flag) => flag.fmt(f),
        }
    }
}
