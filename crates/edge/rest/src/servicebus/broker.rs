//! `BrokerProperties`: what the broker knows of a message, as JSON in the words of Service Bus.

use api_types::Time;
use engine::queues::Received;
use serde_json::{Map, Value};
use types::{Message, Span, Timestamp};
use uuid::Uuid;

use crate::error::ApiError;
use crate::limits::{MESSAGE_ID_BYTES_MAX, MESSAGE_TEXT_BYTES_MAX};

/// What a message is received with, and so what may come back when it is sent on; nobody can set it.
const RECEIVED_ONLY: [&str; 9] = [
    "deliverycount",
    "enqueuedtimeutc",
    "enqueuedsequencenumber",
    "expiresatutc",
    "lockeduntilutc",
    "locktoken",
    "sequencenumber",
    "size",
    "state",
];

/// Sets what the properties say of a message; true when they give its id.
pub(super) fn read(properties: &Map<String, Value>, message: &mut Message) -> Result<bool, ApiError> {
    let mut own_id = false;
    for (name, value) in properties {
        let lower = name.to_ascii_lowercase();
        if value.is_null() || RECEIVED_ONLY.contains(&lower.as_str()) {
            continue;
        }
        let id = || text(name, value, MESSAGE_ID_BYTES_MAX);
        let long = || text(name, value, MESSAGE_TEXT_BYTES_MAX);
        match lower.as_str() {
            "messageid" => {
                message.id = id()?.ok_or_else(|| bad(name, "must not be empty"))?;
                own_id = true;
            }
            "correlationid" => message.correlation_id = long()?,
            "sessionid" => message.session = id()?,
            "label" | "subject" => message.label = long()?,
            "replyto" => message.reply_to = long()?,
            "replytosessionid" => message.reply_to_session = id()?,
            "to" => message.to = long()?,
            "partitionkey" => message.partition_key = id()?,
            "viapartitionkey" => message.via_partition_key = id()?,
            "contenttype" => message.content_type = long()?,
            "forcepersistence" => {
                let flag = value.as_bool().ok_or_else(|| bad(name, "must be true or false"))?;
                message.force_persistence = Some(flag);
            }
            "timetolive" | "timetolivetimespan" => message.time_to_live = Some(span(name, value)?),
            "scheduledenqueuetimeutc" => message.scheduled_at = Some(time(name, value)?),
            _ => return Err(unknown(name)),
        }
    }
    if let (Some(session), Some(key)) = (&message.session, &message.partition_key)
        && session != key
    {
        return Err(bad("PartitionKey", "must be the same as SessionId when both are given"));
    }
    Ok(own_id)
}

/// What is known of a message that was received.
pub(super) fn write(received: &Received) -> Map<String, Value> {
    let (taken, message) = (&received.taken, &received.message);
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| drop(out.insert(name.to_owned(), value));
    put("DeliveryCount", taken.deliveries.into());
    put("EnqueuedSequenceNumber", taken.no.0.into());
    put("EnqueuedTimeUtc", Time(taken.enqueued_at).http().into());
    if let Some((token, until)) = taken.lock {
        put("LockToken", Uuid::from_bytes(token.0).to_string().into());
        put("LockedUntilUtc", Time(until).http().into());
    }
    put("MessageId", message.id.clone().into());
    put("SequenceNumber", taken.no.0.into());
    put("State", "Active".into());
    let texts = [
        ("ContentType", &message.content_type),
        ("CorrelationId", &message.correlation_id),
        ("Label", &message.label),
        ("PartitionKey", &message.partition_key),
        ("ReplyTo", &message.reply_to),
        ("ReplyToSessionId", &message.reply_to_session),
        ("SessionId", &message.session),
        ("To", &message.to),
        ("ViaPartitionKey", &message.via_partition_key),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            put(name, text.clone().into());
        }
    }
    if let Some(flag) = message.force_persistence {
        put("ForcePersistence", flag.into());
    }
    if let Some(span) = message.time_to_live {
        put("TimeToLive", (span.as_ms() as f64 / 1000.0).into());
    }
    if let Some(at) = taken.expires_at {
        put("ExpiresAtUtc", Time(at).http().into());
    }
    if let Some(at) = message.scheduled_at {
        put("ScheduledEnqueueTimeUtc", Time(at).http().into());
    }
    out
}

fn bad(name: &str, why: &str) -> ApiError {
    ApiError::BadMessage(format!("BrokerProperties.{name}: {why}"))
}

fn unknown(name: &str) -> ApiError {
    let name: String = name.chars().take(80).collect();
    bad(
        &name,
        "not a property of the broker; MessageId, CorrelationId, SessionId, Label, ReplyTo, ReplyToSessionId, To, \
         TimeToLive, TimeToLiveTimeSpan, ScheduledEnqueueTimeUtc, PartitionKey, ViaPartitionKey, ContentType and \
         ForcePersistence are. A property of your own is a header of its own, or stands in UserProperties",
    )
}

/// An empty text is as good as none.
fn text(name: &str, value: &Value, bytes_max: usize) -> Result<Option<String>, ApiError> {
    let text = value.as_str().ok_or_else(|| bad(name, "must be a text"))?;
    if text.len() > bytes_max {
        return Err(bad(name, &format!("{} bytes are more than {bytes_max}", text.len())));
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

fn time(name: &str, value: &Value) -> Result<Timestamp, ApiError> {
    let text = value.as_str().ok_or_else(|| bad(name, "must be a text like 2026-03-01T12:00:00Z"))?;
    let short: String = text.chars().take(80).collect();
    Time::parse_any(&short).map(|time| time.0).map_err(|error| bad(name, &error))
}

/// Seconds as a number, or a TimeSpan of .NET: `hh:mm:ss`, with days and parts of a second if need be.
fn span(name: &str, value: &Value) -> Result<Span, ApiError> {
    let ms = match value {
        Value::Number(secs) => secs.as_f64().map(|secs| secs * 1000.0),
        Value::String(text) => time_span(text),
        _ => None,
    };
    let ms = ms.filter(|ms| ms.is_finite() && *ms >= 1.0);
    let ms =
        ms.ok_or_else(|| bad(name, "must be seconds as a number, or like 00:01:30, and more than zero"))?;
    // Beyond what a number can hold it is cut, as a span is cut at ten years.
    Ok(Span::from_ms(ms as u64))
}

/// Milliseconds of `[d.]hh:mm[:ss[.fffffff]]`.
fn time_span(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.len() > 40 || !text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.')) {
        return None;
    }
    let mut parts = text.split(':');
    let (first, minutes, seconds) = (parts.next()?, parts.next()?, parts.next().unwrap_or("0"));
    if parts.next().is_some() {
        return None;
    }
    let (days, hours) = first.split_once('.').unwrap_or(("0", first));
    let number = |text: &str| text.parse::<f64>().ok();
    let (days, hours, minutes, seconds) = (number(days)?, number(hours)?, number(minutes)?, number(seconds)?);
    let fits = hours < 24.0 && minutes < 60.0 && seconds < 60.0;
    fits.then_some((((days * 24.0 + hours) * 60.0 + minutes) * 60.0 + seconds) * 1000.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(properties: Value) -> Result<(Message, bool), String> {
        let mut message = Message::default();
        let own = read(properties.as_object().unwrap(), &mut message).map_err(|error| error.to_string())?;
        Ok((message, own))
    }

    #[test]
    fn names_are_taken_in_any_case_and_spans_in_both_ways() {
        let properties = json!({
            "messageid": "m", "LABEL": "paid", "SessionId": "s", "PartitionKey": "s", "To": "",
            "TimeToLive": 1.5, "ScheduledEnqueueTimeUtc": "Sun, 01 Mar 2026 12:00:00 GMT",
            "ForcePersistence": true, "DeliveryCount": 3, "LockToken": "x", "ReplyTo": null,
        });
        let (message, own_id) = check(properties).unwrap();
        assert!(own_id);
        let expected = Message {
            id: "m".to_owned(),
            label: Some("paid".to_owned()),
            session: Some("s".to_owned()),
            partition_key: Some("s".to_owned()),
            time_to_live: Some(Span::from_ms(1500)),
            scheduled_at: Some(Timestamp(1_772_366_400_000)),
            force_persistence: Some(true),
            ..Message::default()
        };
        assert_eq!(message, expected);
        for (text, ms) in [("00:01:30", 90_000), ("1.00:00:00", 86_400_000), ("00:00:00.2500000", 250)] {
            let (message, _) = check(json!({ "TimeToLiveTimeSpan": text })).unwrap();
            assert_eq!(message.time_to_live, Some(Span::from_ms(ms)), "{text}");
        }
        let (message, _) = check(json!({ "TimeToLive": 922_337_203_685.477_5 })).unwrap();
        assert_eq!(message.time_to_live, Some(Span::from_ms(u64::MAX)), "as long as can be");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (properties, name) in [
            (json!({ "MesageId": "m" }), "MesageId"),
            (json!({ "MessageId": "" }), "MessageId"),
            (json!({ "MessageId": 5 }), "MessageId"),
            (json!({ "SessionId": "x".repeat(129) }), "SessionId"),
            (json!({ "Label": "x".repeat(1025) }), "Label"),
            (json!({ "TimeToLive": 0 }), "TimeToLive"),
            (json!({ "TimeToLive": -5 }), "TimeToLive"),
            (json!({ "TimeToLive": "soon" }), "TimeToLive"),
            (json!({ "TimeToLiveTimeSpan": "00:61:00" }), "TimeToLiveTimeSpan"),
            (json!({ "ScheduledEnqueueTimeUtc": "tomorrow" }), "ScheduledEnqueueTimeUtc"),
            (json!({ "ForcePersistence": "yes" }), "ForcePersistence"),
            (json!({ "SessionId": "a", "PartitionKey": "b" }), "PartitionKey"),
        ] {
            let error = check(properties).unwrap_err();
            assert!(error.starts_with(&format!("BrokerProperties.{name}: ")), "{error}");
        }
    }
}
