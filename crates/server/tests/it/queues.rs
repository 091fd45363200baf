//! Queues over HTTP: what is sent is received once, or again when it was not completed, and is never lost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bus::{Bus, broker, lock_path};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_comes_as_it_was_sent_and_is_gone_when_completed() {
    let bus = Bus::start().await;
    bus.queue("Orders", json!({})).await;
    let properties = json!({
        "MessageId": "m-1", "CorrelationId": "c", "Label": "paid \u{e5}", "ReplyTo": "answers", "To": "you",
        "TimeToLive": 600,
    })
    .to_string();
    let headers = [
        ("content-type", "application/vnd.order+json"),
        ("brokerproperties", properties.as_str()),
        ("Country", "\"NO\""),
        ("amount", "12.5"),
        ("express", "true"),
        ("user-agent", "test"),
    ];
    bus.ask(Method::POST, "/ORDERS/messages?timeout=60&api-version=2014-05", &headers, "{\"order\":1}")
        .await
        .expect(201);
    let got = bus.lock("orders", "timeout=30").await.expect(201);
    assert_eq!(got.text, "{\"order\":1}");
    assert_eq!(got.headers["content-type"], "application/vnd.order+json");
    let shown = ["country", "amount", "express"].map(|name| got.headers[name].to_str().unwrap());
    assert_eq!(shown, ["\"NO\"", "12.5", "true"]);
    assert!(!got.headers.contains_key("user-agent"));
    let known = broker(&got);
    for (name, value) in [
        ("MessageId", json!("m-1")),
        ("CorrelationId", json!("c")),
        ("Label", json!("paid \u{e5}")),
        ("ReplyTo", json!("answers")),
        ("To", json!("you")),
        ("TimeToLive", json!(600.0)),
        ("DeliveryCount", json!(1)),
        ("State", json!("Active")),
    ] {
        assert_eq!(known[name], value, "{name}: {known}");
    }
    for name in ["LockToken", "LockedUntilUtc", "EnqueuedTimeUtc", "ExpiresAtUtc"] {
        assert!(known[name].is_string(), "{name}: {known}");
    }
    let end = format!("/messages/{}/{}", known["SequenceNumber"], known["LockToken"].as_str().unwrap());
    assert_eq!(lock_path(&got), format!("/orders{end}"));
    bus.lock("orders", "timeout=0").await.expect(204);
    assert_eq!(bus.counts("queues/orders").await["locked"], 1);

    let renewed = bus.settle(Method::POST, &got).await.expect(200);
    assert!(broker(&renewed)["LockedUntilUtc"].as_str().unwrap().ends_with("GMT"));
    bus.settle(Method::PUT, &got).await.expect(200);
    assert_eq!(bus.settle(Method::DELETE, &got).await.problem(404).0, "lock_lost");
    let again = bus.lock("orders", "timeout=30").await.expect(201);
    assert_eq!(broker(&again)["DeliveryCount"], 2);
    bus.settle(Method::DELETE, &again).await.expect(200);
    assert_eq!(bus.settle(Method::DELETE, &again).await.problem(404).0, "lock_lost");
    let empty = json!({ "ready": 0, "locked": 0, "scheduled": 0, "dead": 0, "bytes": 0 });
    assert_eq!(bus.counts("queues/orders").await, empty);
}

#[tokio::test(flavor = "multi_thread")]
async fn receive_and_delete_takes_it_at_once() {
    let bus = Bus::start().await;
    bus.queue("q", json!({})).await;
    bus.send("q", "one", json!({})).await.expect(201);
    let got = bus.ask(Method::DELETE, "/q/messages/head?timeout=30", &[], "").await.expect(200);
    assert_eq!(got.text, "one");
    assert!(!got.headers.contains_key("location"));
    assert!(broker(&got).get("LockToken").is_none());
    bus.ask(Method::DELETE, "/q/messages/head?timeout=0", &[], "").await.expect(204);
    assert_eq!(bus.counts("queues/q").await["ready"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn competing_consumers_share_the_messages_and_each_goes_to_one() {
    let bus = Arc::new(Bus::start().await);
    bus.queue("q", json!({})).await;
    let consumers: Vec<_> = (0..4)
        .map(|_| {
            let bus = bus.clone();
            tokio::spawn(async move {
                let mut got = Vec::new();
                loop {
                    let answer = bus.lock("q", "timeout=60").await.expect(201);
                    bus.settle(Method::DELETE, &answer).await.expect(200);
                    if answer.text == "end" {
                        return got;
                    }
                    got.push(answer.text);
                }
            })
        })
        .collect();
    for n in 0..40 {
        bus.send("q", &n.to_string(), json!({})).await.expect(201);
    }
    for _ in 0..4 {
        bus.send("q", "end", json!({})).await.expect(201);
    }
    let mut all = Vec::new();
    for consumer in consumers {
        all.extend(consumer.await.unwrap());
    }
    assert_eq!(all.len(), 40);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_expires_gives_the_message_to_another() {
    let bus = Bus::start().await;
    bus.queue("q", json!({ "lock": "1s" })).await;
    bus.send("q", "a", json!({})).await.expect(201);
    let first = bus.lock("q", "timeout=30").await.expect(201);
    let second = bus.lock("q", "timeout=60&lock=60s").await.expect(201);
    assert_eq!((second.text.as_str(), &broker(&second)["DeliveryCount"]), ("a", &json!(2)));
    assert_eq!(bus.settle(Method::DELETE, &first).await.problem(404).0, "lock_lost");
    bus.settle(Method::DELETE, &second).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_while_it_waits_eats_nothing() {
    let bus = Bus::start().await;
    bus.queue("q", json!({ "deliveries_max": 1 })).await;
    for method in ["POST", "DELETE"] {
        let mut gone = TcpStream::connect(bus.address).await.unwrap();
        let head = format!(
            "{method} /q/messages/head?timeout=300 HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n"
        );
        gone.write_all(head.as_bytes()).await.unwrap();
        // Long enough to be waiting; were it not, it would eat nothing either.
        tokio::time::sleep(Duration::from_millis(200)).await;
        gone.shutdown().await.unwrap();
        // The server has let go of the connection, and of the request with it.
        let mut rest = Vec::new();
        gone.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"");
        bus.send("q", method, json!({})).await.expect(201);
        let got = bus.lock("q", "timeout=30").await.expect(201);
        assert_eq!((got.text.as_str(), &broker(&got)["DeliveryCount"]), (method, &json!(1)));
        bus.settle(Method::DELETE, &got).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_consumer_gets_an_empty_response_when_the_server_stops() {
    let mut bus = Bus::start().await;
    bus.queue("q", json!({})).await;
    let request = crate::bus::ask(Method::POST, "/q/messages/head?timeout=300", &[], "");
    let address = bus.address;
    let waiting = tokio::spawn(async move { crate::client::call(address, request).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    bus.stop().await;
    // An answer, and not a connection that is cut off.
    waiting.await.unwrap().expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_handled_in_order_by_one_at_a_time() {
    let bus = Bus::start().await;
    bus.queue("q", json!({ "sessions": true })).await;
    for (session, body) in [("s1", "1a"), ("s1", "1b"), ("s2", "2a")] {
        bus.send("q", body, json!({ "SessionId": session })).await.expect(201);
    }
    assert_eq!(bus.send("q", "x", json!({})).await.problem(400).0, "session_needed");
    let first = bus.lock("q", "timeout=30").await.expect(201);
    let second = bus.lock("q", "timeout=30").await.expect(201);
    assert_eq!((first.text.as_str(), second.text.as_str()), ("1a", "2a"));
    assert_eq!(broker(&first)["SessionId"], "s1");
    bus.lock("q", "timeout=0").await.expect(204);
    bus.settle(Method::DELETE, &first).await.expect(200);
    let third = bus.lock("q", "timeout=30&session=s1").await.expect(201);
    assert_eq!(third.text, "1b");
    bus.lock("q", "timeout=0&session=s2").await.expect(204);
    let changed = bus.put("/v1/queues/q", json!({ "sessions": false })).await;
    assert_eq!(changed.problem(409).0, "sessions_fixed");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_are_received_at_once_with_a_lock_each() {
    let bus = Bus::start().await;
    bus.queue("q", json!({})).await;
    let batch = json!([
        { "Body": "one", "BrokerProperties": { "MessageId": "1" }, "UserProperties": { "Priority": "High" } },
        { "Body": "AP8=", "BodyEncoding": "base64" },
        { "Body": "three", "UserProperties": { "n": 3, "ok": true } },
    ]);
    let kind = [("content-type", "application/vnd.microsoft.servicebus.json; charset=utf-8")];
    bus.ask(Method::POST, "/q/messages", &kind, batch.to_string()).await.expect(201);
    let got = bus.lock("q", "timeout=30&max=2").await.expect(201);
    assert_eq!(got.headers["content-type"], "application/vnd.microsoft.servicebus.json");
    let got = got.json();
    assert_eq!(got.as_array().unwrap().len(), 2);
    assert_eq!((&got[0]["Body"], &got[0]["UserProperties"]), (&json!("one"), &json!({ "priority": "High" })));
    assert_eq!((&got[1]["Body"], &got[1]["BodyEncoding"]), (&json!("AP8="), &json!("base64")));
    for one in got.as_array().unwrap() {
        let path = one["Location"].as_str().unwrap().strip_prefix("http://localhost").unwrap();
        assert!(path.ends_with(one["BrokerProperties"]["LockToken"].as_str().unwrap()), "{path}");
        bus.ask(Method::DELETE, path, &[], "").await.expect(200);
    }
    // What was received so can be sent on so.
    let rest = bus.ask(Method::DELETE, "/q/messages/head?timeout=30&max=5", &[], "").await.expect(200);
    bus.ask(Method::POST, "/q/messages", &kind, rest.text).await.expect(201);
    let back = bus.lock("q", "timeout=30").await.expect(201);
    assert_eq!((back.text.as_str(), &back.headers["n"]), ("three", &"3".parse().unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_taken_whole_or_not_at_all() {
    let bus = Bus::start().await;
    bus.queue("q", json!({ "messages_max": 3 })).await;
    let kind = [("content-type", "application/vnd.microsoft.servicebus.json")];
    let batch =
        async |batch: serde_json::Value| bus.ask(Method::POST, "/q/messages", &kind, batch.to_string()).await;
    let (code, text) = batch(json!([{ "Body": "a" }, { "Boddy": "b" }])).await.problem(400);
    assert_eq!(code, "invalid_message");
    assert!(text.contains("message 2: Boddy"), "{text}");
    let four = json!([{ "Body": "a" }, { "Body": "b" }, { "Body": "c" }, { "Body": "d" }]);
    assert_eq!(batch(four).await.problem(403).0, "queue_full");
    assert_eq!(bus.counts("queues/q").await["ready"], 0);
    batch(json!([{ "Body": "a" }, { "Body": "b" }, { "Body": "c" }])).await.expect(201);
    assert_eq!(bus.counts("queues/q").await["ready"], 3);
    let full = bus.send("q", "d", json!({})).await;
    assert!(!full.headers.contains_key("retry-after"));
    assert_eq!(full.problem(403).0, "queue_full");
    bus.queue("s", json!({ "sessions": true })).await;
    let half = json!([{ "Body": "a", "BrokerProperties": { "SessionId": "s" } }, { "Body": "b" }]);
    let answer = bus.ask(Method::POST, "/s/messages", &kind, half.to_string()).await;
    assert_eq!(answer.problem(400).0, "session_needed");
    assert_eq!(bus.counts("queues/s").await["ready"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_received_like_any_and_brought_back() {
    let bus = Bus::start().await;
    bus.queue("q", json!({ "deliveries_max": 1 })).await;
    bus.send("q", "poison", json!({})).await.expect(201);
    let got = bus.lock("q", "timeout=30").await.expect(201);
    bus.settle(Method::PUT, &got).await.expect(200);
    bus.send("q", "odd", json!({})).await.expect(201);
    let got = bus.lock("q", "timeout=30").await.expect(201);
    let why = json!({ "reason": "NoSuchOrder", "description": "order 5 \u{e5}" });
    bus.post(&format!("{}/deadletter", lock_path(&got)), &why).await.expect(200);
    assert_eq!(bus.counts("queues/q").await["dead"], 2);
    let dead = bus.get("/v1/queues/q/messages?sub_queue=dead").await.expect(200).json();
    assert_eq!(dead["items"][0]["dead"]["reason"], "MaxDeliveryCountExceeded");
    assert_eq!(dead["items"][1]["dead"]["description"], "order 5 \u{e5}");

    let poison = bus.lock("q/$DeadLetterQueue", "timeout=30").await.expect(201);
    assert_eq!(poison.text, "poison");
    assert_eq!(poison.headers["deadletterreason"], "\"MaxDeliveryCountExceeded\"");
    assert!(lock_path(&poison).contains("/$DeadLetterQueue/messages/"));
    bus.settle(Method::DELETE, &poison).await.expect(200);
    let odd = bus.lock("q/%24deadletterqueue", "timeout=30").await.expect(201);
    assert_eq!(odd.headers["deadlettererrordescription"], "\"order 5 \\u00e5\"");
    bus.settle(Method::PUT, &odd).await.expect(200);

    let moved = bus.post("/v1/queues/q/redrive", &json!({ "max": 10 })).await.expect(200);
    assert_eq!(moved.json(), json!({ "messages": 1 }));
    let back = bus.lock("q", "timeout=30").await.expect(201);
    assert_eq!((back.text.as_str(), &broker(&back)["DeliveryCount"]), ("odd", &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_message_with_the_same_id_is_dropped() {
    let bus = Bus::start().await;
    bus.queue("q", json!({})).await;
    for _ in 0..3 {
        bus.send("q", "a", json!({ "MessageId": "same" })).await.expect(201);
        bus.send("q", "b", json!({})).await.expect(201);
    }
    assert_eq!(bus.counts("queues/q").await["ready"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_waits_for_its_time_and_not_beyond_it() {
    let bus = Bus::start().await;
    bus.queue("later", json!({})).await;
    let far = "Fri, 01 Jan 2100 00:00:00 GMT";
    bus.send("later", "far", json!({ "ScheduledEnqueueTimeUtc": far })).await.expect(201);
    let past = json!({ "ScheduledEnqueueTimeUtc": "2020-01-01T00:00:00Z" });
    bus.send("later", "past", past).await.expect(201);
    assert_eq!(bus.lock("later", "timeout=30").await.expect(201).text, "past");
    bus.lock("later", "timeout=0").await.expect(204);
    assert_eq!(bus.counts("queues/later").await["scheduled"], 1);
    let shown = bus.get("/v1/queues/later/messages").await.expect(200).json();
    assert_eq!(shown["items"][0]["scheduled_at"], "2100-01-01T00:00:00.000Z");

    bus.queue("short", json!({ "dead_letter_expired": true })).await;
    bus.send("short", "a", json!({ "TimeToLive": 0.1 })).await.expect(201);
    bus.wait_count("queues/short", "dead", 1).await;
    bus.lock("short", "timeout=0").await.expect(204);
    let dead = bus.lock("short/$DeadLetterQueue", "timeout=30").await.expect(201);
    assert_eq!(dead.headers["deadletterreason"], "\"TTLExpiredException\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_locks_and_counts_outlive_a_restart() {
    let mut bus = Bus::start().await;
    bus.queue("q", json!({ "lock": "1h" })).await;
    bus.put("/v1/topics/t", json!({})).await.expect(201);
    bus.put("/v1/topics/t/subscriptions/s", json!({ "filter": { "label": "x" } })).await.expect(201);
    bus.send("t", "to s", json!({ "Label": "x" })).await.expect(201);
    for n in 0..5 {
        bus.send("q", &format!("body {n}"), json!({ "MessageId": n.to_string() })).await.expect(201);
    }
    let locked = bus.lock("q", "timeout=30").await.expect(201);
    let dead = bus.lock("q", "timeout=30").await.expect(201);
    bus.post(&format!("{}/deadletter", lock_path(&dead)), &json!({})).await.expect(200);
    let before = bus.get("/v1/queues/q").await.expect(200).json();
    assert_eq!((&before["counts"]["ready"], &before["counts"]["locked"]), (&json!(3), &json!(1)));

    bus.restart().await;
    assert_eq!(bus.get("/v1/queues/q").await.expect(200).json(), before);
    bus.settle(Method::DELETE, &locked).await.expect(200);
    bus.send("q", "again", json!({ "MessageId": "3" })).await.expect(201);
    for n in 2..5 {
        let got = bus.lock("q", "timeout=30").await.expect(201);
        assert_eq!(got.text, format!("body {n}"));
    }
    bus.lock("q", "timeout=0").await.expect(204);
    assert_eq!(bus.lock("t/subscriptions/s", "timeout=30").await.expect(201).text, "to s");
}
