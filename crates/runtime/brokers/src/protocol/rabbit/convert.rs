//! A message as 0-9-1 has it, and back.

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable, LongString, ShortString};
use types::{Message, Property, Span};

use crate::fields::{self, Number};
use crate::{SendError, limits};

/// Fields that 0-9-1 has words for.
const KNOWN: [&str; 5] =
    [fields::CONTENT_TYPE, fields::CORRELATION_ID, fields::LABEL, fields::REPLY_TO, fields::TIME_TO_LIVE];

pub(super) fn properties(message: &Message) -> Result<BasicProperties, SendError> {
    let durable = message.force_persistence.unwrap_or(true);
    let mut properties = BasicProperties::default().with_delivery_mode(if durable { 2 } else { 1 });
    if !message.id.is_empty() {
        properties = properties.with_message_id(short("the id of the message", &message.id)?);
    }
    if let Some(id) = &message.correlation_id {
        properties = properties.with_correlation_id(short("the correlation id", id)?);
    }
    if let Some(reply_to) = &message.reply_to {
        properties = properties.with_reply_to(short("reply to", reply_to)?);
    }
    if let Some(label) = &message.label {
        properties = properties.with_type(short("the label", label)?);
    }
    if let Some(content_type) = &message.content_type {
        properties = properties.with_content_type(short("the content type", content_type)?);
    }
    if let Some(time_to_live) = message.time_to_live {
        properties =
            properties.with_expiration(short("the time to live", &time_to_live.as_ms().to_string())?);
    }
    let mut headers = FieldTable::default();
    let own = message.properties.iter().map(|(name, value)| (name.as_str(), value.clone()));
    // Fields come last: a property of the same name gives way.
    for (name, value) in own.chain(fields::without_words(message, &KNOWN)) {
        headers.insert(short("the name of a property", name)?, value_of(&value));
    }
    Ok(if headers.inner().is_empty() { properties } else { properties.with_headers(headers) })
}

/// A text whose length 0-9-1 writes in one byte.
pub(super) fn short(what: &str, text: &str) -> Result<ShortString, SendError> {
    if text.len() > limits::SHORT_TEXT_MAX {
        return Err(SendError::Refused(format!(
            "{what} is longer than {} bytes, which is the most that RabbitMQ takes",
            limits::SHORT_TEXT_MAX
        )));
    }
    Ok(ShortString::from(text))
}

fn value_of(property: &Property) -> AMQPValue {
    match property {
        Property::Text(text) => AMQPValue::LongString(LongString::from(text.as_str())),
        Property::Flag(flag) => AMQPValue::Boolean(*flag),
        Property::Number(written) => match fields::number(written) {
            Some(Number::Whole(whole)) => AMQPValue::LongLongInt(whole),
            Some(Number::Broken(broken)) => AMQPValue::Double(broken),
            None => AMQPValue::LongString(LongString::from(written.as_str())),
        },
    }
}

/// The message that came. Without an id it has none: RabbitMQ gives nothing that is the same the next time.
pub(super) fn message(properties: &BasicProperties, body: Vec<u8>) -> Message {
    let text = |value: &Option<ShortString>| value.as_ref().map(|text| text.as_str().to_owned());
    let mut message = Message::new(text(properties.message_id()).unwrap_or_default(), body);
    message.content_type = text(properties.content_type());
    message.correlation_id = text(properties.correlation_id());
    message.label = text(properties.kind());
    message.reply_to = text(properties.reply_to());
    message.time_to_live = text(properties.expiration()).and_then(|ms| ms.parse().ok()).map(Span::from_ms);
    message.force_persistence = properties.delivery_mode().map(|mode| mode == 2);
    for (name, value) in properties.headers().iter().flat_map(|headers| headers.inner()) {
        if let Some(value) = property_of(value) {
            fields::place(&mut message, name.as_str(), value);
        }
    }
    message
}

/// None for lists and tables, which a property cannot hold.
fn property_of(value: &AMQPValue) -> Option<Property> {
    let number = |number: &dyn ToString| Some(Property::Number(number.to_string()));
    match value {
        AMQPValue::Boolean(flag) => Some(Property::Flag(*flag)),
        AMQPValue::ShortShortInt(value) => number(value),
        AMQPValue::ShortShortUInt(value) => number(value),
        AMQPValue::ShortInt(value) => number(value),
        AMQPValue::ShortUInt(value) => number(value),
        AMQPValue::LongInt(value) => number(value),
        AMQPValue::LongUInt(value) => number(value),
        AMQPValue::LongLongInt(value) => number(value),
        AMQPValue::Timestamp(value) => number(value),
        AMQPValue::Float(value) => number(value),
        AMQPValue::Double(value) => number(value),
        AMQPValue::ShortString(text) => Some(Property::Text(text.as_str().to_owned())),
        AMQPValue::LongString(text) => {
            Some(Property::Text(String::from_utf8_lossy(text.as_bytes()).into_owned()))
        }
        AMQPValue::DecimalValue(_)
        | AMQPValue::FieldArray(_)
        | AMQPValue::FieldTable(_)
        | AMQPValue::ByteArray(_)
        | AMQPValue::Void => None,
    }
}
