//! How services are shown, and how the form is read.

use serde_json::json;

use super::*;
use crate::pages::fake_api::{self, now};

const HOSTILE: &str = "<script>alert('x')</script>\"";

fn service(by_hand: serde_json::Value) -> ServiceView {
    serde_json::from_value(serde_json::json!({
        "service": HOSTILE, "names": [HOSTILE, HOSTILE], "limit": 16, "in_flight": 3, "waiting": 1234,
        "breaker": "held_open", "p50_ms": 1.5, "p99_ms": null, "by_hand": by_hand,
    }))
    .unwrap()
}

fn draft(breaker: &str, limit: &str, note: &str) -> OverrideForm {
    OverrideForm { breaker: breaker.to_owned(), limit: limit.to_owned(), note: note.to_owned() }
}

#[test]
fn foreign_text_stays_text_and_the_buttons_fit_the_override() {
    let held = serde_json::json!({ "breaker": "open", "limit": 7, "note": HOSTILE, "at": "2026-01-01T00:00:00Z", "by": HOSTILE });
    let held = service(held);
    let shown = html! { (table(std::slice::from_ref(&held))) (brief(std::slice::from_ref(&held))) (facts(&held)) (form(&held, &draft("open", HOSTILE, HOSTILE), None)) };
    let shown = shown.into_string();
    assert!(!shown.contains("<script>") && shown.contains("&lt;script&gt;"), "{shown}");
    assert!(shown.contains("Resume<") && !shown.contains(">Pause calls<"), "{shown}");
    let free = table(&[service(serde_json::Value::Null)]).into_string();
    assert!(!free.contains("Resume<") && free.contains(">Pause calls<"), "{free}");
}

#[test]
fn a_form_is_read_and_what_is_wrong_with_it_names_the_field() {
    let read = draft("open", "", "").read().unwrap();
    assert_eq!(read, ServiceRequest { breaker: "open".to_owned(), limit: None, note: None });
    let read = draft("auto", "5", "slow").read().unwrap();
    assert_eq!((read.limit, read.note.as_deref()), (Some(5), Some("slow")));
    let Err(PageError::Form(text)) = draft("auto", "-1", "").read() else { panic!("it was taken") };
    assert!(text.starts_with("limit: '-1'"), "{text}");
}

#[test]
fn a_quick_way_changes_the_breaker_alone() {
    let put = |fields: &[(&str, &str)]| {
        let (ctx, sent) = fake_api::context("/ui/services/d", fields, |_| {
            let current = json!({ "breaker": "auto", "limit": 7, "note": "slow", "at": "2026-01-01T00:00:00Z", "by": "ann" });
            (200, serde_json::to_value(service(current)).unwrap())
        });
        assert!(matches!(now(act(&ctx, "d")), Ok(FormOutcome::Done { .. })));
        let sent = sent.lock().unwrap();
        sent.iter().find(|(method, _, _)| method == "PUT").expect("it was sent").2.clone()
    };
    assert_eq!(put(&[("breaker", "open")]), json!({ "breaker": "open", "limit": 7, "note": "slow" }));
    let emptied = put(&[("breaker", "closed"), ("limit", ""), ("note", " ")]);
    assert_eq!(
        (&emptied["breaker"], emptied["limit"].as_u64(), emptied["note"].as_str()),
        (&json!("closed"), None, None)
    );
}
