//! The load generator: POSTs over connections that stay open, with every latency in a histogram.
//!
//! In a closed loop each connection sends its next request when it has the answer to the last. In an open loop
//! requests have a time at which they are to be sent, and the latency counts from that time, also when the
//! answer before was late: waiting is not left out of the figures.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use hdrhistogram::Histogram;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::request;

const LATENCY_MICROS_MAX: u64 = 600_000_000;
/// A refused client waits this long before it asks again, so that refusals do not become the load.
const REFUSED_PAUSE: Duration = Duration::from_millis(20);
/// How long answers may come after the last request of an open loop was due.
const LATE_ANSWERS: Duration = Duration::from_secs(30);

/// Where requests go.
#[derive(Debug, Clone)]
pub struct Target {
    pub address: SocketAddr,
    pub path: String,
    pub token: String,
}

/// How requests come.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub connections: u32,
    pub pace: Pace,
    pub warm_up: Duration,
    pub measured: Duration,
}

#[derive(Debug, Clone, Copy)]
pub enum Pace {
    Closed,
    Open { per_second: f64 },
}

/// What came of a load.
pub struct Measured {
    latencies: Histogram<u64>,
    /// Requests that were accepted within the measured time.
    accepted: u64,
    pub refused: u64,
    pub failed: u64,
    seconds: f64,
}

impl Measured {
    fn empty(seconds: f64) -> Measured {
        let latencies =
            Histogram::new_with_bounds(1, LATENCY_MICROS_MAX, 3).expect("the bounds are in order");
        Measured { latencies, accepted: 0, refused: 0, failed: 0, seconds }
    }

    /// Accepted requests per second.
    pub fn throughput(&self) -> f64 {
        self.accepted as f64 / self.seconds
    }

    /// The latency below which this share of the answers came.
    pub fn ms_at(&self, quantile: f64) -> f64 {
        self.latencies.value_at_quantile(quantile) as f64 / 1000.0
    }

    fn add(&mut self, other: &Measured) {
        self.latencies.add(&other.latencies).expect("all histograms have the same bounds");
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.failed += other.failed;
    }
}

/// Puts a load on a target and measures it after the warm-up. `name` begins the ids of its requests.
pub async fn drive(target: &Target, load: Load, name: &str) -> anyhow::Result<Measured> {
    let begin = Instant::now() + Duration::from_millis(50);
    let mut connections = JoinSet::new();
    for number in 0..load.connections {
        let client = Client::connect(target.clone(), format!("{name}-{number}")).await?;
        connections.spawn(client.work(load, number, begin));
    }
    let mut all = Measured::empty(load.measured.as_secs_f64());
    while let Some(ended) = connections.join_next().await {
        all.add(&ended.context("running a connection")??);
    }
    Ok(all)
}

/// One connection and the ids of its requests.
struct Client {
    target: Target,
    name: String,
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    async fn connect(target: Target, name: String) -> anyhow::Result<Client> {
        let sender = open(target.address).await?;
        Ok(Client { target, name, sender })
    }

    async fn work(mut self, load: Load, number: u32, begin: Instant) -> anyhow::Result<Measured> {
        let measured_from = begin + load.warm_up;
        let end = measured_from + load.measured;
        let mut tally = Measured::empty(load.measured.as_secs_f64());
        for n in 0u64.. {
            let due = match load.pace {
                Pace::Closed => Instant::now().max(begin),
                Pace::Open { per_second } => {
                    let turn = n as f64 * f64::from(load.connections) + f64::from(number);
                    begin + Duration::from_secs_f64(turn / per_second)
                }
            };
            if due >= end || Instant::now() >= end + LATE_ANSWERS {
                break;
            }
            tokio::time::sleep_until(due).await;
            let answer = self.post(n).await;
            let now = Instant::now();
            if due >= measured_from {
                count(&mut tally, &answer, now - due, now < end);
            }
            match answer {
                Ok(status) if status.is_success() => {}
                Ok(_) => tokio::time::sleep(REFUSED_PAUSE).await,
                Err(_) => self.sender = open(self.target.address).await?,
            }
        }
        Ok(tally)
    }

    async fn post(&mut self, n: u64) -> Result<StatusCode, hyper::Error> {
        let request = Request::post(self.target.path.as_str())
            .header(HOST, "127.0.0.1")
            .header(CONTENT_TYPE, "application/json")
            .header(AUTHORIZATION, format!("Bearer {}", self.target.token))
            .body(Full::new(request::delivery(&format!("{}-{n}", self.name))))
            .expect("the path and the token are plain text");
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        response.into_body().collect().await?;
        Ok(status)
    }
}

fn count(tally: &mut Measured, answer: &Result<StatusCode, hyper::Error>, latency: Duration, in_time: bool) {
    match answer {
        Ok(status) if status.is_success() => {
            tally.accepted += u64::from(in_time);
            let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
            tally.latencies.saturating_record(micros.max(1));
        }
        Ok(_) => tally.refused += 1,
        Err(_) => tally.failed += 1,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::bare;

    async fn measure(pace: Pace) -> Measured {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(bare::serve(listener));
        let target = Target { address, path: "/".to_owned(), token: "t".to_owned() };
        let (warm_up, measured) = (Duration::from_millis(50), Duration::from_millis(300));
        let load = Load { connections: 4, pace, warm_up, measured };
        let measured = drive(&target, load, "test").await.unwrap();
        server.abort();
        measured
    }

    #[tokio::test]
    async fn a_closed_loop_counts_every_answer() {
        let measured = measure(Pace::Closed).await;
        assert!(measured.throughput() > 0.0 && measured.refused == 0 && measured.failed == 0);
        assert!(measured.ms_at(0.5) <= measured.ms_at(0.999));
    }

    #[tokio::test]
    async fn an_open_loop_sends_what_was_asked_for_and_not_more() {
        let measured = measure(Pace::Open { per_second: 200.0 }).await;
        assert_eq!(measured.latencies.len(), 60, "200/s for 0.3 s");
    }
}
