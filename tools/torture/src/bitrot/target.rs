//! What the workflows and jobs of the damaged directories call: a target that says what its path asks for.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// `torture:of this job only` in base64.
const CREDENTIALS: &str = "Basic dG9ydHVyZTpvZiB0aGlzIGpvYiBvbmx5";
pub const USER: &str = "torture";
pub const PASSWORD: &str = "of this job only";

/// Starts one that lives as long as this program.
pub async fn start() -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service_fn(|request| async move { Ok::<_, Infallible>(answer(&request)) });
            let served =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // Those who call are stopped and killed; their connections break.
            tokio::spawn(served);
        }
    });
    Ok(address)
}

fn answer(request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let path = request.uri().path();
    let signed_in = request.headers().get(AUTHORIZATION).is_some_and(|value| value == CREDENTIALS);
    let (status, body) = match path.split('/').nth(1) {
        Some("no") => (400, "{\"no\":true}"),
        Some("busy") => (503, ""),
        Some("secret") if !signed_in => (401, ""),
        _ => (200, "{\"well\":\"done\",\"n\":[1,2,3]}"),
    };
    let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
    *response.status_mut() = hyper::StatusCode::from_u16(status).expect("a status of our own");
    response
}
