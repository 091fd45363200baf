//! Service Bus over HTTPS, and whatever speaks like it: one POST with the properties in headers.

use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderName, HeaderValue, Method};
use serde_json::{Map, Value, json};
use types::{Message, Property, Span, Timestamp};
use vault::{Secret, sign_sas};

use super::path_of;
use crate::client::{OutboundRequest, ServiceResponse};
use crate::headers::{OWN_USER_AGENT, is_framing};
use crate::limits::SAS_LIFETIME;
use crate::mask::Mask;
use crate::url::Url;

const BROKER_PROPERTIES: HeaderName = HeaderName::from_static("brokerproperties");

/// A queue or a topic of a service bus.
#[derive(Debug)]
pub(crate) struct BusEntity {
    /// The URL of the namespace, without a slash at the end.
    pub base: String,
    pub entity: String,
    /// The name of a shared access key, and the key.
    pub key: Option<(String, Secret)>,
}

impl BusEntity {
    /// The namespace of Azure that has this name or host; a URL is taken as it is.
    pub(crate) fn namespace_url(scheme: &str, namespace: &str) -> String {
        if namespace.contains("://") {
            return namespace.trim_end_matches('/').to_owned();
        }
        let is_host = namespace.contains(['.', ':']);
        let azure = if is_host { "" } else { ".servicebus.windows.net" };
        format!("{scheme}://{namespace}{azure}")
    }

    /// The call that sends the message; `mask` learns which parts are secret.
    pub(super) fn request(
        &self,
        message: &Message,
        now: Timestamp,
        mask: &mut Mask,
    ) -> Result<OutboundRequest, String> {
        let resource = format!("{}/{}", self.base, path_of(&self.entity)?);
        let url = Url::parse(&format!("{resource}/messages")).map_err(|fault| fault.to_string())?;
        let mut request = OutboundRequest::new(Method::POST, url);
        for (name, value) in &message.properties {
            let header = HeaderName::try_from(name.as_str()).ok().filter(|header| !is_taken(header));
            let header = header.ok_or_else(|| {
                format!("the property '{name}' cannot be a header; send it by amqp, or name it otherwise")
            })?;
            request.headers.append(header, ascii_value(&property_text(value)));
        }
        if let Some(content_type) = &message.content_type {
            let value = HeaderValue::from_str(content_type);
            let value = value.map_err(|_| "the content type cannot be sent as a header".to_owned())?;
            request.headers.insert(CONTENT_TYPE, value);
        }
        request.headers.insert(BROKER_PROPERTIES, ascii_value(&broker_properties(message).to_string()));
        request.headers.insert(USER_AGENT, OWN_USER_AGENT);
        if let Some((name, key)) = &self.key {
            let token = sign_sas(&resource, name, key, now + Span::from_secs(SAS_LIFETIME.as_secs()));
            mask.hide(key.expose());
            mask.hide_query(token.expose().split_once(' ').map_or("", |(_, query)| query));
            let mut value = HeaderValue::try_from(token.expose()).expect("a token is visible ASCII");
            value.set_sensitive(true);
            request.headers.insert(AUTHORIZATION, value);
        }
        request.body = Some(message.body.clone());
        Ok(request)
    }
}

/// Whether an entity has no room. Service Bus and Sortie say 403 then; a wrong key is a 401, and a token of Sortie that may
/// not send is identified by its code.
pub(super) fn is_full(answer: &ServiceResponse) -> bool {
    let problem = || serde_json::from_slice::<Value>(&answer.body).unwrap_or_default();
    answer.status == 403 && problem()["code"] != "forbidden"
}

/// Headers that say something else than a property of the sender's own.
fn is_taken(name: &HeaderName) -> bool {
    let own = [AUTHORIZATION, CONTENT_TYPE, USER_AGENT, BROKER_PROPERTIES];
    own.contains(name) || is_framing(name)
}

/// Texts stand in quotes, so that they are not taken for numbers.
fn property_text(value: &Property) -> String {
    match value {
        Property::Text(text) => json!(text).to_string(),
        Property::Number(_) | Property::Flag(_) => value.to_string(),
    }
}

fn broker_properties(message: &Message) -> Value {
    let mut properties = Map::new();
    let texts = [
        ("MessageId", Some(&message.id)),
        ("CorrelationId", message.correlation_id.as_ref()),
        ("Label", message.label.as_ref()),
        ("PartitionKey", message.partition_key.as_ref()),
        ("ReplyTo", message.reply_to.as_ref()),
        ("ReplyToSessionId", message.reply_to_session.as_ref()),
        ("SessionId", message.session.as_ref()),
        ("To", message.to.as_ref()),
        ("ViaPartitionKey", message.via_partition_key.as_ref()),
    ];
    for (name, text) in texts {
        properties.extend(text.map(|text| (name.to_owned(), json!(text))));
    }
    if let Some(force) = message.force_persistence {
        properties.insert("ForcePersistence".to_owned(), json!(force));
    }
    if let Some(time_to_live) = message.time_to_live {
        let ms = time_to_live.as_ms();
        let seconds = if ms.is_multiple_of(1000) { json!(ms / 1000) } else { json!(ms as f64 / 1000.0) };
        properties.insert("TimeToLive".to_owned(), seconds);
    }
    if let Some(at) = message.scheduled_at {
        // In whole seconds, and rather late than early.
        let at = u64::try_from(at.0).unwrap_or(0).div_ceil(1000);
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(at.min(253_402_300_799));
        properties.insert("ScheduledEnqueueTimeUtc".to_owned(), json!(httpdate::fmt_http_date(at)));
    }
    Value::Object(properties)
}

/// JSON that can stand in a header: all that is not ASCII is escaped.
fn ascii_value(json: &str) -> HeaderValue {
    let mut ascii = String::new();
    for c in json.chars() {
        match c {
            ' '..='~' => ascii.push(c),
            c => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| ascii.push_str(&format!("\\u{unit:04x}")))
            }
        }
    }
    HeaderValue::try_from(ascii).expect("escaped JSON is visible ASCII")
}

#[cfg(test)]
mod tests;
