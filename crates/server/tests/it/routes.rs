//! Every route of the API, as its own document lists them.

use std::net::SocketAddr;
use std::time::Duration;

use http::Method;
use serde_json::Value;
use server::{Config, Running, TokenConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{call, request};

/// The first line of the reply to a request whose body never arrives.
async fn reply_without_body(address: SocketAddr, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut reply = Vec::new();
    let mut bytes = [0; 1024];
    while !reply.contains(&b'\n') {
        // Less than the time that a body may take.
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read(&mut bytes)).await;
        let read = read.unwrap_or_else(|_| panic!("{method} {path} waits for the body")).unwrap();
        assert!(read > 0, "{method} {path}: the connection was closed");
        reply.extend_from_slice(&bytes[..read]);
    }
    String::from_utf8_lossy(&reply).lines().next().unwrap_or_default().to_owned()
}

/// A path of the document with values for its parameters.
fn sample(path: &str) -> String {
    let value = |part: &str| match part {
        "{lock}" => "0192f0c1-2d3e-7a4b-8c5d-6e7f80910a1b".to_owned(),
        "{number}" => "7".to_owned(),
        part if part.starts_with('{') => "a".to_owned(),
        part => part.to_owned(),
    };
    path.split('/').map(value).collect::<Vec<_>>().join("/")
}

/// A server that asks for tokens.
async fn guarded(directory: &tempfile::TempDir) -> Running {
    let mut config = Config::dev(directory.path().join("data"), 0);
    let secret = Some("ops-secret-of-16-characters".to_owned());
    config.tokens.insert("ops".to_owned(), TokenConfig { role: "admin".to_owned(), sha256: None, secret });
    server::start(config).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_refuses_without_a_token_before_it_reads_the_body() {
    let directory = tempfile::tempdir().unwrap();
    let running = guarded(&directory).await;
    let document =
        call(running.address(), request(Method::GET, "/openapi.json", "")).await.expect(200).json();
    let mut refused = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            if operation["security"].as_array().is_some_and(Vec::is_empty) {
                continue;
            }
            let line = reply_without_body(running.address(), &method.to_uppercase(), &sample(path)).await;
            assert!(line.starts_with("HTTP/1.1 401"), "{method} {path}: {line}");
            refused += 1;
        }
    }
    assert!(refused > 80, "the document lists all routes: {refused}");
    assert_eq!(document["paths"]["/livez"]["get"]["security"], Value::Array(Vec::new()));
    running.stop().await;
}

/// The paths that the document does not list.
#[tokio::test(flavor = "multi_thread")]
async fn paths_of_adapters_and_own_routes_refuse_without_a_token_before_they_read_the_body() {
    let directory = tempfile::tempdir().unwrap();
    let running = guarded(&directory).await;
    let source = "name: orders\naccept: { route: /api/orders, id: .id }\nservices: { a: { url: 'http://a.test' } }\nsteps: { one: { call: { service: a, method: PUT, path: /x } } }\n";
    running.apply(source).await.unwrap();
    let azure = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c";
    let classic = "/s/cloudservices/g/resources/scheduler/~/jobCollections/c/jobs/j";
    for (method, path) in [
        ("GET", azure.to_owned()),
        ("PUT", azure.to_owned()),
        ("POST", format!("{azure}/jobs/j/run")),
        ("GET", "/subscriptions/s/providers/Microsoft.Scheduler/jobCollections".to_owned()),
        ("GET", classic.to_owned()),
        ("PUT", classic.to_owned()),
        ("POST", "/api/orders".to_owned()),
        ("PUT", "/api/orders/o-1".to_owned()),
        ("GET", "/api/orders/o-1".to_owned()),
        ("PATCH", "/api/orders/o-1".to_owned()),
        ("DELETE", "/api/orders/o-1".to_owned()),
        ("POST", "/ORDERS/Messages".to_owned()),
        ("POST", "/t/subscriptions/s/$DeadLetterQueue/messages/head".to_owned()),
    ] {
        let line = reply_without_body(running.address(), method, &path).await;
        assert!(line.starts_with("HTTP/1.1 401"), "{method} {path}: {line}");
    }
    running.stop().await;
}
