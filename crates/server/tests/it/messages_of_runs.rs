//! What runs send to queues of Sortie's own: by their steps, and by the feed.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::bus::{Bus, broker};

async fn apply(bus: &Bus, source: &str) {
    bus.ask(Method::POST, "/v1/workflows", &[], source.to_owned()).await.expect(201);
}

/// Starts a run and waits until it stands so.
async fn run(bus: &Bus, workflow: &str, id: &str, status: &str) {
    bus.put(&format!("/v1/workflows/{workflow}/runs/{id}"), json!({ "item": 7 })).await.expect(202);
    for _ in 0..1200 {
        if bus.get(&format!("/v1/runs/{id}")).await.expect(200).json()["status"] == status {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{id}: {}", bus.get(&format!("/v1/runs/{id}")).await.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_sends_to_the_queue_that_it_names_and_to_no_topic() {
    let bus = Bus::start().await;
    bus.queue("orders", json!({})).await;
    bus.put("/v1/topics/nobody", json!({})).await.expect(201);
    let send = |name: &str, call: &str| format!("name: {name}\nsteps:\n  one:\n    call: {call}\n");
    apply(&bus, &send("good", "{ type: queue, queue: Orders, body: .request, message: { label: new } }"))
        .await;
    run(&bus, "good", "r-1", "completed").await;
    let got = bus.lock("orders", "timeout=30").await.expect(201);
    assert_eq!(serde_json::from_str::<Value>(&got.text).unwrap(), json!({ "item": 7 }));
    assert_eq!((&broker(&got)["MessageId"], &broker(&got)["Label"]), (&json!("r-1/one/do"), &json!("new")));
    // A topic may have nobody who takes the message: it is not a queue.
    apply(&bus, &send("wrong", "{ type: queue, queue: nobody }")).await;
    run(&bus, "wrong", "r-2", "undone").await;
    apply(&bus, &send("right", "{ type: topic, topic: nobody }")).await;
    run(&bus, "right", "r-3", "completed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_reports_undone_and_parked_runs_also_when_it_has_sessions() {
    let bus = Bus::start().await;
    bus.queue("orders", json!({})).await;
    bus.put("/v1/topics/nobody", json!({})).await.expect(201);
    let source = |name: &str, undo: &str| {
        format!(
            "
name: {name}
feed: {name}-failed
steps:
  one: {{ call: {{ type: queue, queue: orders }}, undo: {{ type: queue, queue: {undo} }} }}
  two: {{ after: [one], call: {{ type: queue, queue: nobody }} }}
"
        )
    };
    for (name, undo, status, sessions) in
        [("undone", "orders", "undone", false), ("parked", "nobody", "parked", true)]
    {
        let feed = format!("{name}-failed");
        bus.queue(&feed, json!({ "sessions": sessions })).await;
        apply(&bus, &source(name, undo)).await;
        let id = format!("r-{name}");
        run(&bus, name, &id, status).await;
        let got = bus.lock(&feed, "timeout=30").await.expect(201);
        let body: Value = serde_json::from_str(&got.text).unwrap();
        assert_eq!((&body["run"]["id"], &body["run"]["status"]), (&json!(id), &json!(status)), "{body}");
        assert_eq!(body["request"], json!({ "item": 7 }));
        let told = broker(&got);
        assert_eq!((&told["Label"], &told["SessionId"]), (&json!(status), &json!(id)));
        bus.lock(&feed, "timeout=0").await.expect(204);
    }
}
