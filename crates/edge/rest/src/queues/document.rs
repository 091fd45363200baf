//! What people write about queues, topics and subscriptions, field by field, each with its bounds.

use serde_json::{Map, Value};
use types::{Filter, Property, QueueSpec, Span, TopicSpec};

use super::properties;
use crate::error::ApiError;
use crate::limits::{LOCK_MAX, LOCK_MIN, MESSAGE_TEXT_BYTES_MAX};

const SECOND: Span = Span::from_secs(1);
const WEEK: Span = Span::from_secs(7 * 24 * 3600);
/// As long as a span can be.
const LONGEST: Span = Span::from_ms(u64::MAX);
const DELIVERIES_MAX: u64 = 2000;
const MESSAGES_MAX: u64 = 10_000_000;
const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;

/// What a document is shown with and nobody can set: it may come back.
const SHOWN: [&str; 7] = ["name", "topic", "version", "created_at", "changed_at", "counts", "subscriptions"];

/// The settings of a queue. What is not said has its default.
pub(crate) fn queue(body: &Value) -> Result<QueueSpec, ApiError> {
    let mut spec = QueueSpec::default();
    for (name, value) in fields(body)? {
        if !queue_field(&mut spec, name, value)? {
            return Err(unknown(name, "duplicate_window, "));
        }
    }
    Ok(spec)
}

/// The settings of a subscription, and which messages it takes.
pub(crate) fn subscription(body: &Value) -> Result<(QueueSpec, Filter), ApiError> {
    let (mut spec, mut filter) = (QueueSpec { duplicate_window: Span::ZERO, ..QueueSpec::default() }, None);
    for (name, value) in fields(body)? {
        match name.as_str() {
            "filter" if !value.is_null() => filter = Some(read_filter(value)?),
            "filter" => {}
            "duplicate_window" => return Err(bad(name, "is its topic's: set it there")),
            _ if queue_field(&mut spec, name, value)? => {}
            _ => return Err(unknown(name, "filter, ")),
        }
    }
    Ok((spec, filter.unwrap_or_default()))
}

/// The settings of a topic.
pub(crate) fn topic(body: &Value) -> Result<TopicSpec, ApiError> {
    let mut spec = TopicSpec::default();
    for (name, value) in fields(body)? {
        match name.as_str() {
            "time_to_live" if value.is_null() => spec.time_to_live = None,
            "time_to_live" => spec.time_to_live = Some(span(name, value, SECOND, LONGEST)?),
            "duplicate_window" => spec.duplicate_window = span(name, value, Span::ZERO, WEEK)?,
            _ if SHOWN.contains(&name.as_str()) => {}
            _ => {
                return Err(bad(
                    &short(name),
                    "not a setting of a topic; time_to_live and duplicate_window are",
                ));
            }
        }
    }
    Ok(spec)
}

/// Whether the field was one of a queue's.
fn queue_field(spec: &mut QueueSpec, name: &str, value: &Value) -> Result<bool, ApiError> {
    match name {
        "lock" => spec.lock = span(name, value, LOCK_MIN, LOCK_MAX)?,
        "time_to_live" if value.is_null() => spec.time_to_live = None,
        "time_to_live" => spec.time_to_live = Some(span(name, value, SECOND, LONGEST)?),
        "deliveries_max" => spec.deliveries_max = small(name, value, DELIVERIES_MAX)?,
        "dead_letter_expired" => spec.dead_letter_expired = flag(name, value)?,
        "duplicate_window" => spec.duplicate_window = span(name, value, Span::ZERO, WEEK)?,
        "sessions" => spec.sessions = flag(name, value)?,
        "messages_max" => spec.messages_max = small(name, value, MESSAGES_MAX)?,
        "bytes_max" => spec.bytes_max = number(name, value, MIB, TIB)?,
        _ => return Ok(SHOWN.contains(&name)),
    }
    Ok(true)
}

fn read_filter(value: &Value) -> Result<Filter, ApiError> {
    let fields = value.as_object().ok_or_else(|| bad("filter", "must be an object"))?;
    let mut filter = Filter::default();
    for (name, value) in fields {
        let place = match name.as_str() {
            "message_id" => &mut filter.id,
            "content_type" => &mut filter.content_type,
            "correlation_id" => &mut filter.correlation_id,
            "label" => &mut filter.label,
            "reply_to" => &mut filter.reply_to,
            "reply_to_session" => &mut filter.reply_to_session,
            "session" => &mut filter.session,
            "to" => &mut filter.to,
            "properties" => {
                filter.properties = filter_properties(value)?;
                continue;
            }
            _ => {
                let known = "message_id, content_type, correlation_id, label, reply_to, reply_to_session, session, \
                             to and properties";
                return Err(bad(
                    &format!("filter.{}", short(name)),
                    &format!("not a field of a filter; {known} are"),
                ));
            }
        };
        let text = value.as_str().filter(|text| (1..=MESSAGE_TEXT_BYTES_MAX).contains(&text.len()));
        let why = format!("must be a text of 1 to {MESSAGE_TEXT_BYTES_MAX} bytes");
        *place = Some(text.ok_or_else(|| bad(&format!("filter.{name}"), &why))?.to_owned());
    }
    Ok(filter)
}

fn filter_properties(value: &Value) -> Result<std::collections::BTreeMap<String, Property>, ApiError> {
    let fields = value.as_object().ok_or_else(|| bad("filter.properties", "must be an object"))?;
    properties::from_json(fields).map_err(|error| bad("filter.properties", &error.to_string()))
}

pub(super) fn fields(body: &Value) -> Result<&Map<String, Value>, ApiError> {
    body.as_object().ok_or_else(|| ApiError::BadQueue("the body must be an object of JSON".to_owned()))
}

pub(super) fn bad(name: &str, why: &str) -> ApiError {
    ApiError::BadQueue(format!("{name}: {why}"))
}

fn unknown(name: &str, also: &str) -> ApiError {
    let known =
        "lock, time_to_live, deliveries_max, dead_letter_expired, sessions, messages_max and bytes_max";
    bad(&short(name), &format!("not a setting here; {also}{known} are"))
}

pub(super) fn short(name: &str) -> String {
    name.chars().take(80).collect()
}

fn span(name: &str, value: &Value, least: Span, most: Span) -> Result<Span, ApiError> {
    let text = value.as_str().ok_or_else(|| bad(name, "must be a span of time like \"60s\""))?;
    let span: Span = text.parse().map_err(|error: types::time::InvalidSpan| bad(name, &error.to_string()))?;
    if !(least..=most).contains(&span) {
        return Err(bad(name, &format!("{span} is not {least} to {most}")));
    }
    Ok(span)
}

fn flag(name: &str, value: &Value) -> Result<bool, ApiError> {
    value.as_bool().ok_or_else(|| bad(name, "must be true or false"))
}

fn small(name: &str, value: &Value, most: u64) -> Result<u32, ApiError> {
    Ok(u32::try_from(number(name, value, 1, most)?).expect("the bound is small"))
}

pub(super) fn number(name: &str, value: &Value, least: u64, most: u64) -> Result<u64, ApiError> {
    let number = value.as_u64().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| bad(name, &format!("must be a whole number from {least} to {most}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_said_is_taken_and_the_rest_has_its_default() {
        let spec =
            queue(&json!({ "lock": "30s", "time_to_live": null, "sessions": true, "counts": {} })).unwrap();
        assert_eq!(spec, QueueSpec { lock: Span::from_secs(30), sessions: true, ..QueueSpec::default() });
        let (spec, filter) = subscription(&json!({
            "bytes_max": 1 << 20,
            "filter": { "label": "paid", "properties": { "Country": "NO", "n": 5, "x": true } },
        }))
        .unwrap();
        assert_eq!(spec.bytes_max, 1 << 20);
        assert_eq!(filter.properties["country"], "NO".into());
        assert_eq!(filter.properties["n"], Property::Number("5".to_owned()));
        let week = topic(&json!({ "duplicate_window": "7d" })).unwrap();
        assert_eq!(week.duplicate_window, WEEK);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (body, name) in [
            (json!({ "lok": "30s" }), "lok"),
            (json!({ "lock": 30 }), "lock"),
            (json!({ "lock": "2h" }), "lock"),
            (json!({ "lock": "999ms" }), "lock"),
            (json!({ "time_to_live": "10ms" }), "time_to_live"),
            (json!({ "deliveries_max": 0 }), "deliveries_max"),
            (json!({ "deliveries_max": 2001 }), "deliveries_max"),
            (json!({ "deliveries_max": 1.5 }), "deliveries_max"),
            (json!({ "duplicate_window": "8d" }), "duplicate_window"),
            (json!({ "sessions": "yes" }), "sessions"),
            (json!({ "messages_max": 10_000_001 }), "messages_max"),
            (json!({ "bytes_max": 1000 }), "bytes_max"),
            (json!({ "filter": {} }), "filter"),
        ] {
            let error = queue(&body).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name}: ")), "{error}");
        }
        for (body, name) in [
            (json!({ "filter": 5 }), "filter"),
            (json!({ "filter": { "colour": "red" } }), "filter.colour"),
            (json!({ "filter": { "label": 5 } }), "filter.label"),
            (json!({ "filter": { "properties": { "a": [] } } }), "filter.properties"),
            (json!({ "duplicate_window": "1d" }), "duplicate_window"),
        ] {
            let error = subscription(&body).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name}: ")), "{error}");
        }
        assert!(topic(&json!({ "lock": "5s" })).is_err());
        assert!(queue(&json!([])).is_err());
    }
}
