//! What the calls of a run send, in the types of the API.

use std::collections::BTreeMap;

use api_types::{HeaderView, HttpView, SentMessageView, SentView};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use engine::{CallContext, CallSubject};
use outbound::{CallPreview, HttpPreview, MessagePreview, Performer};
use serde_json::Value;
use types::{Property, Work};

pub(crate) fn show(
    performer: &Performer,
    subject: &CallSubject,
    context: &CallContext,
    work: Work,
    attempt: u32,
) -> SentView {
    match performer.show(subject, context, work, attempt) {
        Ok(CallPreview::Call(call)) => SentView::Http(http(call)),
        Ok(CallPreview::Message(message)) => SentView::Message(sent(*message)),
        Ok(CallPreview::Start { workflow, id, body }) => SentView::Start { workflow, id, body },
        Err(problem) => SentView::Problem(problem),
    }
}

fn http(call: HttpPreview) -> HttpView {
    let (body, body_base64) = call.body.map_or((None, None), |body| text_or_base64(&body));
    HttpView {
        method: call.method,
        url: call.url,
        headers: call.headers.into_iter().map(|(name, value)| HeaderView { name, value }).collect(),
        body,
        body_base64,
        timeout_ms: u64::try_from(call.timeout.as_millis()).unwrap_or(u64::MAX),
        certificate: call.certificate,
    }
}

fn sent(shown: MessagePreview) -> SentMessageView {
    let message = shown.message;
    let (body, body_base64) = text_or_base64(&message.body);
    let properties = message.properties.into_iter().map(|(name, value)| (name, property(value)));
    let mut properties: BTreeMap<String, Value> = properties.collect();
    let known = [
        ("correlation_id", message.correlation_id),
        ("label", message.label),
        ("partition_key", message.partition_key),
        ("reply_to", message.reply_to),
        ("session", message.session),
        ("to", message.to),
    ];
    for (name, value) in known {
        // A custom property of that name takes precedence.
        if let Some(value) = value {
            properties.entry(name.to_owned()).or_insert(Value::String(value));
        }
    }
    SentMessageView {
        to: shown.to.label(String::clone).replacen('_', " ", 1),
        at: shown.at,
        message_id: message.id,
        content_type: message.content_type,
        properties,
        body,
        body_base64,
    }
}

fn property(property: Property) -> Value {
    match property {
        Property::Text(text) => Value::String(text),
        Property::Number(number) => serde_json::from_str(&number).unwrap_or(Value::String(number)),
        Property::Flag(flag) => Value::Bool(flag),
    }
}

fn text_or_base64(body: &Bytes) -> (Option<String>, Option<String>) {
    match std::str::from_utf8(body) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(STANDARD.encode(body))),
    }
}
