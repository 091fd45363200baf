//! Queues, topics and their messages as the API shows them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use types::Span;

use crate::schema::{ApiObject, Components, FilterProperties, ObjectSchema, PropertyValue};
use crate::{ApiSchema, Time};

/// Some of something, in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamePage<T> {
    pub items: Vec<T>,
    /// Where to go on, as `after`; absent at the end.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl<T: ApiSchema> ApiObject for NamePage<T> {
    fn members(object: &mut ObjectSchema, components: &mut Components) {
        object.member("items", true, Vec::<T>::schema(components), "", &[]);
        let next = "Pass it as `after` to get the next page; absent on the last page.";
        object.member("next", false, String::schema(components), next, &[]);
    }
}

impl ApiSchema for NamePage<QueueView> {
    fn schema(components: &mut Components) -> Value {
        components.object::<Self>("QueuePage", "")
    }
}

impl ApiSchema for NamePage<TopicView> {
    fn schema(components: &mut Components) -> Value {
        components.object::<Self>("TopicPage", "")
    }
}

/// A queue, or a subscription of a topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Queue")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "QueueCounts")]
pub struct CountsView {
    pub ready: usize,
    pub locked: usize,
    pub scheduled: usize,
    pub dead: usize,
    pub bytes: u64,
}

/// What a message must have for a subscription to take it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ApiSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(name = "Filter", input)]
pub struct FilterView {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 1024)]
    pub message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 1024)]
    pub content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 1024)]
    pub correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 1024)]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 1024)]
    pub reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 1024)]
    pub reply_to_session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 1024)]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 1024)]
    pub to: Option<String>,
    /// The sender's own properties; names in any case.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(like = FilterProperties)]
    pub properties: BTreeMap<String, Value>,
}

/// A topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Topic")]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Message")]
pub struct MessageView {
    pub sequence_number: u64,
    /// ready, locked or scheduled
    #[schema(one_of("ready", "locked", "scheduled"))]
    pub state: String,
    pub message_id: String,
    /// The body when it is text, else `body_base64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// When it is not.
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
    /// The sender's own properties.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(like = BTreeMap<String, PropertyValue>)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "DeadLetter")]
pub struct DeadView {
    pub at: Time,
    pub reason: String,
    pub description: String,
}

/// Some messages, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "MessagePage")]
pub struct MessagePage {
    pub items: Vec<MessageView>,
    /// Where to go on, as `from`; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// How many messages were brought back or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ApiSchema)]
#[schema(name = "Moved")]
pub struct Moved {
    pub messages: usize,
}
