//! Messages as clients send and receive them, several at once, in the words of Service Bus.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message for a queue or topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct SentMessage {
    #[serde(default)]
    pub body: String,
    /// `base64` when the body is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_encoding: Option<String>,
    #[serde(default)]
    pub broker_properties: SentProperties,
    /// Texts, numbers and truths of the sender's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub user_properties: BTreeMap<String, Value>,
}

/// What the broker is told of a message.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SentProperties {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to_session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via_partition_key: Option<String>,
    /// In seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_live: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_enqueue_time_utc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_persistence: Option<bool>,
}

/// A message that a consumer has received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ReceivedMessage {
    pub body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_encoding: Option<String>,
    pub broker_properties: ReceivedProperties,
    #[serde(default)]
    pub user_properties: BTreeMap<String, Value>,
    /// The address of the lock; absent of a message that was deleted as it was received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// What the broker knows of a message. Times are written as the headers of HTTP write them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ReceivedProperties {
    pub delivery_count: u32,
    pub enqueued_sequence_number: u64,
    pub enqueued_time_utc: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_utc: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked_until_utc: Option<String>,
    pub message_id: String,
    pub sequence_number: u64,
    pub state: String,
    /// What the sender said, but for the id.
    #[serde(flatten)]
    pub sent: SentProperties,
}
