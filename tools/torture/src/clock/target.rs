//! A target that records when each call arrived, by the monotonic clock.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// A call that came in.
#[derive(Clone)]
pub struct Arrival {
    pub path: String,
    pub key: String,
    pub at: Instant,
}

/// Lives as long as this program.
pub struct TimedTarget {
    /// Several: a service whose calls fail as often as these would be spared.
    pub addresses: Vec<SocketAddr>,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
}

impl TimedTarget {
    /// Calls of `/again` are answered with an error until the last of these attempts.
    pub async fn start(attempts: u32, count: usize) -> anyhow::Result<TimedTarget> {
        let arrivals = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::new(ArrivalLog { arrivals: arrivals.clone(), tries: Mutex::default(), attempts });
        let mut addresses = Vec::new();
        for _ in 0..count {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            addresses.push(listener.local_addr()?);
            tokio::spawn(accept(listener, log.clone()));
        }
        Ok(TimedTarget { addresses, arrivals })
    }

    pub fn arrivals(&self) -> Vec<Arrival> {
        self.arrivals.lock().expect("nobody panics while holding the arrivals").clone()
    }
}

async fn accept(listener: TcpListener, log: Arc<ArrivalLog>) {
    while let Ok((stream, _)) = listener.accept().await {
        let log = log.clone();
        let service = service_fn(move |request| {
            let answer = log.answer(&request);
            async move { Ok::<_, Infallible>(answer) }
        });
        let served =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // Connections end with the server.
        tokio::spawn(served);
    }
}

struct ArrivalLog {
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    tries: Mutex<BTreeMap<String, u32>>,
    attempts: u32,
}

impl ArrivalLog {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let key = request.headers().get("idempotency-key").and_then(|value| value.to_str().ok());
        let (path, key) = (request.uri().path().to_owned(), key.unwrap_or("").to_owned());
        let mut tries = self.tries.lock().expect("nobody panics while holding the tries");
        let count = tries.entry(key.clone()).or_default();
        *count += 1;
        let mut response = Response::new(Full::default());
        if path == "/again" && *count < self.attempts {
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        }
        let arrival = Arrival { path, key, at: Instant::now() };
        self.arrivals.lock().expect("nobody panics while holding the arrivals").push(arrival);
        response
    }
}
