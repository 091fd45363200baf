//! Workflows whose runs do not end: their requests wait on disk, or their runs wait in memory.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use drone_delivery::workflows::DELIVERY_REQUEST_SCHEMA;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The name of the workflow of both.
pub const WORKFLOW: &str = "bench-waiting";

/// A service on any free port; it ends when this is dropped.
pub struct Service {
    port: u16,
    _tasks: JoinSet<()>,
}

impl Service {
    /// It takes connections and never says a word.
    pub async fn silent() -> anyhow::Result<Service> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listening on any free port")?;
        Service::start(listener, stay_silent)
    }

    /// It does what it is asked for, but `/later`.
    pub async fn postponing() -> anyhow::Result<Service> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("listening on any free port")?;
        Service::start(listener, postpone)
    }

    fn start<F: Future<Output = ()> + Send + 'static>(
        listener: TcpListener,
        serve: impl FnOnce(TcpListener) -> F,
    ) -> anyhow::Result<Service> {
        let port = listener.local_addr()?.port();
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener));
        Ok(Service { port, _tasks: tasks })
    }

    /// A workflow that checks requests like the real one, and then waits for a service that never answers. One call
    /// is made, all other requests wait on disk.
    pub fn workflow_on_disk(&self) -> String {
        let port = self.port;
        format!(
            "{}services:
  silent: {{ url: \"http://127.0.0.1:{port}\", timeout: 1h, concurrency: 1 }}
steps:
  wait:
    call: {{ service: silent, method: GET, path: / }}
",
            head()
        )
    }

    /// A workflow whose runs come to their second round of calls, and there wait for an hour before the next attempt.
    /// Two of three calls succeed: a service that only fails would be left alone.
    pub fn workflow_in_memory(&self) -> String {
        let port = self.port;
        format!(
            "{}services:
  postponing: {{ url: \"http://127.0.0.1:{port}\", timeout: 1m }}
steps:
  one:
    call: {{ service: postponing, method: GET, path: /now }}
  two:
    call: {{ service: postponing, method: GET, path: /now }}
  three:
    after: [one, two]
    retry: {{ type: fixed, delay: 1h, attempts: 5 }}
    call: {{ service: postponing, method: GET, path: /later }}
",
            head()
        )
    }
}

fn head() -> String {
    let schema: Value = serde_json::from_str(DELIVERY_REQUEST_SCHEMA).expect("the example's schema is JSON");
    format!("name: {WORKFLOW}\naccept:\n  id: .deliveryId\n  schema: {schema}\n")
}

async fn stay_silent(listener: TcpListener) {
    let mut held = Vec::new();
    while let Ok((stream, _)) = listener.accept().await {
        held.push(stream);
    }
}

async fn postpone(listener: TcpListener) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Without it only latency suffers.
                let _ = stream.set_nodelay(true);
                connections.spawn(
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(now_or_later)),
                );
                while connections.try_join_next().is_some() {}
            }
            // Out of file descriptors: wait for connections to end instead of spinning.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn now_or_later(request: Request<Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
    let status =
        if request.uri().path() == "/later" { StatusCode::TOO_EARLY } else { StatusCode::NO_CONTENT };
    // A body that breaks off ends the connection anyway.
    let _ = request.into_body().collect().await;
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    Ok(response)
}

#[cfg(test)]
mod tests {
    use workflow::Definition;

    use super::*;

    #[tokio::test]
    async fn the_workflows_are_well() {
        for service in [Service::silent().await.unwrap(), Service::postponing().await.unwrap()] {
            for workflow in [service.workflow_on_disk(), service.workflow_in_memory()] {
                Definition::parse(&workflow).unwrap_or_else(|problems| panic!("{problems}"));
            }
        }
    }
}
