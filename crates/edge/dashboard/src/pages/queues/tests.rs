//! Tests of how queues, settings and messages are shown.

use api_types::{FilterView, MessageView, QueueView};
use serde_json::json;

use super::*;
use crate::components::controls::FieldValues;
use crate::pages::fake_api::{self, now, refused};

const HOSTILE: &str = "\"><script>alert(1)</script>";

fn queue() -> QueueView {
    serde_json::from_value(json!({
        "name": HOSTILE, "lock": "30s", "time_to_live": "1h", "deliveries_max": 1, "dead_letter_expired": true,
        "duplicate_window": "10m", "sessions": true, "messages_max": 1000, "bytes_max": 1_048_576,
        "filter": FilterView { label: Some(HOSTILE.to_owned()), ..FilterView::default() },
        "counts": { "ready": 1234, "locked": 1, "scheduled": 2, "dead": 3, "bytes": 2_500_000 },
        "version": 4, "created_at": "2026-03-01T12:00:00Z", "changed_at": "2026-03-01T12:00:00Z"
    }))
    .unwrap()
}

fn message(more: serde_json::Value) -> MessageView {
    let mut value = json!({
        "sequence_number": 7, "state": "ready", "message_id": HOSTILE, "deliveries": 2, "label": HOSTILE,
        "enqueued_at": "2026-03-01T12:00:00Z", "properties": { HOSTILE: HOSTILE }
    });
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_queue_is_one_row_and_its_name_stays_text() {
    let shown = queue_table(&[queue()]).into_string();
    assert!(!shown.contains("<script>"), "{shown}");
    for part in ["1,234", "2.4 MiB", "sub_queue=dead", "lock 30s; TTL 1h; sessions"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let long = settings::queue_in_words(&queue());
    assert!(long.starts_with("lock 30s; 1 delivery; messages expire after 1h, then dead-lettered"), "{long}");
}

#[test]
fn bodies_are_shown_as_what_they_are() {
    let kind = |more| {
        let body = message::body(&message(more));
        (body.kind, body.text)
    };
    assert_eq!(kind(json!({ "body": "{\"a\":1}" })), ("JSON", "{\n  \"a\": 1\n}".to_owned()));
    assert_eq!(kind(json!({ "body": "{broken" })), ("text", "{broken".to_owned()));
    assert_eq!(kind(json!({ "body": "12" })), ("text", "12".to_owned()));
    let (word, text) = kind(json!({ "body_base64": "AP8=" }));
    assert!(word == "bytes" && text.starts_with("000000  00 ff"), "{text}");
    assert_eq!(kind(json!({})).1, "");
}

// guards: 54
#[test]
fn hostile_messages_stay_text_and_long_ones_are_cut() {
    let dead = json!({ "at": "2026-03-01T12:00:00Z", "reason": HOSTILE, "description": HOSTILE });
    let shown = message::list(
        &[message(json!({ "body": HOSTILE.repeat(5000), "dead": dead }))],
        "/ui/queues/q",
        "dead",
    );
    let shown = shown.into_string();
    assert!(!shown.contains("<script>"), "foreign text became markup");
    assert!(shown.len() < 20_000 && shown.contains("Only the first 1,200 characters"), "{}", shown.len());
}

#[test]
fn more_subscriptions_than_a_page_holds_are_reached() {
    let subscription = serde_json::to_value(queue()).unwrap();
    let (ctx, sent) = fake_api::context("/ui/topics/t?after=m", &[], move |(_, path, _)| {
        if path.contains("/subscriptions") {
            return (200, json!({ "items": [subscription], "next": "z" }));
        }
        let at = "2026-03-01T12:00:00Z";
        let topic = json!({ "name": "t", "duplicate_window": "10m", "subscriptions": 200, "version": 1,
            "created_at": at, "changed_at": at });
        (200, topic)
    });
    let shown = now(topic::show(&ctx, "t")).expect("there is a page").content().into_string();
    assert!(shown.contains("/ui/topics/t?after=z") && shown.contains("rel=\"first\""), "{shown}");
    assert!(sent.lock().unwrap().iter().any(|(_, path, _)| path.contains("after=m")));
}

/// Settings that are shown in the form and saved unchanged stay the same.
#[test]
fn settings_survive_the_form() {
    for (kind, names) in [
        (
            EntityKind::Queue,
            ["lock", "time_to_live", "deliveries_max", "duplicate_window", "sessions", "messages_max"],
        ),
        (
            EntityKind::Subscription,
            ["lock", "time_to_live", "deliveries_max", "filter", "sessions", "bytes_max"],
        ),
    ] {
        let before = serde_json::to_value(queue()).unwrap();
        let after = settings::document(kind, &settings::texts(kind, &before));
        for name in names {
            assert_eq!(after[name], before[name], "{name}");
        }
    }
    let empty = settings::document(EntityKind::Queue, &FieldValues::new());
    assert_eq!(
        empty,
        json!({ "dead_letter_expired": false, "sessions": false }),
        "what is empty has its default"
    );
}

#[test]
fn settings_that_somebody_else_changed_can_be_saved_over() {
    let fields = [("version", "3"), ("lock", "45s"), ("time_to_live", "1h")];
    let (ctx, _) =
        fake_api::context("/ui/topics/t/settings", &fields, |(method, _, _)| match method.as_str() {
            "GET" => (200, json!({ "version": 4, "time_to_live": "2h", "duplicate_window": "10m" })),
            _ => refused(412, "version mismatch"),
        });
    let written = now(settings::write(&ctx, settings::EntityKind::Topic, "/v1/topics/t"));
    let shown = written.ok().and_then(Result::err).expect("the form again").into_string();
    assert!(shown.contains("name=\"version\" value=\"4\""), "{shown}");
    assert!(shown.contains("Changed by someone else") && shown.contains("is 2h on the server"), "{shown}");
    assert!(shown.contains("value=\"1h\""), "what was typed stays: {shown}");
}
