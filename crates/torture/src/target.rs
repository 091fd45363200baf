//! What jobs call: a server that notes every call, and fails some of them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

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

/// The calls that came in: by path, then by key, how often.
pub type Calls = BTreeMap<String, BTreeMap<String, u32>>;

/// A target that lives as long as this program.
pub struct Target {
    pub address: SocketAddr,
    book: Arc<Mutex<Book>>,
}

struct Book {
    calls: Calls,
    dice: Dice,
}

impl Target {
    pub async fn start(seed: u64) -> anyhow::Result<Target> {
        Target::start_at(Ipv4Addr::LOCALHOST, seed).await
    }

    pub async fn start_at(address: Ipv4Addr, seed: u64) -> anyhow::Result<Target> {
        let listener = TcpListener::bind((address, 0)).await?;
        let address = listener.local_addr()?;
        let book = Arc::new(Mutex::new(Book { calls: Calls::new(), dice: Dice::new(seed) }));
        tokio::spawn(accept(listener, book.clone()));
        Ok(Target { address, book })
    }

    /// All that came in so far.
    pub fn calls(&self) -> Calls {
        self.book.lock().expect("nobody panics while holding the book").calls.clone()
    }
}

async fn accept(listener: TcpListener, book: Arc<Mutex<Book>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let book = book.clone();
        let service = service_fn(move |request| {
            let answer = answer(&book, &request);
            async move { Ok::<_, Infallible>(answer) }
        });
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // A connection breaks when its caller is killed: that is the purpose of it all.
        tokio::spawn(connection);
    }
}

fn answer(book: &Mutex<Book>, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let key = request.headers().get("idempotency-key").and_then(|value| value.to_str().ok()).unwrap_or("");
    let mut book = book.lock().expect("nobody panics while holding the book");
    let path = request.uri().path().to_owned();
    *book.calls.entry(path).or_default().entry(key.to_owned()).or_default() += 1;
    let mut response = Response::new(Full::default());
    if book.dice.hits_percent(FAILED_PERCENT) {
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    }
    response
}
