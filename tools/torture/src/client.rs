//! A client with one kept connection, for servers that may die before they respond.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, LOCATION, RETRY_AFTER};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::TcpStream;
use types::RunStatus;

/// From the first byte of a request to the last of its answer. A kill closes connections, so that a client
/// that waits this long has found a server that hangs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// A client of one server, which may be gone at any moment.
pub struct Client {
    address: SocketAddr,
    token: Option<String>,
    patience: Duration,
    connection: Option<SendRequest<Full<Bytes>>>,
}

/// A response, whatever its status.
#[derive(Debug)]
pub struct ClientResponse {
    pub status: StatusCode,
    /// Whether it says when to retry.
    pub says_when: bool,
    /// Where the list continues, as a path.
    pub location: Option<String>,
    pub body: Bytes,
}

impl Client {
    pub fn new(address: SocketAddr, token: Option<&str>) -> Client {
        Client { address, token: token.map(str::to_owned), patience: ANSWER_TIMEOUT, connection: None }
    }

    /// The server that it talks to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same with a timeout, for a server that may be frozen or cut off and does not close its connections.
    pub fn within(mut self, patience: Duration) -> Client {
        self.patience = patience;
        self
    }

    pub async fn get(&mut self, path: &str) -> anyhow::Result<ClientResponse> {
        self.send(Method::GET, path, "", Bytes::new()).await
    }

    /// Sends a request; an error means that its outcome is unknown.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Bytes,
    ) -> anyhow::Result<ClientResponse> {
        let mut request = Request::builder().method(method).uri(path).header(HOST, self.address.to_string());
        if !content_type.is_empty() {
            request = request.header(CONTENT_TYPE, content_type);
        }
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Full::new(body)).with_context(|| format!("asking for {path}"))?;
        let answered = tokio::time::timeout(self.patience, self.exchange(request)).await;
        let answered = answered.unwrap_or_else(|_| Err(anyhow::anyhow!("no answer to {path}")));
        if answered.is_err() {
            self.connection = None;
        }
        answered
    }

    /// Connects unless the connection is open.
    pub async fn reach(&mut self) -> anyhow::Result<()> {
        self.connected().await.map(drop)
    }

    async fn exchange(&mut self, request: Request<Full<Bytes>>) -> anyhow::Result<ClientResponse> {
        let connection = self.connected().await?;
        let (parts, body) = connection.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        let says_when = parts.headers.contains_key(RETRY_AFTER);
        let location = parts.headers.get(LOCATION).and_then(|location| location.to_str().ok()).map(path_of);
        Ok(ClientResponse { status: parts.status, says_when, location, body })
    }

    async fn connected(&mut self) -> anyhow::Result<&mut SendRequest<Full<Bytes>>> {
        let kept = match self.connection.take() {
            Some(mut connection) => connection.ready().await.is_ok().then_some(connection),
            None => None,
        };
        let connection = match kept {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(self.connection.insert(connection))
    }

    async fn connect(&self) -> anyhow::Result<SendRequest<Full<Bytes>>> {
        let connecting = tokio::time::timeout(self.patience, TcpStream::connect(self.address));
        let stream = connecting.await.context("connecting")??;
        stream.set_nodelay(true)?;
        let (connection, driver) = http1::handshake(TokioIo::new(stream)).await?;
        // Its errors surface at the request that they end.
        tokio::spawn(driver);
        Ok(connection)
    }
}

/// The path of an absolute or relative URL.
fn path_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').map_or_else(|| "/".to_owned(), |slash| rest[slash..].to_owned())
}

/// A run, in whatever detail the server shows it.
#[derive(Debug, Deserialize)]
pub struct ShownRun {
    pub id: String,
    pub status: RunStatus,
}

impl ClientResponse {
    /// The run in the response.
    pub fn run(&self) -> anyhow::Result<ShownRun> {
        serde_json::from_slice(&self.body).with_context(|| format!("reading a run: {}", self.text()))
    }

    /// The beginning of the body.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).chars().take(300).collect()
    }

    /// This response if it is a success; otherwise an error with its text.
    pub fn success(self) -> anyhow::Result<ClientResponse> {
        ensure!(self.status.is_success(), "{} {}", self.status, self.text());
        Ok(self)
    }
}
