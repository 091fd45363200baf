//! A server for jobs: short retries are allowed, and its clock may show another time.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use host::Clock;
use http::{HeaderName, Method};
use serde_json::{Value, json};
use server::{Config, Running};
use types::{Span, Ticks, Timestamp};

use crate::client::{Answer, call, request};

pub struct Scheduler {
    pub clock: Clock,
    directory: tempfile::TempDir,
    journal_bytes_max: u64,
    running: Option<Running>,
    pub address: SocketAddr,
}

impl Scheduler {
    pub async fn start() -> Scheduler {
        Scheduler::start_with(Clock::start(), u64::MAX).await
    }

    pub async fn start_at(time: Timestamp) -> Scheduler {
        Scheduler::start_with(Clock::start_at(time), u64::MAX).await
    }

    /// A server that takes snapshots as soon as its journal is larger than this.
    pub async fn start_with(clock: Clock, journal_bytes_max: u64) -> Scheduler {
        // Only the first test of the process can set it; the others share it.
        let _ = tracing_subscriber::fmt().with_env_filter("warn").with_test_writer().try_init();
        let directory = tempfile::tempdir().unwrap();
        let running = serve(&directory, clock.clone(), journal_bytes_max).await;
        let address = running.address();
        Scheduler { clock, directory, journal_bytes_max, running: Some(running), address }
    }

    pub async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
    }

    /// Stops the server and starts it again on the same data.
    pub async fn restart(&mut self) {
        self.restart_with(self.clock.clone()).await;
    }

    /// The same, at a time that is still to come: nobody has to wait for it.
    pub async fn restart_at(&mut self, time: Timestamp) {
        self.restart_with(Clock::start_at(time)).await;
    }

    async fn restart_with(&mut self, clock: Clock) {
        self.stop().await;
        let running = serve(&self.directory, clock.clone(), self.journal_bytes_max).await;
        (self.clock, self.address) = (clock, running.address());
        self.running = Some(running);
    }

    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub async fn apply(&self, source: &str) {
        self.running.as_ref().unwrap().apply(source).await.unwrap();
    }

    pub async fn send(&self, method: Method, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        call(self.address, request(method, path, body)).await
    }

    pub async fn send_with(&self, method: Method, path: &str, header: (&str, &str), body: &Value) -> Answer {
        let mut request = request(method, path, body.to_string());
        let name: HeaderName = header.0.parse().unwrap();
        request.headers_mut().insert(name, header.1.parse().unwrap());
        call(self.address, request).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PUT, path, body).await
    }

    pub async fn get(&self, path: &str) -> Value {
        self.send(Method::GET, path, &Value::Null).await.expect(200).json()
    }

    /// Waits until what is there looks so.
    pub async fn wait(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        // Two minutes in all: far more than any job of these tests takes, on a machine however slow.
        for _ in 0..2400 {
            let seen = self.get(path).await;
            if is_so(&seen) {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("waited in vain at {path}: {}", self.get(path).await);
    }
}

impl Drop for Scheduler {
    /// The server lets go of its directory before the directory goes.
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(running.stop()));
        }
    }
}

async fn serve(directory: &tempfile::TempDir, clock: Clock, journal_bytes_max: u64) -> Running {
    let mut config = Config::dev(directory.path().join("data"), 0);
    config.partitions = 4;
    config.journal.segment_bytes = 16 << 20;
    config.journal.reserve_bytes = 1 << 20;
    config.journal.bytes_max = journal_bytes_max;
    config.jobs.retry_interval_min = Span::from_ms(100);
    server::start_with_clock(config, clock).await.unwrap()
}

/// A moment as the API writes it.
#[track_caller]
pub fn ticks(text: &Value) -> Ticks {
    let text = text.as_str().unwrap_or_else(|| panic!("{text} is not a date"));
    text.parse::<schedule::Date>().unwrap_or_else(|error| panic!("{text}: {error}")).0
}

/// Retries as short as these tests allow them.
pub fn retries(count: u32) -> Value {
    json!({ "retryType": "Fixed", "retryInterval": "PT0.1S", "retryCount": count })
}
