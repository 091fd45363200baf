//! A bare hyper server: it reads a request and says hello. What the machine allows at most.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use clap::Args;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use terminal::screen;
use tokio::net::TcpListener;

use super::child::Child;
use super::load::{Answers, Target};

/// What it is called in figures.
pub const NAME: &str = "bare hyper server";

/// Starts one as a process of its own; it takes the same requests as `target`.
pub async fn start(target: &Target) -> anyhow::Result<(Child, Target)> {
    let (child, line) = Child::start("the bare server", &["bench", "bare-server"]).await?;
    let address = line.strip_prefix("listening on ").and_then(|address| address.parse().ok());
    let address = address.with_context(|| format!("the bare server's first line is {line:?}"))?;
    Ok((child, Target { address, others: Vec::new(), answers: Answers::Whole, ..target.clone() }))
}

/// Answer every request with a greeting
#[derive(Debug, Args)]
pub struct BareServer {}

impl BareServer {
    pub async fn run(self) -> anyhow::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listening on any free port")?;
        screen::print(&format!("listening on {}\n", listener.local_addr()?))?;
        serve(listener).await;
        Ok(())
    }
}

/// Serves until dropped.
pub async fn serve(listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Without it only latency suffers.
                let _ = stream.set_nodelay(true);
                let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(hello));
                tokio::spawn(serving);
            }
            // Out of file descriptors: wait for connections to end instead of spinning.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn hello(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    // A body that breaks off ends the connection anyway.
    let _ = request.into_body().collect().await;
    Ok(Response::new(Full::new(Bytes::from_static(b"hello, world"))))
}
