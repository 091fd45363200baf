//! Accepts connections and answers the requests on them.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use super::patience::Patience;
use crate::api::Api;
use crate::body::Payload;
use crate::limits::{HEAD_BYTES_MAX, HEADERS_MAX};
use crate::overview;
use crate::router::Router;

/// A running listener.
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    connections: Arc<Semaphore>,
    connections_max: usize,
    accepting: JoinHandle<()>,
    bulks: JoinHandle<()>,
    recording: JoinHandle<()>,
}

/// Begins to listen.
pub async fn serve(listener: TcpListener, api: Api) -> std::io::Result<Server> {
    let address = listener.local_addr()?;
    let (stop, stopped) = watch::channel(false);
    let connections_max = api.instance.limits.connections_max;
    let connections = Arc::new(Semaphore::new(connections_max));
    let recording = host::spawn("record", overview::record(api.overview.clone(), stopped.clone()));
    let router = Router::new(Arc::new(api), stopped.clone());
    let bulks = router.api.bulks.clone();
    let bulks = host::spawn("bulks", bulk::drive(bulks, router.clone(), stopped.clone()));
    let accepting = host::spawn("accept connections", accept(listener, router, stopped, connections.clone()));
    Ok(Server { address, stop, connections, connections_max, accepting, bulks, recording })
}

impl Server {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no more connections and waits, up to a time, until requests in flight have been answered.
    pub async fn stop(self, patience: Duration) {
        // Nobody listens when the accept loop has ended already.
        let _ = self.stop.send(true);
        let idle = async {
            // An error means that the accept loop was cancelled: it accepts nothing more either way.
            let _ = self.accepting.await;
            let _ = self.bulks.await;
            // It keeps the API alive, and with it the journal.
            let _ = self.recording.await;
            let all = u32::try_from(self.connections_max).expect("a small number");
            drop(self.connections.acquire_many(all).await);
        };
        if tokio::time::timeout(patience, idle).await.is_err() {
            tracing::warn!("some connections did not end in time");
        }
    }
}

async fn accept(
    listener: TcpListener,
    router: Router,
    mut stopped: watch::Receiver<bool>,
    connections: Arc<Semaphore>,
) {
    loop {
        let permit = connections.clone().acquire_owned().await.expect("the semaphore is never closed");
        let accepted = tokio::select! {
            // Stop first: a connection that is not accepted is retried elsewhere.
            biased;
            _ = stopped.changed() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (router, stopped) = (router.clone(), stopped.clone());
                host::spawn("connection", async move {
                    converse(stream, router, stopped).await;
                    drop(permit);
                });
            }
            Err(error) => {
                // Out of descriptors, most likely: give the others time to end.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn converse(stream: TcpStream, router: Router, mut stopped: watch::Receiver<bool>) {
    // Small answers must not wait for more; a socket that refuses is about to fail anyway.
    let _ = stream.set_nodelay(true);
    let patience = Patience::new();
    let io = TokioIo::new(patience.watch(stream));
    let service = service_fn(|request: Request<Incoming>| {
        let answering = patience.answer();
        let router = &router;
        async move {
            let answer = router.answer(request.map(Payload::Arriving)).await;
            drop(answering);
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        // Heads are waited for with a patience of our own.
        .header_read_timeout(None)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        // Most answers are small: one buffer is cheaper to send than two.
        .writev(false)
        .serve_connection(io, service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = patience.lost() => return,
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}
