//! What jobs call: a server that records every call, and fails some of them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::dice::Dice;

/// Calls in a hundred that are answered with an error.
const FAILED_PERCENT: u64 = 5;

/// The calls that were taken: by path, then by key, how often.
pub type Calls = BTreeMap<String, BTreeMap<String, u32>>;

/// What a call says of its region, with whom it came from and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    pub from: IpAddr,
    pub at: Instant,
    pub epoch: Option<u64>,
    /// It was of a region that had been replaced, and was not taken.
    pub refused: bool,
}

/// A target that lives as long as this program.
pub struct Target {
    pub address: SocketAddr,
    log: Arc<Mutex<CallLog>>,
}

struct CallLog {
    calls: Calls,
    /// In the order they came in.
    callers: Vec<Caller>,
    /// The highest epoch of a region that was seen.
    epoch: u64,
    dice: Dice,
}

impl Target {
    pub async fn start(seed: u64) -> anyhow::Result<Target> {
        Target::start_at(Ipv4Addr::LOCALHOST, seed).await
    }

    pub async fn start_at(address: Ipv4Addr, seed: u64) -> anyhow::Result<Target> {
        let listener = TcpListener::bind((address, 0)).await?;
        let address = listener.local_addr()?;
        let log = Arc::new(Mutex::new(CallLog {
            calls: Calls::new(),
            callers: Vec::new(),
            epoch: 0,
            dice: Dice::new(seed),
        }));
        tokio::spawn(accept(listener, log.clone()));
        Ok(Target { address, log })
    }

    /// All that were taken so far.
    pub fn calls(&self) -> Calls {
        self.log.lock().expect("nobody panics while holding the log").calls.clone()
    }

    /// Who called, in their order, with those that were refused.
    pub fn callers(&self) -> Vec<Caller> {
        self.log.lock().expect("nobody panics while holding the log").callers.clone()
    }
}

async fn accept(listener: TcpListener, log: Arc<Mutex<CallLog>>) {
    while let Ok((stream, from)) = listener.accept().await {
        let log = log.clone();
        let service = service_fn(move |request| {
            let answer = answer(&log, from.ip(), &request);
            async move { Ok::<_, Infallible>(answer) }
        });
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // A connection breaks when its caller is killed, which is expected here.
        tokio::spawn(connection);
    }
}

/// A call of a region that was replaced is refused, as any service may do that reads the region's epoch.
fn answer(log: &Mutex<CallLog>, from: IpAddr, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    let epoch: Option<u64> = header("sortie-region-epoch").and_then(|epoch| epoch.parse().ok());
    let mut response = Response::new(Full::default());
    let mut log = log.lock().expect("nobody panics while holding the log");
    let refused = epoch.is_some_and(|epoch| epoch < log.epoch);
    log.callers.push(Caller { from, at: Instant::now(), epoch, refused });
    if refused {
        *response.status_mut() = StatusCode::CONFLICT;
        return response;
    }
    log.epoch = epoch.unwrap_or_default().max(log.epoch);
    let path = request.uri().path().to_owned();
    let key = header("idempotency-key").unwrap_or("").to_owned();
    *log.calls.entry(path).or_default().entry(key).or_default() += 1;
    if log.dice.hits_percent(FAILED_PERCENT) {
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    }
    response
}
