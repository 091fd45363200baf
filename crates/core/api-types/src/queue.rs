//! Queues, topics and their messages as the API shows them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use types::Span;

use crate::Time;

/// Some of something, in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamePage<T> {
    pub items: Vec<T>,
    /// Where to go on, as `after`; absent at the end.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A queue, or a subscription of a topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueView {
    pub name: String,
    /// The topic, of a subscription.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    pub lock: Span,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_to_live: Option<Span>,
    pub deliveries_max: u32,
    pub dead_letter_expired: bool,
    /// Absent of a subscription: its topic remembers ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_window: Option<Span>,
    pub sessions: bool,
    pub messages_max: u32,
    pub bytes_max: u64,
    /// Which messages of its topic a subscription takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterView>,
    pub counts: CountsView,
    pub version: u32,
    pub created_at: Time,
    pub changed_at: Time,
}

/// How many messages there are, by where they stand, and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountsView {
    pub ready: usize,
    pub locked: usize,
    pub scheduled: usize,
    pub dead: usize,
    pub bytes: u64,
}

/// What a message must have for a subscription to take it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FilterView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to_session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, Value>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopicView {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_to_live: Option<Span>,
    pub duplicate_window: Span,
    /// How many subscriptions it has.
    pub subscriptions: usize,
    pub version: u32,
    pub created_at: Time,
    pub changed_at: Time,
}

/// A message that somebody looks at, without receiving it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageView {
    pub sequence_number: u64,
    /// ready, locked or scheduled
    pub state: String,
    pub message_id: String,
    /// The body when it is text, else `body_base64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to_session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, Value>,
    pub deliveries: u32,
    pub enqueued_at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked_until: Option<Time>,
    /// Why it is a dead letter, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead: Option<DeadView>,
}

/// Why a message is a dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadView {
    pub at: Time,
    pub reason: String,
    pub description: String,
}

/// Some messages, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessagePage {
    pub items: Vec<MessageView>,
    /// Where to go on, as `from`; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// How many messages were brought back or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    pub messages: usize,
}
