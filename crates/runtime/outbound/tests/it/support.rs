//! Servers that behave badly on purpose, on loopback.

pub mod azurite;
pub mod job;
pub mod names;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use outbound::{Client, Egress, OutboundRequest, Settings, Url};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A server whose every connection is handed to a function.
pub struct Server {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    pub async fn start<F, Fut>(serve: F) -> Server
    where
        F: Fn(TcpStream) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                stream.set_nodelay(true).unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream));
            }
        });
        Server { address, connections, task }
    }

    /// Answers every request on a connection with the same bytes, and keeps it open.
    pub async fn answering(answer: impl Into<Vec<u8>>) -> Server {
        let answer = Arc::new(answer.into());
        Server::start(move |mut stream| {
            let answer = answer.clone();
            async move {
                while read_request(&mut stream).await.is_some() {
                    if stream.write_all(&answer).await.is_err() {
                        return;
                    }
                }
            }
        })
        .await
    }

    /// Answers one request per connection with the bytes and closes.
    pub async fn closing_after(answer: impl Into<Vec<u8>>) -> Server {
        let answer = Arc::new(answer.into());
        Server::start(move |mut stream| {
            let answer = answer.clone();
            async move {
                read_request(&mut stream).await;
                // The client may have had enough before the end.
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
            }
        })
        .await
    }

    pub fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    /// How many connections were accepted so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One request as text, head and body; `None` at the end of the stream.
pub async fn read_request<S: AsyncRead + Unpin>(stream: &mut S) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        if let Some(head_end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ").map(|length| length.parse().unwrap()));
            if bytes.len() >= head_end + 4 + length.unwrap_or(0usize) {
                return Some(text);
            }
        }
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

/// Writes for ever; ends when the other side has closed.
pub async fn write_until_closed<S: AsyncWrite + Unpin>(stream: &mut S, bytes: &[u8]) {
    while stream.write_all(bytes).await.is_ok() {}
}

pub fn settings() -> Settings {
    Settings { egress: Egress { loopback: true, ..Egress::default() }, ..Settings::default() }
}

pub fn client() -> Client {
    Client::new(settings())
}

/// A number that looks random and is the same for the same seed.
pub fn draw(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16
}

pub fn get(url: Url) -> OutboundRequest {
    OutboundRequest::new(Method::GET, url)
}
