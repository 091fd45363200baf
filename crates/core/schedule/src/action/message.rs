//! The messages that actions send, in their canonical form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::authentication::Secret;
use crate::date::Date;
use crate::duration::Duration;
use crate::spelling::{BusAuthenticationType, Envelope, TransportType};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueMessage {
    pub storage_account: String,
    pub queue_name: String,
    #[serde(default, skip_serializing_if = "Secret::is_absent")]
    pub sas_token: Secret,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Envelope>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BusQueueMessage {
    pub queue_name: String,
    #[serde(flatten)]
    pub message: BusMessage,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BusTopicMessage {
    pub topic_path: String,
    #[serde(flatten)]
    pub message: BusMessage,
}

/// What queues and topics of a service bus have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BusMessage {
    pub namespace: String,
    pub transport_type: TransportType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<BusAuthentication>,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brokered_message_properties: Option<BrokeredProperties>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub custom_message_properties: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BusAuthentication {
    pub sas_key_name: String,
    #[serde(default, skip_serializing_if = "Secret::is_absent")]
    pub sas_key: Secret,
    #[serde(rename = "type")]
    pub kind: BusAuthenticationType,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BrokeredProperties {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_persistence: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to_session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_enqueue_time_utc: Option<Date>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_to_live: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via_partition_key: Option<String>,
}

/// A message for a queue or a topic of Sortie's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueuePost {
    pub name: String,
    #[serde(flatten)]
    pub content: Content,
}

/// A message for any broker that speaks AMQP 1.0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AmqpMessage {
    pub url: String,
    pub address: String,
    #[serde(flatten)]
    pub login: Login,
    #[serde(flatten)]
    pub content: Content,
}

/// A message for RabbitMQ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RabbitMqMessage {
    pub url: String,
    /// None is the exchange without a name, whose routing keys are queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchange: Option<String>,
    pub routing_key: String,
    #[serde(flatten)]
    pub login: Login,
    #[serde(flatten)]
    pub content: Content,
}

/// A message for NATS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NatsMessage {
    pub url: String,
    pub subject: String,
    /// Whether a stream must confirm it; yes unless it says no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    #[serde(flatten)]
    pub login: Login,
    #[serde(flatten)]
    pub content: Content,
}

/// A message for Kafka.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KafkaMessage {
    pub servers: String,
    pub topic: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[serde(flatten)]
    pub login: Login,
    #[serde(flatten)]
    pub content: Content,
}

/// How a broker knows the sender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Login {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    #[serde(default, skip_serializing_if = "Secret::is_absent")]
    pub password: Secret,
}

/// What a message carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brokered_message_properties: Option<BrokeredProperties>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub custom_message_properties: BTreeMap<String, String>,
}
