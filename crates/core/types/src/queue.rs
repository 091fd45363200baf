//! Queues and topics as their owners write them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Message, Property, Span};

/// What a queue or a subscription promises its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueSpec {
    /// How long a message stays with the consumer that received it, unless it is renewed.
    pub lock: Span,
    /// How long a message waits at most.
    pub time_to_live: Option<Span>,
    /// How often a message is delivered before it becomes a dead letter.
    pub deliveries_max: u32,
    /// Whether a message that was not received in time becomes a dead letter.
    pub dead_letter_expired: bool,
    /// How long an id is remembered: a second message with it is dropped. Zero remembers none.
    pub duplicate_window: Span,
    /// Whether every message has a session, and those of one session are handled one after another.
    pub sessions: bool,
    /// What it holds at most, dead letters included.
    pub messages_max: u32,
    pub bytes_max: u64,
}

/// What a topic promises; the rest is its subscriptions'.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicSpec {
    /// How long a message waits at most, in every subscription.
    pub time_to_live: Option<Span>,
    pub duplicate_window: Span,
}

/// Which messages of its topic a subscription takes: those that have all that it names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Filter {
    pub id: Option<String>,
    pub content_type: Option<String>,
    pub correlation_id: Option<String>,
    pub label: Option<String>,
    pub reply_to: Option<String>,
    pub reply_to_session: Option<String>,
    pub session: Option<String>,
    pub to: Option<String>,
    pub properties: BTreeMap<String, Property>,
}

impl Default for QueueSpec {
    fn default() -> QueueSpec {
        QueueSpec {
            lock: Span::from_secs(60),
            time_to_live: None,
            deliveries_max: 10,
            dead_letter_expired: false,
            duplicate_window: Span::from_secs(600),
            sessions: false,
            messages_max: 1_000_000,
            bytes_max: 1 << 30,
        }
    }
}

impl Default for TopicSpec {
    fn default() -> TopicSpec {
        TopicSpec { time_to_live: None, duplicate_window: Span::from_secs(600) }
    }
}

impl Filter {
    /// Whether the filter takes this message.
    pub fn takes(&self, message: &Message) -> bool {
        let texts = [
            (&self.content_type, &message.content_type),
            (&self.correlation_id, &message.correlation_id),
            (&self.label, &message.label),
            (&self.reply_to, &message.reply_to),
            (&self.reply_to_session, &message.reply_to_session),
            (&self.session, &message.session),
            (&self.to, &message.to),
        ];
        self.id.as_ref().is_none_or(|id| *id == message.id)
            && texts.into_iter().all(|(wanted, has)| wanted.is_none() || wanted == has)
            && self.properties.iter().all(|(name, wanted)| message.properties.get(name) == Some(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_takes_what_has_all_that_it_names() {
        let mut message = Message::new("m", "body");
        message.label = Some("paid".to_owned());
        message.properties.insert("country".to_owned(), "NO".into());
        message.properties.insert("amount".to_owned(), Property::Number("7".to_owned()));
        let label = |text: &str| Filter { label: Some(text.to_owned()), ..Filter::default() };
        assert!(Filter::default().takes(&message));
        assert!(label("paid").takes(&message));
        assert!(!label("sent").takes(&message));
        let mut both = label("paid");
        both.properties.insert("country".to_owned(), "NO".into());
        assert!(both.takes(&message));
        both.properties.insert("amount".to_owned(), "7".into());
        assert!(!both.takes(&message), "a text is not a number");
        let missing = Filter { to: Some("x".to_owned()), ..Filter::default() };
        assert!(!missing.takes(&message));
    }
}
