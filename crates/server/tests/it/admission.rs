//! Overload is refused on every route that takes requests, before anything is accepted.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use server::Config;

use crate::client::{call, request};

/// A run of it stays unfinished: nothing listens at its service, and the second attempt is an hour away.
const ORDERS: &str = "
name: orders
accept: { route: /api/orders, id: .id, change: changes }
retry: { type: fixed, delay: 1h, attempts: 9 }
services: { a: { url: 'http://127.0.0.1:1' } }
steps:
  one: { call: { service: a, method: PUT, path: /x } }
";

const CHANGES: &str = "
name: changes
accept: { key: .order }
services: { a: { url: 'http://127.0.0.1:1' } }
steps:
  one: { call: { service: a, method: PUT, path: /x } }
";

// guards: 15
#[tokio::test(flavor = "multi_thread")]
async fn every_route_that_takes_requests_refuses_them_when_the_backlog_is_full() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = Config::dev(directory.path().join("data"), 0);
    config.limits.unfinished_runs_max = 1;
    let running = server::start(config).await.unwrap();
    for source in [CHANGES, ORDERS] {
        running.apply(source).await.unwrap();
    }
    let send = |method, path: &str| {
        let mut request = request(method, path, r#"{"id":"o-1"}"#);
        let kind = if path.ends_with(":batch") { "application/x-ndjson" } else { "application/json" };
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        call(running.address(), request)
    };
    send(Method::POST, "/api/orders").await.expect(202);
    for (method, path) in [
        (Method::POST, "/v1/workflows/orders/runs"),
        (Method::PUT, "/v1/workflows/orders/runs/o-1"),
        (Method::POST, "/v1/workflows/orders/runs:batch"),
        (Method::POST, "/api/orders"),
        (Method::PUT, "/api/orders/o-1"),
        (Method::PATCH, "/api/orders/o-1"),
    ] {
        let refused = send(method.clone(), path).await;
        assert!(refused.headers.contains_key("retry-after"), "{method} {path}: {}", refused.text);
        assert_eq!(refused.problem(429).0, "backlog_full", "{method} {path}");
    }
    running.stop().await;
}
