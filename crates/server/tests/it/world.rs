//! A server with the drone services around it, in a directory of its own.

use std::net::SocketAddr;
use std::time::Duration;

use drone_delivery::{Fleet, Service, Settings, workflows};
use http::Method;
use serde_json::{Value, json};
use server::{Config, Running};

use crate::client::{Answer, call, request};

pub struct World {
    pub fleet: Fleet,
    pub directory: tempfile::TempDir,
    bytes_max: u64,
    running: Option<Running>,
    address: SocketAddr,
}

impl World {
    pub async fn start() -> World {
        World::start_with_journal_of(u64::MAX).await
    }

    /// A server that takes snapshots as soon as its journal is larger than this.
    pub async fn start_with_journal_of(bytes_max: u64) -> World {
        // Only the first test of the process can set it; the others share it.
        let _ = tracing_subscriber::fmt().with_env_filter("warn").with_test_writer().try_init();
        let directory = tempfile::tempdir().unwrap();
        let fleet = Fleet::start(Settings::on_any_ports()).await.unwrap();
        let (running, address) = serve(&directory, bytes_max).await;
        for source in workflows::ready(&fleet.addresses()) {
            running.apply(&quick(&source)).await.unwrap();
        }
        World { fleet, directory, bytes_max, running: Some(running), address }
    }

    /// Stops the server and starts it again on the same data.
    pub async fn restart(&mut self) {
        self.stop().await;
        let (running, address) = serve(&self.directory, self.bytes_max).await;
        (self.running, self.address) = (Some(running), address);
    }

    pub async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
    }

    pub async fn apply(&self, source: &str) {
        self.running.as_ref().unwrap().apply(source).await.unwrap();
    }

    /// Hurts or heals one of the drone services.
    pub fn switch(&self, service: Service, switches: Value) {
        let mut all = serde_json::to_value(self.fleet.switches(service)).unwrap();
        for (name, value) in switches.as_object().unwrap() {
            all[name] = value.clone();
        }
        self.fleet.set_switches(service, serde_json::from_value(all).unwrap()).unwrap();
    }

    pub async fn send(&self, method: Method, path: &str, body: &Value) -> Answer {
        call(self.address, request(method, path, body.to_string())).await
    }

    pub async fn send_text(&self, method: Method, path: &str, body: &str) -> Answer {
        call(self.address, request(method, path, body.to_owned())).await
    }

    pub async fn call(&self, request: http::Request<http_body_util::Full<bytes::Bytes>>) -> Answer {
        call(self.address, request).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send_text(Method::GET, path, "").await
    }

    pub async fn post_delivery(&self, id: &str) -> Answer {
        self.send(Method::POST, "/api/deliveryrequests", &delivery(id)).await
    }

    /// The run as it stands.
    pub async fn run(&self, id: &str) -> Value {
        self.get(&format!("/v1/runs/{id}")).await.expect(200).json()
    }

    /// Waits until the run stands so.
    pub async fn wait(&self, id: &str, status: &str) -> Value {
        // Two minutes in all: far more than any run of these tests takes, on a machine however slow.
        for _ in 0..2400 {
            let run = self.run(id).await;
            if run["status"] == status {
                return run;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{id} is not {status}: {}", self.run(id).await);
    }

    /// Where the run left something: nowhere, when it was undone.
    pub fn left_by(&self, id: &str) -> Vec<Service> {
        self.fleet.audit().unwrap().services_of(id)
    }
}

impl Drop for World {
    /// The server lets go of its directory before the directory goes.
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(running.stop()));
        }
    }
}

async fn serve(directory: &tempfile::TempDir, bytes_max: u64) -> (Running, SocketAddr) {
    let mut config = Config::dev(directory.path().join("data"), 0);
    config.partitions = 4;
    config.journal.segment_bytes = 16 << 20;
    config.journal.reserve_bytes = 1 << 20;
    config.journal.bytes_max = bytes_max;
    let running = server::start(config).await.unwrap();
    let address = running.address();
    (running, address)
}

/// The workflow with short retries, so that a test of giving up does not take minutes.
fn quick(source: &str) -> String {
    let retry = "retry: { type: exponential, first: 500ms, factor: 2, max: 60s, attempts: 5 }";
    assert!(source.contains(retry), "the example's retry policy has changed: {source}");
    source.replace(retry, "retry: { type: exponential, first: 10ms, factor: 2, max: 50ms, attempts: 4 }\nundo_retry: { type: exponential, first: 10ms, factor: 2, max: 50ms, attempts: 4 }")
}

pub fn delivery(id: &str) -> Value {
    json!({
        "deliveryId": id,
        "ownerId": "myowner",
        "pickupLocation": "0,37.43,-78.65",
        "dropOffLocation": "0,37.54,-77.43",
        "pickupTime": "2030-05-08T20:00:00Z",
        "deadline": "",
        "expedited": true,
        "confirmationRequired": "None",
        "packageInfo": { "packageId": "mypackage", "size": "Small", "weight": 10, "tag": "mytag" },
    })
}
