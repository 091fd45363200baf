//! A target that is slow until it is switched to fast.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Longer than the load lasts: calls pile up.
const SLOW: Duration = Duration::from_secs(5);

/// Lives as long as this program.
pub struct Slow {
    pub address: SocketAddr,
    quick: Arc<AtomicBool>,
}

impl Slow {
    pub async fn start() -> anyhow::Result<Slow> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let quick = Arc::new(AtomicBool::new(false));
        let shared = quick.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let quick = shared.clone();
                let service = service_fn(move |request| answer(request, quick.clone()));
                let served = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                // A connection breaks when its caller is ended: that is looked for elsewhere.
                tokio::spawn(served);
            }
        });
        Ok(Slow { address, quick })
    }

    pub fn be_quick(&self) {
        self.quick.store(true, Ordering::Relaxed);
    }
}

async fn answer(
    request: Request<Incoming>,
    quick: Arc<AtomicBool>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    // Read to its end, so that the connection can be used again.
    let _ = request.into_body().collect().await;
    if !quick.load(Ordering::Relaxed) {
        tokio::time::sleep(SLOW).await;
    }
    Ok(Response::new(Full::new(Bytes::from_static(b"{}"))))
}
