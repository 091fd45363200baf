//! A server with queues and topics, and a client of theirs.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use server::{Config, Running};

use crate::client::{Answer, call};

pub struct Bus {
    config: Config,
    running: Option<Running>,
    pub address: SocketAddr,
    _directory: tempfile::TempDir,
}

impl Bus {
    pub async fn start() -> Bus {
        Bus::start_with(|_| ()).await
    }

    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Bus {
        // Only the first test of the process can set it; the others share it.
        let _ = tracing_subscriber::fmt().with_env_filter("warn").with_test_writer().try_init();
        let directory = tempfile::tempdir().unwrap();
        let mut config = Config::dev(directory.path().join("data"), 0);
        config.partitions = 4;
        config.journal.segment_bytes = 16 << 20;
        config.journal.reserve_bytes = 1 << 20;
        change(&mut config);
        let running = server::start(config.clone()).await.unwrap();
        let address = running.address();
        Bus { config, running: Some(running), address, _directory: directory }
    }

    pub async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
    }

    /// Stops the server and starts it again on the same data.
    pub async fn restart(&mut self) {
        self.stop().await;
        let running = server::start(self.config.clone()).await.unwrap();
        self.address = running.address();
        self.running = Some(running);
    }

    /// A request with headers of its own.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        call(self.address, ask(method, path, headers, body)).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &[], "").await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask(Method::POST, path, &[], body.to_string()).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.ask(Method::PUT, path, &[], body.to_string()).await
    }

    /// A queue with these settings.
    pub async fn queue(&self, name: &str, settings: Value) {
        self.put(&format!("/v1/queues/{name}"), settings).await.expect(201);
    }

    /// Sends a text with broker properties.
    pub async fn send(&self, to: &str, body: &str, properties: Value) -> Answer {
        let properties = properties.to_string();
        let headers = [("BrokerProperties", properties.as_str())];
        self.ask(Method::POST, &format!("/{to}/messages"), &headers, body.to_owned()).await
    }

    /// Locks the next message; the query without its question mark.
    pub async fn lock(&self, of: &str, query: &str) -> Answer {
        self.ask(Method::POST, &format!("/{of}/messages/head?{query}"), &[], "").await
    }

    pub async fn counts(&self, of: &str) -> Value {
        self.get(&format!("/v1/{of}")).await.expect(200).json()["counts"].clone()
    }

    /// Waits until the queue counts so many of these.
    pub async fn wait_count(&self, of: &str, what: &str, wanted: u64) {
        for _ in 0..1200 {
            if self.counts(of).await[what] == json!(wanted) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{of} never had {wanted} {what}: {}", self.counts(of).await);
    }

    /// Completes, gives back or renews what an answer has locked.
    pub async fn settle(&self, method: Method, locked: &Answer) -> Answer {
        self.ask(method, &lock_path(locked), &[], "").await
    }
}

impl Drop for Bus {
    /// The server lets go of its directory before the directory goes.
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(running.stop()));
        }
    }
}

pub fn ask(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", "localhost");
    }
    for (name, value) in headers {
        request = request.header(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.as_bytes());
    }
    request.body(Full::new(body.into())).unwrap()
}

/// What the broker says of a message that was received.
pub fn broker(answer: &Answer) -> Value {
    serde_json::from_slice(answer.headers["brokerproperties"].as_bytes()).unwrap()
}

/// The path of a lock, from the absolute address in `Location`.
pub fn lock_path(locked: &Answer) -> String {
    let location = locked.headers["location"].to_str().unwrap();
    location.strip_prefix("http://localhost").expect("the host that was called").to_owned()
}
