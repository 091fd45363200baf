//! Topics, and how queues and topics are looked after.

use http::Method;
use serde_json::json;

use crate::bus::{Bus, broker};

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_gives_each_subscription_what_its_filter_takes() {
    let bus = Bus::start().await;
    bus.put("/v1/topics/Events", json!({})).await.expect(201);
    let subscribe = async |name: &str, body| {
        bus.put(&format!("/v1/topics/events/subscriptions/{name}"), body).await.expect(201)
    };
    subscribe("all", json!({})).await;
    subscribe("paid", json!({ "filter": { "label": "paid" } })).await;
    let norway = json!({ "filter": { "properties": { "Country": "NO", "amount": 5, "express": true } } });
    subscribe("norway", norway).await;
    let sent = json!({ "Label": "paid", "CorrelationId": "c" }).to_string();
    let headers = [("brokerproperties", sent.as_str())];
    bus.ask(Method::POST, "/events/messages", &headers, "one").await.expect(201);
    let headers = [("country", "\"NO\""), ("amount", "5"), ("express", "true")];
    bus.ask(Method::POST, "/events/messages", &headers, "two").await.expect(201);
    let list = bus.get("/v1/topics/events/subscriptions").await.expect(200).json();
    let ready: Vec<_> = list["items"].as_array().unwrap().iter().map(|one| &one["counts"]["ready"]).collect();
    assert_eq!(ready, [2, 1, 1]);
    for (name, bodies) in [("all", vec!["one", "two"]), ("paid", vec!["one"]), ("norway", vec!["two"])] {
        for body in bodies {
            let got = bus.lock(&format!("events/Subscriptions/{name}"), "timeout=30").await.expect(201);
            assert_eq!(got.text, body, "{name}");
            bus.settle(Method::DELETE, &got).await.expect(200);
        }
        bus.lock(&format!("events/subscriptions/{name}"), "timeout=0").await.expect(204);
    }
    bus.send("events", "poison", json!({ "Label": "paid" })).await.expect(201);
    let got = bus.lock("events/subscriptions/paid", "timeout=30").await.expect(201);
    let dead = format!("{}/deadletter", crate::bus::lock_path(&got));
    bus.post(&dead, &json!({ "reason": "r" })).await.expect(200);
    let dead = bus.lock("events/subscriptions/paid/$DeadLetterQueue", "timeout=30").await.expect(201);
    assert_eq!(broker(&dead)["MessageId"], broker(&got)["MessageId"]);
    bus.settle(Method::PUT, &dead).await.expect(200);
    let moved = bus.post("/v1/topics/events/subscriptions/paid/redrive", &json!({})).await.expect(200);
    assert_eq!(moved.json()["messages"], 1);
    assert_eq!(bus.get("/v1/topics/events").await.expect(200).json()["subscriptions"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_are_shown_as_they_were_put_and_a_version_guards_them() {
    let bus = Bus::start().await;
    let put = bus.put("/v1/queues/q", json!({ "lock": "30s", "deliveries_max": 5 })).await.expect(201);
    assert_eq!(put.headers["etag"], "\"1\"");
    let shown = bus.get("/v1/queues/Q").await.expect(200);
    assert_eq!(shown.json(), put.json());
    assert_eq!((&shown.json()["lock"], &shown.json()["deliveries_max"]), (&json!("30s"), &json!(5)));
    // What is shown can be put back.
    let again = bus.put("/v1/queues/q", shown.json()).await.expect(200);
    assert_eq!(again.headers["etag"], "\"2\"");
    let with = async |method: Method, path: &str, name: &str, value: &str| {
        bus.ask(method, path, &[(name, value)], "{}").await
    };
    for (name, value, code) in [("if-match", "\"1\"", "changed"), ("if-none-match", "*", "exists")] {
        let answer = with(Method::PUT, "/v1/queues/q", name, value).await;
        assert_eq!(answer.problem(412).0, code, "{name}");
    }
    assert_eq!(with(Method::PUT, "/v1/queues/new", "if-match", "\"1\"").await.problem(412).0, "changed");
    bus.put("/v1/topics/bare", json!({})).await.expect(201);
    let missing = "/v1/topics/bare/subscriptions/new";
    assert_eq!(with(Method::PUT, missing, "if-match", "\"1\"").await.problem(412).0, "changed");
    assert_eq!(bus.get(missing).await.problem(404).0, "unknown_subscription");
    assert_eq!(with(Method::DELETE, "/v1/queues/q", "if-match", "\"1\"").await.problem(412).0, "changed");
    with(Method::PUT, "/v1/queues/q", "if-match", "\"2\"").await.expect(200);
    with(Method::DELETE, "/v1/queues/q", "if-match", "\"3\"").await.expect(204);
    assert_eq!(bus.get("/v1/queues/q").await.problem(404).0, "unknown_queue");

    bus.put("/v1/topics/t", json!({ "time_to_live": "1h" })).await.expect(201);
    assert_eq!(bus.put("/v1/queues/t", json!({})).await.problem(409).0, "is_topic");
    assert_eq!(bus.ask(Method::DELETE, "/v1/queues/t", &[], "").await.problem(409).0, "is_topic");
    bus.queue("q", json!({})).await;
    assert_eq!(bus.put("/v1/topics/q", json!({})).await.problem(409).0, "is_queue");
    assert_eq!(bus.ask(Method::DELETE, "/v1/topics/q", &[], "").await.problem(409).0, "is_queue");
    let none = bus.put("/v1/topics/none/subscriptions/s", json!({})).await;
    assert_eq!(none.problem(404).0, "unknown_queue");
    bus.ask(Method::DELETE, "/v1/topics/t", &[], "").await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_settings_are_refused_by_name() {
    let bus = Bus::start().await;
    for (body, word) in [
        (json!({ "lok": "5s" }), "lok: "),
        (json!({ "lock": "2h" }), "lock: "),
        (json!({ "lock": 5 }), "lock: "),
        (json!([]), "object"),
    ] {
        let (code, text) = bus.put("/v1/queues/q", body).await.problem(400);
        assert_eq!(code, "invalid_queue");
        assert!(text.contains(word), "{text}");
    }
    bus.ask(Method::PUT, "/v1/queues/q", &[], "{ not json").await.problem(400);
    assert!(bus.put("/v1/queues/v1", json!({})).await.problem(400).1.contains("choose another"));
    bus.put("/v1/queues/a%20b", json!({})).await.problem(400);
    assert_eq!(bus.get("/v1/queues").await.expect(200).json(), json!({ "items": [] }));
    bus.queue("q", json!({})).await;
    for path in ["messages?sub_queue=x", "messages?limit=0", "messages?limit=257", "messages?colour=red"] {
        bus.get(&format!("/v1/queues/q/{path}")).await.problem(400);
    }
    for body in [json!({ "max": 0 }), json!({ "sub_queue": "x" }), json!({ "colour": 1 })] {
        bus.post("/v1/queues/q/purge", &body).await.problem(400);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_go_over_all_partitions_in_pages_and_queues_are_looked_into_and_emptied() {
    let bus = Bus::start().await;
    let names: Vec<String> = (0..9).map(|n| format!("q{n}")).collect();
    for name in &names {
        bus.queue(name, json!({})).await;
    }
    bus.put("/v1/topics/t", json!({})).await.expect(201);
    let (mut seen, mut path) = (Vec::new(), "/v1/queues?limit=4".to_owned());
    loop {
        let page = bus.get(&path).await.expect(200).json();
        seen.extend(
            page["items"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/queues?limit=4&after={next}");
    }
    assert_eq!(seen, names);
    assert_eq!(bus.get("/v1/topics").await.expect(200).json()["items"][0]["name"], "t");

    for n in 0..5 {
        bus.send("q0", &n.to_string(), json!({ "MessageId": n.to_string() })).await.expect(201);
    }
    bus.ask(Method::POST, "/q0/messages", &[("content-type", "image/x")], vec![0xff, 0]).await.expect(201);
    bus.lock("q0", "timeout=30").await.expect(201);
    let first = bus.get("/v1/queues/q0/messages?limit=4").await.expect(200).json();
    let states: Vec<_> = first["items"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["locked", "ready", "ready", "ready"]);
    assert_eq!((&first["items"][1]["body"], &first["items"][1]["message_id"]), (&json!("1"), &json!("1")));
    let rest = bus.get(&format!("/v1/queues/q0/messages?from={}", first["next"])).await.expect(200).json();
    assert_eq!(rest["items"].as_array().unwrap().len(), 2);
    assert_eq!(rest["items"][1]["body_base64"], "/wA=");
    assert!(rest.get("next").is_none());

    let purged = bus.post("/v1/queues/q0/purge", &json!({ "max": 2 })).await.expect(200);
    assert_eq!(purged.json()["messages"], 2);
    let purged = bus.post("/v1/queues/q0/purge", &json!({})).await.expect(200);
    assert_eq!(purged.json()["messages"], 3);
    let left = bus.counts("queues/q0").await;
    assert_eq!((&left["ready"], &left["locked"]), (&json!(0), &json!(1)));
}
