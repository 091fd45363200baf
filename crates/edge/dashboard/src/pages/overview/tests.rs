//! What the overview shows for a response of the API.

use api_types::{FiringView, ServiceView, Time};

use super::*;

const HOSTILE: &str = "<script>alert('x')</script>";

/// An overview of an idle installation, with changes.
fn overview(changes: serde_json::Value) -> OverviewView {
    let mut all = serde_json::json!({
        "at": "2026-01-01T00:00:00Z",
        "rates": { "accepted": 12.34, "refused": 0.0, "ended": 1234.5, "attempts": 60.0 },
        "latency": { "accept_p50_ms": 0.5, "accept_p99_ms": 4.2, "run_p50_ms": null, "run_p99_ms": null },
        "backlog": { "unfinished": 0, "waiting": 0, "live": 0 },
        "parked": 0,
        "firings": { "next": [], "late": 0 },
        "services": [],
        "partitions": { "total": 4, "running": 4, "stopped": 0, "unheld": 0 },
        "series": { "every_seconds": 10, "accepted": [1.0], "ended": [1.0], "run_p99_ms": [null], "unfinished": [0] },
    });
    for (name, value) in changes.as_object().unwrap() {
        all[name] = value.clone();
    }
    serde_json::from_value(all).unwrap()
}

fn partition(number: u16, state: &str, reason: Option<&str>) -> PartitionView {
    let (state, reason) = (state.to_owned(), reason.map(str::to_owned));
    PartitionView { state, reason, ..PartitionView::unheld(number) }
}

#[test]
fn nothing_needs_attention_when_all_is_well() {
    let well = attention::needed(&overview(serde_json::json!({})), &[partition(0, "running", None)]);
    assert_eq!(well.into_string(), "");
}

#[test]
fn all_that_needs_attention_is_listed_with_links_and_foreign_text_stays_text() {
    let service = serde_json::json!({
        "service": HOSTILE, "limit": 1, "in_flight": 0, "waiting": 1234, "breaker": "held_open",
        "p50_ms": null, "p99_ms": null,
        "by_hand": { "breaker": "open", "note": HOSTILE, "at": "2026-01-01T00:00:00Z", "by": HOSTILE },
    });
    let ill = overview(serde_json::json!({
        "parked": 2,
        "rates": { "accepted": 1.0, "refused": 3.25, "ended": 0.0, "attempts": 0.0 },
        "firings": { "next": [{ "collection": HOSTILE, "job": HOSTILE, "at": "2026-01-01T00:00:00Z" }], "late": 1 },
        "services": [service],
        "partitions": { "total": 4, "running": 2, "stopped": 1, "unheld": 1 },
        "region": { "region": HOSTILE, "role": "active", "pair": HOSTILE, "pair_reachable": false },
    }));
    let partitions =
        [partition(0, "running", None), partition(1, "stopped", Some(HOSTILE)), partition(2, "unheld", None)];
    let shown = attention::needed(&ill, &partitions).into_string();
    assert_eq!(shown.matches("<li>").count(), 7, "{shown}");
    for text in [
        "/ui/parked",
        "2 runs are waiting for a decision",
        "1 firing is overdue",
        "1 partition has no owner",
        "1,234 calls waiting",
        "3.2 requests per second",
    ] {
        assert!(shown.contains(text), "{text} in {shown}");
    }
    let cluster = ClusterView {
        instance: None,
        known: true,
        active: true,
        instances: Vec::new(),
        partitions: Vec::new(),
    };
    let rest =
        html! { (figures(&ill)) (charts(&ill.series)) (soon(&ill)) (places(&ill, &partitions, &cluster)) };
    for shown in [shown, rest.into_string()] {
        assert!(!shown.contains("<script>") && shown.contains("&lt;script&gt;"), "{shown}");
    }
}

#[test]
fn figures_say_what_is_not_known_and_how_long_a_backlog_takes() {
    let shown = figures(&overview(serde_json::json!({
        "backlog": { "unfinished": 12000, "waiting": 11000, "live": 1000, "drain_seconds": 300 },
    })));
    let shown = shown.into_string();
    for text in ["12.3/s", "1,235/s", "p99 –", "12,000", "empty in 5 min"] {
        assert!(shown.contains(text), "{text} in {shown}");
    }
}

#[test]
fn a_young_server_has_a_gap_before_it_began() {
    let values = padded(vec![Some(1.0), Some(2.0)]);
    let room = STRETCHES_MIN;
    assert_eq!((values.len(), values[room - 3], values[room - 1]), (room, None, Some(2.0)));
}

#[test]
fn a_partition_that_does_not_run_is_crossed_out_and_counted() {
    let shown =
        partitions::strip(&[partition(0, "running", None), partition(1, "stopped", None)]).into_string();
    assert!(shown.contains("1 of 2 running") && shown.contains("Partition 1: stopped"), "{shown}");
    assert_eq!(shown.matches("<path").count(), 1);
}

#[test]
fn firings_lead_to_their_jobs() {
    let firing = FiringView { collection: "a~b~c".to_owned(), job: "x y".to_owned(), at: Time::default() };
    let shown = firings(&FiringsView { next: vec![firing], ..FiringsView::default() }).into_string();
    assert!(shown.contains("/ui/jobs/a~b~c/x%20y"), "{shown}");
    assert!(services::brief(&Vec::<ServiceView>::new()).into_string().contains("No service"));
}
