//! A message as NATS has it, and back: all but its body and its id are headers of text.

use async_nats::header::{HeaderName, HeaderValue, NATS_MESSAGE_ID};
use async_nats::{HeaderMap, Message as Incoming};
use types::{Message, Property};

use crate::{SendError, fields};

pub(super) fn headers(message: &Message) -> Result<HeaderMap, SendError> {
    let mut headers = HeaderMap::new();
    if !message.id.is_empty() {
        headers.insert(NATS_MESSAGE_ID, value_of("the id of the message", &message.id)?);
    }
    let own = message.properties.iter().map(|(name, value)| (name.as_str(), value.clone()));
    // Fields come last: a property of the same name gives way.
    for (name, value) in own.chain(fields::without_words(message, &[])) {
        let header: HeaderName = name.parse().map_err(|_| {
            SendError::Refused(format!(
                "{name:?} cannot be the name of a header of NATS: no blanks, no colon"
            ))
        })?;
        headers.insert(header, value_of(name, &value.to_string())?);
    }
    Ok(headers)
}

fn value_of(what: &str, text: &str) -> Result<HeaderValue, SendError> {
    // Blanks at either end would be lost on the way.
    let carried = text.trim() == text && !text.contains(['\r', '\n']);
    if !carried {
        return Err(SendError::Refused(format!(
            "{what} has a line break, or blanks at an end, which a header of NATS cannot carry"
        )));
    }
    Ok(HeaderValue::from(text))
}

/// The message that came, with the id that the stream gives it where the sender gave it none.
pub(super) fn message(incoming: &Incoming, place: impl FnOnce() -> String) -> Message {
    let mut message = Message::new("", incoming.payload.clone());
    for (name, values) in incoming.headers.iter().flat_map(HeaderMap::iter) {
        let Some(value) = values.first() else { continue };
        let name: &str = name.as_ref();
        if name == NATS_MESSAGE_ID.as_ref() as &str {
            message.id = value.as_str().to_owned();
        } else {
            fields::place(&mut message, name, Property::Text(value.as_str().to_owned()));
        }
    }
    if message.id.is_empty() {
        message.id = place();
    }
    message
}
