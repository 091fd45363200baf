//! The bare client loop: the five calls of a delivery, made without writing anything down.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use anyhow::{Context, ensure};
use bytes::Bytes;
use drone_delivery::{Addresses, Service};
use hdrhistogram::Histogram;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use indicatif::ProgressBar;
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::comparison::Side;
use super::load::{histogram, side};

/// Makes the calls of `runs` deliveries, `concurrency` of them at once. `name` begins their ids.
pub async fn drive(
    addresses: &Addresses,
    runs: u32,
    concurrency: u32,
    name: &'static str,
    bar: &ProgressBar,
) -> anyhow::Result<Side> {
    let mut workers = Vec::new();
    for _ in 0..concurrency.min(runs) {
        workers.push(Worker::connect(addresses).await?);
    }
    let next = Arc::new(AtomicU32::new(0));
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for worker in workers {
        tasks.spawn(worker.work(next.clone(), runs, name, bar.clone()));
    }
    let mut latencies = histogram();
    while let Some(ended) = tasks.join_next().await {
        latencies.add(ended.context("running the client loop")??).context("adding up latencies")?;
    }
    Ok(side(&latencies, f64::from(runs) / begun.elapsed().as_secs_f64()))
}

/// A connection to each service.
struct Worker {
    account: Connection,
    package: Connection,
    transport: Connection,
    drone: Connection,
    delivery: Connection,
}

impl Worker {
    async fn connect(addresses: &Addresses) -> anyhow::Result<Worker> {
        let open = async |service: Service| {
            let address = addresses.get(&service).context("every service has an address")?;
            anyhow::Ok(Connection { service, sender: open(*address).await? })
        };
        Ok(Worker {
            account: open(Service::Account).await?,
            package: open(Service::Package).await?,
            transport: open(Service::Transport).await?,
            drone: open(Service::Drone).await?,
            delivery: open(Service::Delivery).await?,
        })
    }

    async fn work(
        mut self,
        next: Arc<AtomicU32>,
        runs: u32,
        name: &'static str,
        bar: ProgressBar,
    ) -> anyhow::Result<Histogram<u64>> {
        let mut latencies = histogram();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= runs {
                return Ok(latencies);
            }
            let begun = Instant::now();
            self.deliver(&format!("{name}-{number}")).await?;
            let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            latencies.saturating_record(micros.max(1));
            bar.inc(1);
        }
    }

    /// The same calls, in the same order and side by side, as the workflow makes them.
    async fn deliver(&mut self, id: &str) -> anyhow::Result<()> {
        let places = r#""pickup":"0,37.4316,-78.6569","dropoff":"0,37.5407,-77.4360""#;
        let account = self.account.call(id, Method::GET, "/api/accounts/myowner".to_owned(), String::new());
        let package = self.package.call(
            id,
            Method::PUT,
            format!("/api/packages/mypackage?delivery={id}"),
            r#"{"id":"mypackage","size":"Small","weight":10,"tag":""}"#.to_owned(),
        );
        let path = format!("/api/thirdpartydeliveries/{id}");
        let transport = self.transport.call(id, Method::PUT, path, format!("{{{places}}}"));
        let (account, package, transport) = tokio::join!(account, package, transport);
        ensure!(account? == "true", "the account is suspended");
        package?;
        ensure!(transport? == "false", "the place needs a third party");

        let body = format!(
            r#"{{"deliveryId":"{id}",{places},"packageDetail":{{"id":"mypackage","size":"Small"}},"expedited":true}}"#
        );
        let answer = self.drone.call(id, Method::PUT, format!("/api/dronedeliveries/{id}"), body).await?;
        let drone: Drone = serde_json::from_slice(&answer).context("reading the drone's answer")?;
        let body = format!(
            r#"{{"id":"{id}","owner":{{"userId":"myowner","accountId":"myowner"}},{places},"deadline":"","expedited":true,"confirmationRequired":"None","droneId":"{}"}}"#,
            drone.drone_id
        );
        self.delivery.call(id, Method::PUT, format!("/api/deliveries/{id}"), body).await?;
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Drone {
    drone_id: String,
}

/// Opens a connection that stays open.
pub async fn open(address: SocketAddr) -> anyhow::Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(address).await.with_context(|| format!("connecting to {address}"))?;
    stream.set_nodelay(true).context("setting TCP_NODELAY")?;
    let (sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.context("opening a connection")?;
    // Its errors come out at the request that they end.
    tokio::spawn(connection);
    Ok(sender)
}

struct Connection {
    service: Service,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    async fn call(&mut self, id: &str, method: Method, path: String, body: String) -> anyhow::Result<Bytes> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, "127.0.0.1")
            .header(CONTENT_TYPE, "application/json")
            .header("idempotency-key", format!("{id}/{}/do", self.service))
            .body(Full::new(Bytes::from(body)))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        ensure!(
            status.is_success(),
            "{} answered {status}: {}",
            self.service,
            String::from_utf8_lossy(&body)
        );
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use drone_delivery::{Fleet, Settings};

    use super::*;

    #[tokio::test]
    async fn the_bare_loop_delivers_each_once() {
        let fleet = Fleet::start(Settings::on_any_ports()).await.unwrap();
        let side = drive(&fleet.addresses(), 20, 4, "bare", &ProgressBar::hidden()).await.unwrap();
        assert!(side.throughput > 0.0);
        for service in [Service::Package, Service::Transport, Service::Drone, Service::Delivery] {
            assert_eq!(fleet.entries(service).unwrap().len(), 20, "{service}");
        }
        fleet.stop().await;
    }
}
