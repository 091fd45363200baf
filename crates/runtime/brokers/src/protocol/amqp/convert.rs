//! A message as AMQP 1.0 has it, in the words of Service Bus, and back.

use bytes::{BufMut, Bytes, BytesMut};
use fe2o3_amqp::types::messaging::annotations::OwnedKey;
use fe2o3_amqp::types::messaging::{
    ApplicationProperties, Body, Data, Header, Message as Wired, MessageAnnotations, MessageId, Properties,
};
use fe2o3_amqp::types::primitives::{Binary, OrderedMap, SimpleValue, Symbol, Timestamp as WiredTime, Value};
use types::{Message, Property, Span, Timestamp};

use crate::fields::{self, Number};

const SCHEDULED: &str = "x-opt-scheduled-enqueue-time";
const PARTITION_KEY: &str = "x-opt-partition-key";
const VIA_PARTITION_KEY: &str = "x-opt-via-partition-key";

pub(super) fn outgoing(message: &Message) -> Wired<Data> {
    let time_to_live = message.time_to_live.map(|span| u32::try_from(span.as_ms()).unwrap_or(u32::MAX));
    let header =
        Header { durable: message.force_persistence.unwrap_or(true), ttl: time_to_live, ..Header::default() };
    let text = |id: &String| MessageId::String(id.clone());
    let properties = Properties {
        message_id: Some(&message.id).filter(|id| !id.is_empty()).map(text),
        correlation_id: message.correlation_id.as_ref().map(text),
        subject: message.label.clone(),
        to: message.to.clone(),
        reply_to: message.reply_to.clone(),
        reply_to_group_id: message.reply_to_session.clone(),
        group_id: message.session.clone(),
        content_type: message.content_type.clone().map(Symbol::from),
        ..Properties::default()
    };
    Wired {
        header: Some(header),
        delivery_annotations: None,
        message_annotations: annotations(message),
        properties: Some(properties),
        application_properties: own(message),
        body: Data(Binary::from(message.body.to_vec())),
        footer: None,
    }
}

fn annotations(message: &Message) -> Option<MessageAnnotations> {
    let text = |text: &Option<String>| text.clone().map(Value::String);
    let scheduled = message.scheduled_at.map(|at| Value::Timestamp(WiredTime::from_milliseconds(at.0)));
    let all = [
        (SCHEDULED, scheduled),
        (PARTITION_KEY, text(&message.partition_key)),
        (VIA_PARTITION_KEY, text(&message.via_partition_key)),
    ];
    let mut annotations = MessageAnnotations::default();
    for (name, value) in all {
        if let Some(value) = value {
            annotations.insert(OwnedKey::Symbol(Symbol::from(name)), value);
        }
    }
    (!annotations.is_empty()).then_some(annotations)
}

fn own(message: &Message) -> Option<ApplicationProperties> {
    let value_of = |property: &Property| match property {
        Property::Text(text) => SimpleValue::String(text.clone()),
        Property::Flag(flag) => SimpleValue::Bool(*flag),
        Property::Number(written) => match fields::number(written) {
            Some(Number::Whole(whole)) => SimpleValue::Long(whole),
            Some(Number::Broken(broken)) => SimpleValue::Double(broken.into()),
            None => SimpleValue::String(written.clone()),
        },
    };
    let own: OrderedMap<String, SimpleValue> =
        message.properties.iter().map(|(name, value)| (name.clone(), value_of(value))).collect();
    (!message.properties.is_empty()).then_some(ApplicationProperties(own))
}

/// The message that came. Without an id it has none: the protocol gives nothing that is the same the next time.
pub(super) fn incoming(wired: Wired<Body<Value>>) -> Message {
    let mut message = Message::new("", body(wired.body));
    if let Some(header) = wired.header {
        message.force_persistence = Some(header.durable);
        message.time_to_live = header.ttl.map(|ms| Span::from_ms(ms.into()));
    }
    if let Some(properties) = wired.properties {
        message.id = properties.message_id.map(id_text).unwrap_or_default();
        message.correlation_id = properties.correlation_id.map(id_text);
        message.label = properties.subject;
        message.to = properties.to;
        message.reply_to = properties.reply_to;
        message.reply_to_session = properties.reply_to_group_id;
        message.session = properties.group_id;
        message.content_type = properties.content_type.map(|symbol| symbol.0);
    }
    for (name, value) in wired.message_annotations.map(|all| all.0).into_iter().flatten() {
        let OwnedKey::Symbol(name) = name else { continue };
        match (name.as_str(), value) {
            (SCHEDULED, Value::Timestamp(at)) => message.scheduled_at = Some(Timestamp(at.milliseconds())),
            (PARTITION_KEY, Value::String(key)) => message.partition_key = Some(key),
            (VIA_PARTITION_KEY, Value::String(key)) => message.via_partition_key = Some(key),
            _ => {}
        }
    }
    for (name, value) in wired.application_properties.map(|all| all.0).into_iter().flatten() {
        let value = match value {
            SimpleValue::Bool(flag) => Property::Flag(flag),
            SimpleValue::String(text) => Property::Text(text),
            other => property_of(&Value::from(other)),
        };
        message.properties.insert(name, value);
    }
    message
}

fn id_text(id: MessageId) -> String {
    match id {
        MessageId::String(text) => text,
        MessageId::Ulong(number) => number.to_string(),
        MessageId::Uuid(uuid) => hex(uuid.as_inner()),
        MessageId::Binary(bytes) => hex(&bytes),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes as they are, texts as UTF-8, numbers and flags as they are written. Lists and maps are written as JSON
/// is, which says more than nothing.
fn body(body: Body<Value>) -> Bytes {
    match body {
        Body::Data(parts) => {
            let mut whole = BytesMut::new();
            for Data(part) in parts {
                whole.put_slice(&part);
            }
            whole.freeze()
        }
        Body::Value(value) => match value.0 {
            Value::Binary(bytes) => Bytes::from(bytes.into_vec()),
            Value::Null => Bytes::new(),
            other => Bytes::from(written(&other)),
        },
        Body::Sequence(parts) => {
            let values: Vec<String> =
                parts.into_iter().flat_map(|part| part.0).map(|one| json(&one)).collect();
            Bytes::from(format!("[{}]", values.join(",")))
        }
        Body::Empty => Bytes::new(),
    }
}

fn property_of(value: &Value) -> Property {
    match value {
        Value::Bool(flag) => Property::Flag(*flag),
        Value::Ubyte(_)
        | Value::Ushort(_)
        | Value::Uint(_)
        | Value::Ulong(_)
        | Value::Byte(_)
        | Value::Short(_)
        | Value::Int(_)
        | Value::Long(_)
        | Value::Float(_)
        | Value::Double(_)
        | Value::Timestamp(_) => Property::Number(written(value)),
        _ => Property::Text(written(value)),
    }
}

/// A value outside of any list: a text without quotes.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Symbol(symbol) => symbol.0.clone(),
        Value::Char(one) => one.to_string(),
        other => json(other),
    }
}

fn json(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Ubyte(number) => number.to_string(),
        Value::Ushort(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Ulong(number) => number.to_string(),
        Value::Byte(number) => number.to_string(),
        Value::Short(number) => number.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Long(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::Timestamp(time) => time.milliseconds().to_string(),
        Value::Binary(bytes) => quoted(&hex(bytes)),
        Value::Uuid(uuid) => quoted(&hex(uuid.as_inner())),
        Value::List(values) => format!("[{}]", values.iter().map(json).collect::<Vec<_>>().join(",")),
        Value::Map(pairs) => {
            let pair =
                |(name, value): (&Value, &Value)| format!("{}:{}", quoted(&written(name)), json(value));
            format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(","))
        }
        Value::String(_) | Value::Symbol(_) | Value::Char(_) => quoted(&written(value)),
        other => quoted(&format!("{other:?}")),
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for one in text.chars() {
        match one {
            '"' | '\\' => quoted.extend(['\\', one]),
            control if control < ' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
