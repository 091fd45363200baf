//! What the jobs call: a bare server that knows when each call was due, and notes when it came.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use bytes::Bytes;
use hdrhistogram::Histogram;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::super::load;

/// Calls that are each due at a time of their own, `per_second` of them from `begin_ms` on.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub calls: u32,
    pub per_second: u32,
    pub begin_ms: i64,
}

impl Plan {
    /// When a call is due.
    pub fn due_ms(&self, call: u32) -> i64 {
        self.begin_ms + i64::from(call) * 1000 / i64::from(self.per_second)
    }
}

/// Addresses for the calls of a plan. Nothing is noted until there is one.
pub struct Target {
    pub addresses: Vec<SocketAddr>,
    listeners: Vec<TcpListener>,
}

/// Jobs have more than one service to call, and a server bounds the calls in flight to each.
const ADDRESSES: usize = 16;

/// What came of a plan so far.
pub struct Arrivals {
    plan: Plan,
    /// How often each call came.
    times: Vec<AtomicU8>,
    /// How late each call came first; in microseconds, and negative when it was early.
    late_micros: Vec<AtomicI64>,
    came: AtomicU64,
    last_micros: AtomicI64,
}

/// The target at work; it ends when this is dropped.
pub struct Serving {
    arrivals: Arc<Arrivals>,
    _tasks: JoinSet<()>,
}

impl Target {
    pub async fn listen() -> anyhow::Result<Target> {
        let (mut addresses, mut listeners) = (Vec::new(), Vec::new());
        for _ in 0..ADDRESSES {
            let listener = TcpListener::bind("127.0.0.1:0").await.context("listening on any free port")?;
            addresses.push(listener.local_addr()?);
            listeners.push(listener);
        }
        Ok(Target { addresses, listeners })
    }

    pub fn serve(self, plan: Plan) -> Serving {
        let arrivals = Arc::new(Arrivals {
            plan,
            times: (0..plan.calls).map(|_| AtomicU8::new(0)).collect(),
            late_micros: (0..plan.calls).map(|_| AtomicI64::new(0)).collect(),
            came: AtomicU64::new(0),
            last_micros: AtomicI64::new(i64::MIN),
        });
        let mut tasks = JoinSet::new();
        for listener in self.listeners {
            tasks.spawn(accept(listener, arrivals.clone()));
        }
        Serving { arrivals, _tasks: tasks }
    }
}

impl std::ops::Deref for Serving {
    type Target = Arrivals;
    fn deref(&self) -> &Arrivals {
        &self.arrivals
    }
}

impl Arrivals {
    /// How many different calls came.
    pub fn came(&self) -> u64 {
        self.came.load(Ordering::Relaxed)
    }

    /// How many calls came more than once.
    pub fn repeated(&self) -> u64 {
        self.times.iter().filter(|times| times.load(Ordering::Relaxed) > 1).count() as u64
    }

    /// Calls per second, from the time the first was due to the arrival of the last.
    pub fn per_second(&self) -> f64 {
        let micros = self.last_micros.load(Ordering::Relaxed) - self.plan.begin_ms * 1000;
        if micros > 0 { self.came() as f64 * 1e6 / micros as f64 } else { 0.0 }
    }

    /// How late the calls came, in microseconds, and how many came before their time.
    pub fn lateness(&self) -> (Histogram<u64>, u64) {
        let (mut histogram, mut early) = (load::histogram(), 0);
        for (times, late) in self.times.iter().zip(&self.late_micros) {
            if times.load(Ordering::Relaxed) > 0 {
                let late = late.load(Ordering::Relaxed);
                early += u64::from(late < 0);
                histogram.saturating_record(u64::try_from(late).unwrap_or(0).max(1));
            }
        }
        (histogram, early)
    }

    fn note(&self, call: u32) {
        let now = now_micros();
        let Some(times) = self.times.get(call as usize) else { return };
        if times.fetch_add(1, Ordering::Relaxed) == 0 {
            let late = now - self.plan.due_ms(call) * 1000;
            self.late_micros[call as usize].store(late, Ordering::Relaxed);
            self.last_micros.fetch_max(now, Ordering::Relaxed);
            self.came.fetch_add(1, Ordering::Relaxed);
        }
    }
}

pub fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

async fn accept(listener: TcpListener, arrivals: Arc<Arrivals>) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Without it only latency suffers.
                let _ = stream.set_nodelay(true);
                let arrivals = arrivals.clone();
                let answer = service_fn(move |request| answer(request, arrivals.clone()));
                connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
                while connections.try_join_next().is_some() {}
            }
            // Out of file descriptors: wait for connections to end instead of spinning.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// The path of a request is the number of its call.
async fn answer(
    request: Request<Incoming>,
    arrivals: Arc<Arrivals>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    if let Some(call) = request.uri().path().strip_prefix('/').and_then(|call| call.parse().ok()) {
        arrivals.note(call);
    }
    // A body that breaks off ends the connection anyway.
    let _ = request.into_body().collect().await;
    Ok(Response::new(Empty::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_spread_evenly_over_the_milliseconds() {
        let plan = Plan { calls: 5000, per_second: 2500, begin_ms: 1000 };
        let due: Vec<_> = (0..6).map(|call| plan.due_ms(call)).collect();
        assert_eq!(due, [1000, 1000, 1000, 1001, 1001, 1002]);
        assert_eq!(plan.due_ms(4999), 2999);
    }
}
