//! Several messages at once, as JSON: `[{ Body, BrokerProperties, UserProperties }]`.
//!
//! Sending them so is Service Bus's; receiving them so, and bodies that are not text, go beyond it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use engine::queues::{Outgoing, Received};
use serde_json::{Map, Value};
use types::Message;

use super::{broker, new_id, user_properties};
use crate::error::ApiError;
use crate::limits::{MESSAGE_BYTES_MAX, MESSAGES_MAX};
use crate::queues::properties;

/// The messages of a batch.
pub(super) fn read(text: &[u8]) -> Result<Vec<Outgoing>, ApiError> {
    let value: Value = serde_json::from_slice(text)
        .map_err(|error| ApiError::BadMessage(format!("the batch is not JSON: {error}")))?;
    let Value::Array(items) = value else {
        return Err(ApiError::BadMessage("the batch must be a list of messages".to_owned()));
    };
    if items.is_empty() || items.len() > MESSAGES_MAX {
        let text = format!("a batch of {} messages is not 1 to {MESSAGES_MAX}", items.len());
        return Err(ApiError::BadMessage(text));
    }
    let read = |(place, item): (usize, &Value)| {
        one(item).map_err(|error| match error {
            ApiError::BadMessage(text) => ApiError::BadMessage(format!("message {}: {text}", place + 1)),
            error => error,
        })
    };
    items.iter().enumerate().map(read).collect()
}

fn one(item: &Value) -> Result<Outgoing, ApiError> {
    let bad = |text: &str| ApiError::BadMessage(text.to_owned());
    let fields = item.as_object().ok_or_else(|| bad("must be an object"))?;
    let (mut message, mut own_id) = (Message::default(), false);
    let (mut body, mut encoding) = ("", "");
    for (name, value) in fields {
        let text = || value.as_str().ok_or_else(|| bad(&format!("{name}: must be a text")));
        let object = || value.as_object().ok_or_else(|| bad(&format!("{name}: must be an object")));
        match name.to_ascii_lowercase().as_str() {
            "body" => body = text()?,
            "bodyencoding" => encoding = text()?,
            "brokerproperties" => own_id = broker::read(object()?, &mut message)?,
            "userproperties" => message.properties = properties::from_json(object()?)?,
            // A message as it was received, sent on.
            "location" => {}
            _ => {
                let name: String = name.chars().take(80).collect();
                let known = "Body, BodyEncoding, BrokerProperties and UserProperties";
                return Err(bad(&format!("{name}: not a field of a message; {known} are")));
            }
        }
    }
    message.body = match encoding {
        "" => Bytes::copy_from_slice(body.as_bytes()),
        "base64" => STANDARD.decode(body).map_err(|_| bad("Body: is not base64"))?.into(),
        _ => return Err(bad("BodyEncoding: must be base64, or be omitted for text")),
    };
    if message.body.len() > MESSAGE_BYTES_MAX {
        return Err(ApiError::BodyTooLarge { bytes_max: MESSAGE_BYTES_MAX });
    }
    if !own_id {
        message.id = new_id();
    }
    Ok(Outgoing { message, own_id })
}

/// Messages that were received, each with where its lock is.
pub(super) fn write(received: &[Received], location: impl Fn(&Received) -> Option<String>) -> Vec<u8> {
    let one = |received: &Received| {
        let mut out = Map::new();
        match std::str::from_utf8(&received.message.body) {
            Ok(text) => drop(out.insert("Body".to_owned(), text.into())),
            Err(_) => {
                out.insert("Body".to_owned(), STANDARD.encode(&received.message.body).into());
                out.insert("BodyEncoding".to_owned(), "base64".into());
            }
        }
        out.insert("BrokerProperties".to_owned(), broker::write(received).into());
        let own = properties::to_json(&user_properties(received));
        out.insert("UserProperties".to_owned(), Value::Object(own.into_iter().collect()));
        if let Some(location) = location(received) {
            out.insert("Location".to_owned(), location.into());
        }
        Value::Object(out)
    };
    let all: Vec<Value> = received.iter().map(one).collect();
    serde_json::to_vec(&all).expect("a value in memory can always be encoded")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_batch_is_read_and_what_is_wrong_is_found_by_its_place() {
        let batch = json!([
            { "Body": "one", "BrokerProperties": { "MessageId": "m1", "TimeToLiveTimeSpan": "00:00:40" } },
            { "Body": "AP8=", "BodyEncoding": "base64", "UserProperties": { "Priority": "High", "n": 1.5 } },
        ]);
        let read_all = read(batch.to_string().as_bytes()).unwrap();
        assert_eq!((read_all[0].message.id.as_str(), read_all[0].own_id), ("m1", true));
        assert_eq!(read_all[1].message.body.as_ref(), [0, 255]);
        assert!(!read_all[1].own_id && !read_all[1].message.id.is_empty());
        assert_eq!(read_all[1].message.properties["priority"], "High".into());
        for (bad, word) in [
            (json!({}), "list"),
            (json!([]), "not 1 to 1000"),
            (json!([{ "Body": "x" }, { "Bdy": "x" }]), "message 2: Bdy"),
            (json!([{ "Body": 5 }]), "message 1: Body"),
            (json!([{ "Body": "x", "BodyEncoding": "base64" }]), "base64"),
            (json!([{ "BrokerProperties": { "X": 1 } }]), "message 1: BrokerProperties.X"),
            (json!([5]), "message 1: must be an object"),
        ] {
            let error = read(bad.to_string().as_bytes()).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        let large = json!([{ "Body": "x".repeat(MESSAGE_BYTES_MAX + 1) }]);
        assert!(matches!(read(large.to_string().as_bytes()), Err(ApiError::BodyTooLarge { .. })));
    }
}
