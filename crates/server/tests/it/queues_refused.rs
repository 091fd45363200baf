//! Queues refuse what they cannot use, and whoever may not.

use http::Method;
use serde_json::json;
use server::{Config, KeyConfig, TokenConfig};
use types::Timestamp;
use vault::{Secret, sign_sas};

use crate::bus::Bus;

#[tokio::test(flavor = "multi_thread")]
async fn bad_messages_are_refused_by_name_and_leave_nothing() {
    let bus = Bus::start().await;
    bus.queue("q", json!({})).await;
    let send = async |headers: &[(&str, &str)]| {
        bus.ask(Method::POST, "/q/messages", headers, "x").await.problem(400)
    };
    for (properties, word) in [
        ("not json", "not JSON"),
        ("[]", "object"),
        ("{\"MesageId\":\"x\"}", "MesageId"),
        ("{\"TimeToLive\":\"soon\"}", "TimeToLive"),
        ("{\"MessageId\":\"\"}", "MessageId"),
        ("{\"Label\":\"\u{fffd}", "JSON"),
    ] {
        let (code, text) = send(&[("brokerproperties", properties)]).await;
        assert_eq!(code, "invalid_message", "{text}");
        assert!(text.contains(word), "{text}");
    }
    send(&[("a", "1"), ("a", "2")]).await;
    let long = "x".repeat(33 << 10);
    assert!(send(&[("long", &long)]).await.1.contains("33"));
    let large = bus.ask(Method::POST, "/q/messages", &[], vec![b'x'; (256 << 10) + 1]).await;
    assert_eq!(large.problem(413).0, "too_large");
    bus.ask(Method::POST, "/q/messages", &[], vec![b'x'; 256 << 10]).await.expect(201);
    // Bytes that are not text in a header.
    let raw = [b"a".as_slice(), &[0xff, 0xfe]].concat();
    let mut request = crate::bus::ask(Method::POST, "/q/messages", &[], "x");
    request.headers_mut().insert("odd", http::HeaderValue::from_bytes(&raw).unwrap());
    crate::client::call(bus.address, request).await.problem(400);
    assert_eq!(bus.counts("queues/q").await["ready"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_places_methods_and_queries_are_said_so() {
    let bus = Bus::start().await;
    bus.queue("q", json!({})).await;
    bus.put("/v1/topics/t", json!({})).await.expect(201);
    let token = "0192f0c1-2d3e-7a4b-8c5d-6e7f80910a1b";
    for (method, path, status, code) in [
        (Method::POST, "/none/messages", 404, "unknown_queue"),
        (Method::POST, "/none/messages/head", 404, "unknown_queue"),
        (Method::POST, "/t/messages/head", 409, "is_topic"),
        (Method::POST, "/t/subscriptions/s/messages/head", 404, "unknown_subscription"),
        (Method::POST, "/q/subscriptions/s/messages/head", 409, "is_queue"),
        (Method::POST, "/q/$deadletterqueue/messages", 400, "bad_request"),
        (Method::POST, "/q/messages?max=5", 400, "bad_request"),
        (Method::POST, "/q/messages/head?timout=1", 400, "bad_request"),
        (Method::POST, "/q/messages/head?timeout=301", 400, "bad_request"),
        (Method::DELETE, "/q/messages/head?lock=5s", 400, "bad_request"),
        (Method::POST, "/not%20a%20name/messages", 400, "bad_request"),
        (Method::DELETE, "/q/messages/1/nonsense", 400, "bad_request"),
        (Method::DELETE, &format!("/q/messages/1/{token}"), 404, "lock_lost"),
        (Method::GET, "/q/messages/head", 405, "method_not_allowed"),
        (Method::PUT, "/q/messages", 405, "method_not_allowed"),
        (Method::GET, "/q/other", 404, "not_found"),
    ] {
        let answer = bus.ask(method.clone(), path, &[], "").await;
        let allow = answer.headers.get("allow").cloned();
        assert_eq!(answer.problem(status).0, code, "{method} {path}");
        assert_eq!(allow.is_some(), status == 405, "{method} {path}");
    }
}

const KEY: &str = "a key of sixteen characters or more";

fn guarded(config: &mut Config) {
    config.dev = false;
    for role in ["viewer", "ingest", "consumer", "operator", "editor"] {
        let secret = Some(format!("{role}-0123456789abcdef"));
        config.tokens.insert(role.to_owned(), TokenConfig { role: role.to_owned(), sha256: None, secret });
    }
    let key = |name: &str, right: &str, queue: Option<&str>| KeyConfig {
        name: name.to_owned(),
        key: Some(KEY.to_owned()),
        key_env: None,
        key_file: None,
        rights: vec![right.to_owned()],
        queue: queue.map(str::to_owned),
    };
    config.keys = vec![
        key("sender", "send", None),
        key("reader", "listen", None),
        key("root", "manage", None),
        key("narrow", "manage", Some("q")),
    ];
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_may_what_its_name_says() {
    let bus = Bus::start_with(guarded).await;
    let ask = async |role: &str, method: Method, path: &str, body: &str| {
        let bearer = format!("Bearer {role}-0123456789abcdef");
        bus.ask(method, path, &[("authorization", &bearer)], body.to_owned()).await.status.as_u16()
    };
    assert_eq!(ask("editor", Method::PUT, "/v1/queues/q", "{}").await, 201);
    for (role, may) in [
        // Change, send, receive, look, redrive, list.
        ("viewer", [403, 403, 403, 200, 403, 200]),
        ("ingest", [403, 201, 403, 403, 403, 403]),
        ("consumer", [403, 403, 204, 403, 403, 403]),
        ("operator", [403, 201, 201, 200, 200, 200]),
        ("editor", [200, 201, 201, 200, 200, 200]),
        ("nobody", [401, 401, 401, 401, 401, 401]),
    ] {
        let answers = [
            ask(role, Method::PUT, "/v1/queues/q", "{}").await,
            ask(role, Method::POST, "/q/messages", "x").await,
            ask(role, Method::POST, "/q/messages/head?timeout=0", "").await,
            ask(role, Method::GET, "/v1/queues/q/messages", "").await,
            ask(role, Method::POST, "/v1/queues/q/redrive", "").await,
            ask(role, Method::GET, "/v1/queues", "").await,
        ];
        assert_eq!(answers, may, "{role}");
        if role == "ingest" {
            assert_eq!(ask("operator", Method::POST, "/v1/queues/q/purge", "").await, 200);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_access_signature_opens_what_it_is_for() {
    let bus = Bus::start_with(guarded).await;
    let (soon, over) = (Timestamp(4_000_000_000_000), Timestamp(1_000_000_000_000));
    let ask = async |name: &str, resource: &str, end: Timestamp, key: &str, method: Method, path: &str| {
        let token = sign_sas(resource, name, &Secret::new(key.to_owned()), end);
        let headers = [("authorization", token.expose())];
        let answer = bus.ask(method, path, &headers, "").await;
        assert!(!answer.text.contains(key) && !answer.text.contains("sig="), "{}", answer.text);
        answer.status.as_u16()
    };
    let (put, post) = (Method::PUT, Method::POST);
    let (send, receive) = ("/q/messages", "/q/messages/head?timeout=0");
    let url = "https://any.host.example/Q";
    assert_eq!(ask("root", url, soon, KEY, put.clone(), "/v1/queues/q").await, 201);
    assert_eq!(ask("root", url, soon, KEY, put, "/v1/queues/other").await, 401);
    assert_eq!(ask("sender", url, soon, KEY, post.clone(), send).await, 201);
    assert_eq!(ask("sender", "sb://ns/", soon, KEY, post.clone(), send).await, 201);
    assert_eq!(ask("sender", url, soon, KEY, post.clone(), receive).await, 403);
    assert_eq!(ask("reader", url, soon, KEY, post.clone(), receive).await, 201);
    assert_eq!(ask("reader", url, soon, KEY, post.clone(), send).await, 403);
    assert_eq!(ask("sender", url, over, KEY, post.clone(), send).await, 401);
    assert_eq!(ask("sender", url, soon, "another key of some length", post.clone(), send).await, 401);
    assert_eq!(ask("stranger", url, soon, KEY, post.clone(), send).await, 401);
    assert_eq!(ask("sender", "https://h/qq", soon, KEY, post.clone(), send).await, 401);
    assert_eq!(ask("narrow", "https://h/", soon, KEY, post.clone(), send).await, 201);
    assert_eq!(ask("narrow", "https://h/", soon, KEY, post.clone(), "/other/messages").await, 401);
    // It opens queues, and nothing else.
    assert_eq!(ask("root", "https://h/", soon, KEY, Method::GET, "/v1/runs").await, 401);
    assert_eq!(ask("root", "https://h/", soon, KEY, Method::GET, "/v1/queues").await, 200);
    assert_eq!(ask("root", url, soon, KEY, Method::GET, "/v1/queues").await, 401);
    for junk in ["SharedAccessSignature", "SharedAccessSignature sr=a", "SharedAccessSignature \u{e5}"] {
        bus.ask(post.clone(), send, &[("authorization", junk)], "").await.expect(401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_too_little_memory_messages_are_refused_for_now() {
    let bus = Bus::start_with(|config| config.limits.memory_bytes_max = 1).await;
    bus.queue("q", json!({})).await;
    let refused = bus.send("q", "one", json!({ "MessageId": "m-1" })).await;
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(refused.problem(503).0, "memory_full");
    bus.lock("q", "timeout=0").await.expect(204);
}
