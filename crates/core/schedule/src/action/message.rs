//! The messages that actions send, in their canonical form.

use std::collections::BTreeMap;

use action::{Destination, DestinationType, FieldKind, FieldValue, FieldValues};
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Error, Map, Value};

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

/// A message for a destination that `action` declares: a built-in queue or topic, or an external broker.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredMessage {
    pub to: Destination<String>,
    /// None for built-in queues and topics.
    pub endpoint: Option<StoredEndpoint>,
    pub content: Content,
}

/// Where a broker is, and who signs in there.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEndpoint {
    pub url: String,
    pub username: Option<String>,
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

impl DeclaredMessage {
    /// The message that the members of a stored action describe.
    pub(super) fn from_members(kind: DestinationType, value: Value) -> Result<DeclaredMessage, Error> {
        let Value::Object(mut members) = value else { return Err(Error::custom("a target is an object")) };
        let endpoint = match kind.job().and_then(|spelling| spelling.endpoint.as_ref()) {
            None => None,
            Some(endpoint) => Some(StoredEndpoint {
                url: member(&mut members, endpoint.member)?,
                username: member(&mut members, "username")?,
                password: members.remove("password").map_or(Ok(Secret::default()), serde_json::from_value)?,
            }),
        };
        let mut fields = FieldValues::default();
        for field in kind.fields() {
            let value = match field.kind {
                FieldKind::Name | FieldKind::Text => {
                    member::<Option<_>>(&mut members, field.member)?.map(FieldValue::Text)
                }
                FieldKind::Flag => member::<Option<_>>(&mut members, field.member)?.map(FieldValue::Flag),
                FieldKind::Choice(words) => {
                    let word: Option<String> = member(&mut members, field.member)?;
                    words
                        .iter()
                        .find(|known| word.as_deref() == Some(**known))
                        .copied()
                        .map(FieldValue::Choice)
                }
            };
            value.into_iter().for_each(|value| fields.push(field, value));
        }
        let to = kind.destination(fields, None);
        let to =
            to.ok_or_else(|| Error::custom(format!("a member that {} requires is missing", kind.name())))?;
        Ok(DeclaredMessage { to, endpoint, content: serde_json::from_value(Value::Object(members))? })
    }
}

/// A member of its type; what is absent is null.
fn member<T: serde::de::DeserializeOwned>(members: &mut Map<String, Value>, name: &str) -> Result<T, Error> {
    serde_json::from_value(members.remove(name).unwrap_or_default())
}

/// The members in the order of their declaration: the address, the fields, who signs in, the message.
impl Serialize for DeclaredMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let kind = self.to.destination_type();
        let declared = kind.job().and_then(|spelling| spelling.endpoint.as_ref());
        if let (Some(declared), Some(endpoint)) = (declared, &self.endpoint) {
            map.serialize_entry(declared.member, &endpoint.url)?;
        }
        for (name, value) in self.to.fields().iter() {
            let field = kind.fields().iter().find(|field| field.name == name);
            let member = field.expect("a destination gives back declared fields").member;
            match value {
                FieldValue::Text(text) => map.serialize_entry(member, text)?,
                FieldValue::Flag(flag) => map.serialize_entry(member, flag)?,
                FieldValue::Choice(word) => map.serialize_entry(member, word)?,
            }
        }
        if let Some(StoredEndpoint { username, password, .. }) = &self.endpoint {
            if let Some(username) = username {
                map.serialize_entry("username", username)?;
            }
            if !password.is_absent() {
                map.serialize_entry("password", password)?;
            }
        }
        let Content { message, brokered_message_properties, custom_message_properties } = &self.content;
        map.serialize_entry("message", message)?;
        if let Some(properties) = brokered_message_properties {
            map.serialize_entry("brokeredMessageProperties", properties)?;
        }
        if !custom_message_properties.is_empty() {
            map.serialize_entry("customMessageProperties", custom_message_properties)?;
        }
        map.end()
    }
}
