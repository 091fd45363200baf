//! What the jobs of a test call: a server that answers as its path says and remembers what it was asked.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// One call that arrived.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
}

/// `/500/any` is answered with 500, other paths with 200; `/slow` not at once, `/held` only when the test lets go.
pub struct Target {
    address: SocketAddr,
    calls: Arc<Mutex<Vec<Call>>>,
    /// How `/switch` is answered, and whether `/held` is let go.
    manner: watch::Sender<Manner>,
    serving: JoinHandle<()>,
}

#[derive(Clone)]
struct Manner {
    switch: u16,
    let_go: bool,
}

impl Target {
    pub async fn start() -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let (manner, seen) = watch::channel(Manner { switch: 200, let_go: false });
        let noted = calls.clone();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (calls, manner) = (noted.clone(), seen.clone());
                let service = service_fn(move |request| answer(request, calls.clone(), manner.clone()));
                let connection = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                tokio::spawn(connection);
            }
        });
        Target { address, calls, manner, serving }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How `/switch` is answered from now on.
    pub fn switch(&self, status: u16) {
        self.manner.send_modify(|manner| manner.switch = status);
    }

    pub fn let_go(&self) {
        self.manner.send_modify(|manner| manner.let_go = true);
    }

    /// The calls so far whose path begins so.
    pub fn calls(&self, path: &str) -> Vec<Call> {
        self.calls.lock().unwrap().iter().filter(|call| call.path.starts_with(path)).cloned().collect()
    }

    /// Waits until so many calls have arrived.
    pub async fn wait(&self, path: &str, count: usize) -> Vec<Call> {
        for _ in 0..2400 {
            let calls = self.calls(path);
            if calls.len() >= count {
                return calls;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{path} was not called {count} times, but {}", self.calls(path).len());
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// An address where nobody listens.
pub async fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

async fn answer(
    request: Request<Incoming>,
    calls: Arc<Mutex<Vec<Call>>>,
    mut manner: watch::Receiver<Manner>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let path = parts.uri.path().to_owned();
    let status = match path.split('/').nth(1).unwrap_or_default() {
        "switch" => manner.borrow().switch,
        first => first.parse().unwrap_or(200),
    };
    let body = String::from_utf8_lossy(&body).into_owned();
    calls.lock().unwrap().push(Call {
        method: parts.method,
        path: path.clone(),
        headers: parts.headers,
        body,
    });
    if path.starts_with("/held") {
        // The test may end without letting go; nobody waits for the answer then.
        let _ = manner.wait_for(|manner| manner.let_go).await;
    }
    if path.starts_with("/slow") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let text = if path.starts_with("/long") { "x".repeat(3000) } else { format!("answer {status}") };
    Ok(Response::builder().status(status).body(Full::new(Bytes::from(text))).unwrap())
}
