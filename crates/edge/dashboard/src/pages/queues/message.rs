//! Messages: showing and sending them.

use std::hash::{DefaultHasher, Hash, Hasher};

use api_types::{MessageView, Problem};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use crate::components;
use crate::components::controls::{Controls, FieldValues};
use crate::context::{PageContext, encoded};
use crate::error::PageError;

/// Characters of a body in a list of messages, to keep the page small.
const EXCERPT: usize = 1200;
/// Characters of a body on the page of a single message.
const WHOLE: usize = 60_000;

/// A readable body: indented JSON, plain text, or a hex dump.
pub(super) struct DisplayBody {
    pub text: String,
    pub kind: &'static str,
}

pub(super) fn body(message: &MessageView) -> DisplayBody {
    if let Some(base64) = &message.body_base64 {
        let bytes = STANDARD.decode(base64).unwrap_or_default();
        return DisplayBody { text: hex(&bytes), kind: "bytes" };
    }
    let text = message.body.clone().unwrap_or_default();
    let structured = text.trim_start().starts_with(['{', '[']);
    match structured.then(|| serde_json::from_str::<Value>(&text)).and_then(Result::ok) {
        Some(value) => {
            DisplayBody { text: serde_json::to_string_pretty(&value).unwrap_or(text), kind: "JSON" }
        }
        None => DisplayBody { text, kind: "text" },
    }
}

/// A hex dump: offset, sixteen bytes per line, and their ASCII characters.
fn hex(bytes: &[u8]) -> String {
    let line = |(index, bytes): (usize, &[u8])| {
        let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let letters: String =
            bytes.iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' }).collect();
        format!("{:06x}  {:47}  {letters}", index * 16, digits.join(" "))
    };
    bytes.chunks(16).enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// A list of collapsed messages.
pub(super) fn list(messages: &[MessageView], address: &str, sub_queue: &str) -> Markup {
    html! {
        @for message in messages {
            details.message id={ "message-" (message.sequence_number) } {
                summary {
                    span.number { "#" (message.sequence_number) } " "
                    (components::badge(if message.dead.is_some() { "dead" } else { &message.state })) " "
                    code { (message.message_id) } " "
                    @if let Some(label) = &message.label { strong { (label) } " " }
                    (components::time(message.enqueued_at))
                    @if let Some(dead) = &message.dead { " " span.bad { (dead.reason) } }
                }
                (one(message, EXCERPT))
                p { a href={ (address) "?sub_queue=" (sub_queue) "&message=" (message.sequence_number) } { "Open message" } }
            }
        }
    }
}

/// A single message, with as much of its body as a page can hold.
pub(super) fn alone(message: &MessageView) -> Markup {
    one(message, WHOLE)
}

fn one(message: &MessageView, chars_max: usize) -> Markup {
    let body = body(message);
    let long = body.text.chars().count() > chars_max;
    let shown: String = body.text.chars().take(chars_max).collect();
    let named: [(&str, &Option<String>); 7] = [
        ("Content type", &message.content_type),
        ("Correlation", &message.correlation_id),
        ("Session", &message.session),
        ("To", &message.to),
        ("Reply to", &message.reply_to),
        ("Reply to session", &message.reply_to_session),
        ("Partition key", &message.partition_key),
    ];
    let mut facts: Vec<(&str, Markup)> = vec![("Deliveries", html! { (message.deliveries) })];
    facts.extend(named.into_iter().filter_map(|(name, value)| Some((name, html! { (value.as_ref()?) }))));
    let times = [
        ("Scheduled", message.scheduled_at),
        ("Locked until", message.locked_until),
        ("Expires", message.expires_at),
    ];
    facts.extend(times.into_iter().filter_map(|(name, at)| Some((name, components::time(at?)))));
    html! {
        @if let Some(dead) = &message.dead {
            p.wrong { (dead.reason) " " (components::time(dead.at)) @if !dead.description.is_empty() { ": " (dead.description) } }
        }
        (components::facts(&facts))
        @if !message.properties.is_empty() {
            dl.facts {
                @for (name, value) in &message.properties { div { dt { code { (name) } } dd { (value) } } }
            }
        }
        (components::copyable(&format!("Body, {}", body.kind), &shown))
        @if long { p.quiet { "Only the first " (components::count(chars_max as u64)) " characters of the body are shown." } }
    }
}

/// The form that sends a message.
pub(super) fn form(action: &str, texts: FieldValues, problem: Option<&Problem>) -> Markup {
    let place = |field: &str| {
        let field = field.rsplit([' ', '.']).next().unwrap_or_default();
        FIELDS.iter().find(|(_, name)| *name == field).map(|(control, _)| (*control).to_owned())
    };
    let once = texts.get(ONCE).cloned().unwrap_or_else(|| host::new_run_id().to_string());
    let mut controls = Controls::new(texts).with_ids("message-");
    if let Some(problem) = problem {
        controls = controls.with_errors(&plain(problem), &place);
    }
    html! {
        @if let Some(problem) = problem { (components::problem(problem)) }
        form.card.wide method="post" action=(action) {
            input type="hidden" name=(ONCE) value=(once);
            (controls.lines("body", "Body", "Text or JSON.", 5))
            div.columns {
                (controls.line("content_type", "Content type", "For example application/json."))
                (controls.line("message_id", "Message id", "Optional. A message with a recent id is dropped as a duplicate."))
                (controls.line("label", "Label", ""))
                (controls.line("session", "Session", ""))
                (controls.line("time_to_live", "Time to live", "In seconds, or as hh:mm:ss."))
                (controls.line("scheduled", "Scheduled time", "For example 2026-03-01T12:00:00Z."))
            }
            (controls.lines("properties", "Properties", "NAME=VALUE, one per line. Numbers and true/false keep their type; quote a value to send it as text.", 2))
            div.actions { button.primary type="submit" { "Send" } }
        }
    }
}

/// The problem without the index of the message: the batch has only one.
fn plain(problem: &Problem) -> Problem {
    let detail = problem.detail.split_once("message 1: ").map_or(problem.detail.as_str(), |(_, rest)| rest);
    Problem { detail: detail.to_owned(), ..problem.clone() }
}

/// The hidden field that identifies a form, so that submitting it twice sends one message.
const ONCE: &str = "once";

/// The id of a message without one: different for each form and each text, so that a form that the browser restored
/// can send another message.
fn own_id(texts: &FieldValues) -> Option<String> {
    let once = texts.get(ONCE).filter(|once| !once.is_empty())?;
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    Some(format!("{once}-{:016x}", hasher.finish()))
}

/// The controls and their names in the API.
const FIELDS: [(&str, &str); 8] = [
    ("body", "Body"),
    ("content_type", "ContentType"),
    ("message_id", "MessageId"),
    ("label", "Label"),
    ("session", "SessionId"),
    ("time_to_live", "TimeToLive"),
    ("scheduled", "ScheduledEnqueueTimeUtc"),
    ("properties", "UserProperties"),
];

/// Sends the message to a queue or topic; returns the form with errors if that fails.
pub(super) async fn send(ctx: &PageContext, name: &str) -> Result<Result<(), Markup>, PageError> {
    let texts: FieldValues = ctx.all_fields().into_iter().collect();
    let sent = match batch(&texts) {
        Ok(batch) => {
            let body = serde_json::to_vec(&batch).expect("plain data").into();
            let path = format!("/{}/messages", encoded(name));
            ctx.call(Method::POST, &path, body, "application/vnd.microsoft.servicebus.json").await
        }
        Err(why) => Err(PageError::Problem(Box::new(PageError::Form(why).problem()))),
    };
    match sent {
        Ok(_) => Ok(Ok(())),
        Err(PageError::Problem(problem)) => Ok(Err(form(&ctx.place(), texts, Some(&problem)))),
        Err(error) => Err(error),
    }
}

/// A batch of one message: JSON can hold every character, headers cannot.
fn batch(texts: &FieldValues) -> Result<Value, String> {
    let text = |name: &str| texts.get(name).map_or("", |text| text.trim());
    let mut broker = Map::new();
    for (control, name) in &FIELDS[1..7] {
        if !text(control).is_empty() {
            // A time to live in seconds must be sent as a number.
            let seconds = (*control == "time_to_live").then(|| text(control).parse::<u64>().ok()).flatten();
            broker.insert((*name).to_owned(), seconds.map_or_else(|| text(control).into(), Value::from));
        }
    }
    if !broker.contains_key("MessageId") {
        broker.extend(own_id(texts).map(|id| ("MessageId".to_owned(), id.into())));
    }
    let mut properties = Map::new();
    for line in text("properties").lines().filter(|line| !line.trim().is_empty()) {
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| format!("UserProperties: {line:?} has no “=”; the format is NAME=VALUE"))?;
        let value = value.trim();
        // As in headers: numbers, booleans and quoted strings are parsed; everything else is text.
        let read = serde_json::from_str(value)
            .ok()
            .filter(|read: &Value| !read.is_object() && !read.is_array() && !read.is_null());
        properties.insert(name.trim().to_owned(), read.unwrap_or_else(|| value.into()));
    }
    let body = texts.get("body").map_or("", String::as_str);
    Ok(json!([{ "Body": body, "BrokerProperties": broker, "UserProperties": properties }]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_as_digits_and_letters() {
        assert_eq!(hex(b"AB\x00\xff"), "000000  41 42 00 ff                                      AB..");
        assert_eq!(
            hex(&[0x61; 17]).lines().nth(1),
            Some("000010  61                                               a")
        );
    }

    #[test]
    fn a_form_becomes_a_message() {
        let texts = [
            ("body", " {} \n"),
            ("label", " paid "),
            ("time_to_live", "90"),
            ("session", ""),
            ("properties", "n=5\ntext=\"5\"\nplain=a=b\nyes=true"),
        ];
        let texts: FieldValues = texts.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        assert_eq!(
            batch(&texts),
            Ok(json!([{ "Body": " {} \n", "BrokerProperties": { "Label": "paid", "TimeToLive": 90 },
                        "UserProperties": { "n": 5, "text": "5", "plain": "a=b", "yes": true } }]))
        );
        let texts = FieldValues::from([("properties".to_owned(), "nonsense".to_owned())]);
        assert!(batch(&texts).unwrap_err().starts_with("UserProperties: "));
    }

    #[test]
    fn a_form_that_is_sent_twice_has_one_id() {
        let id = |once: &str, body: &str, id: &str| {
            let texts = [(ONCE, once), ("body", body), ("message_id", id)];
            let texts = texts.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
            batch(&texts).unwrap()[0]["BrokerProperties"]["MessageId"].as_str().unwrap().to_owned()
        };
        assert_eq!(id("f", "b", ""), id("f", "b", ""));
        assert_ne!(id("f", "b", ""), id("g", "b", ""));
        assert_ne!(id("f", "b", ""), id("f", "c", ""));
        assert_eq!(id("f", "b", "mine"), "mine");
        let forms = [(); 2].map(|()| form("/", FieldValues::new(), None).into_string());
        assert_ne!(forms[0], forms[1]);
        let kept = form("/", FieldValues::from([(ONCE.to_owned(), "f".to_owned())]), None).into_string();
        assert!(kept.contains("name=\"once\" value=\"f\""), "{kept}");
    }
}
