//! Messages as clients send and receive them, several at once, in the words of Service Bus.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ApiSchema;
use crate::schema::PropertyValue;

/// A message for a queue or topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ApiSchema)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
#[schema(name = "SentMessage", input)]
pub struct SentMessage {
    #[serde(default)]
    pub body: String,
    /// `base64` when the body is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(one_of("base64"))]
    pub body_encoding: Option<String>,
    #[serde(default)]
    pub broker_properties: SentProperties,
    /// Texts, numbers and truths of the sender's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(like = BTreeMap<String, PropertyValue>)]
    pub user_properties: BTreeMap<String, Value>,
}

/// The properties of a message that the broker uses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ApiSchema)]
#[serde(rename_all = "PascalCase", default)]
#[schema(name = "SentProperties", input)]
pub struct SentProperties {
    /// A second message with it is dropped, as long as the queue remembers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128, min_length = 1)]
    pub message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1024)]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1024)]
    pub correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1024)]
    pub reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1024)]
    pub to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1024)]
    pub content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub reply_to_session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub partition_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub via_partition_key: Option<String>,
    /// In seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(exclusive_minimum = 0)]
    pub time_to_live: Option<f64>,
    /// Not to be received before: `2026-03-01T12:00:00Z`, or as the headers of HTTP write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_enqueue_time_utc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_persistence: Option<bool>,
}

/// A message that a consumer has received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ApiSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(name = "ReceivedMessage")]
pub struct ReceivedMessage {
    pub body: String,
    /// There when the body is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(one_of("base64"))]
    pub body_encoding: Option<String>,
    pub broker_properties: ReceivedProperties,
    /// Properties of the sender's own; names in lower case.
    #[serde(default)]
    #[schema(like = BTreeMap<String, PropertyValue>)]
    pub user_properties: BTreeMap<String, Value>,
    /// The address of the lock; absent of a message that was deleted as it was received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// What the broker knows of a message. Times are written as the headers of HTTP write them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ApiSchema)]
#[serde(rename_all = "PascalCase")]
#[schema(name = "ReceivedProperties")]
pub struct ReceivedProperties {
    pub delivery_count: u32,
    pub enqueued_sequence_number: u64,
    pub enqueued_time_utc: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_utc: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    pub lock_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked_until_utc: Option<String>,
    #[schema(max_length = 128, min_length = 1)]
    pub message_id: String,
    pub sequence_number: u64,
    #[schema(one_of("Active"))]
    pub state: String,
    /// What the sender said, but for the id.
    #[serde(flatten)]
    pub sent: SentProperties,
}
