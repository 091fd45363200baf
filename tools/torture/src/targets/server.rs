//! Servers that behave badly on purpose: raw bytes over TCP and TLS, on loopback.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;

/// Requests are small; a head that is longer is not ours.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Connections that fill the queue of a listener that takes none.
const QUEUE: u32 = 4;

/// What a target does to those who call it.
#[derive(Clone)]
pub enum Behaviour {
    /// Nothing listens.
    Absent,
    /// The queue of the listener is full, and no connection is accepted.
    NeverAccepts,
    /// Accepts the connection and never sends anything.
    Silent,
    ClosesAtOnce,
    ResetsAtOnce,
    /// Reads a request and sends these bytes.
    Says(Vec<u8>, AfterBytes),
    /// Sends these bytes after the first input, and closes.
    SaysToAnything(Vec<u8>),
    /// Sends the first to a new key, the second to a repeated one.
    SaysByTurns(Vec<u8>, Vec<u8>),
    /// Sends the head, then the drop repeatedly; without a pause as fast as it is read.
    Drips {
        head: Vec<u8>,
        drop: Vec<u8>,
        pause: Duration,
    },
}

/// What comes after the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AfterBytes {
    /// Waits for the next request on the same connection.
    Keep,
    Close,
    Reset,
    /// Keeps the connection and sends nothing more.
    Hold,
}

/// A target that lives as long as this program.
pub struct HostileServer {
    pub address: SocketAddr,
    seen: Arc<Mutex<ReceivedRequests>>,
    /// What keeps the queue of a listener full.
    _queued: Vec<TcpStream>,
    _listener: Option<TcpListener>,
}

/// What came in.
#[derive(Default, Clone)]
pub struct ReceivedRequests {
    /// Requests by their key.
    pub keys: BTreeMap<String, u32>,
    /// Bytes that came in clear, as far as they were read.
    pub clear: Vec<u8>,
}

impl HostileServer {
    pub async fn start(manner: Behaviour, tls: Option<TlsAcceptor>) -> anyhow::Result<HostileServer> {
        let seen = Arc::new(Mutex::new(ReceivedRequests::default()));
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = socket.local_addr()?;
        let mut hostile = HostileServer { address, seen, _queued: Vec::new(), _listener: None };
        match manner {
            // The socket is dropped, and its port refuses connections until another process gets it.
            Behaviour::Absent => {}
            Behaviour::NeverAccepts => {
                hostile._listener = Some(socket.listen(1)?);
                for _ in 0..QUEUE {
                    let dial = TcpStream::connect(address);
                    // The first ones fill the queue; one that is not answered finds it full.
                    let Ok(stream) = tokio::time::timeout(Duration::from_millis(200), dial).await else {
                        break;
                    };
                    hostile._queued.push(stream?);
                }
            }
            manner => {
                let target = Target { manner, tls, seen: hostile.seen.clone() };
                tokio::spawn(accept(socket.listen(1024)?, Arc::new(target)));
            }
        }
        Ok(hostile)
    }

    pub fn seen(&self) -> ReceivedRequests {
        self.seen.lock().expect("nobody panics while holding the requests").clone()
    }
}

struct Target {
    manner: Behaviour,
    tls: Option<TlsAcceptor>,
    seen: Arc<Mutex<ReceivedRequests>>,
}

async fn accept(listener: TcpListener, target: Arc<Target>) {
    while let Ok((stream, _)) = listener.accept().await {
        let target = target.clone();
        tokio::spawn(async move {
            // A connection that breaks is what these targets are for.
            let _ = target.serve(stream).await;
        });
    }
}

impl Target {
    async fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        match (&self.manner, &self.tls) {
            (Behaviour::ClosesAtOnce, _) => Ok(()),
            (Behaviour::ResetsAtOnce, _) => stream.set_zero_linger(),
            (Behaviour::Silent, _) => self.listen(&mut stream).await,
            (Behaviour::SaysToAnything(bytes), _) => {
                let mut buffer = [0; 4096];
                let count = stream.read(&mut buffer).await?;
                self.note_clear(&buffer[..count]);
                stream.write_all(bytes).await
            }
            (_, Some(tls)) => {
                let mut stream = tls.accept(stream).await?;
                self.converse(&mut stream).await.map(drop)
            }
            (_, None) => {
                if self.converse(&mut stream).await? == AfterBytes::Reset {
                    stream.set_zero_linger()?;
                }
                Ok(())
            }
        }
    }

    /// Reads and never answers.
    async fn listen(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        let mut buffer = [0; 4096];
        loop {
            let count = stream.read(&mut buffer).await?;
            if count == 0 {
                return Ok(());
            }
            self.note_clear(&buffer[..count]);
        }
    }

    fn note_clear(&self, bytes: &[u8]) {
        let mut seen = self.seen.lock().expect("nobody panics while holding the requests");
        if seen.clear.len() < HEAD_BYTES_MAX {
            seen.clear.extend_from_slice(bytes);
        }
    }

    async fn converse(
        &self,
        stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    ) -> std::io::Result<AfterBytes> {
        while let Some(head) = read_head(stream).await? {
            let again = self.note(&head);
            let then = match &self.manner {
                Behaviour::Says(bytes, then) => {
                    stream.write_all(bytes).await?;
                    *then
                }
                Behaviour::SaysByTurns(first, rest) => {
                    stream.write_all(if again { rest } else { first }).await?;
                    AfterBytes::Keep
                }
                Behaviour::Drips { head, drop, pause } => {
                    stream.write_all(head).await?;
                    loop {
                        stream.write_all(drop).await?;
                        stream.flush().await?;
                        if !pause.is_zero() {
                            tokio::time::sleep(*pause).await;
                        }
                    }
                }
                Behaviour::Absent
                | Behaviour::NeverAccepts
                | Behaviour::Silent
                | Behaviour::SaysToAnything(_)
                | Behaviour::ClosesAtOnce
                | Behaviour::ResetsAtOnce => unreachable!("these say nothing"),
            };
            stream.flush().await?;
            match then {
                AfterBytes::Keep => {}
                AfterBytes::Close | AfterBytes::Reset => return Ok(then),
                AfterBytes::Hold => std::future::pending().await,
            }
        }
        Ok(AfterBytes::Close)
    }

    /// Whether the key of the request was seen before.
    fn note(&self, head: &[u8]) -> bool {
        let text = String::from_utf8_lossy(head).to_ascii_lowercase();
        let key = text.lines().find_map(|line| line.strip_prefix("idempotency-key:")).unwrap_or("").trim();
        if self.tls.is_none() {
            self.note_clear(head);
        }
        let mut seen = self.seen.lock().expect("nobody panics while holding the requests");
        let count = seen.keys.entry(key.to_owned()).or_default();
        *count += 1;
        *count > 1
    }
}

/// The head of a request and as much of its body as its length says; none at the end of the connection.
async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > HEAD_BYTES_MAX {
            return Ok(None);
        }
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length = length.and_then(|length| length.trim().parse::<usize>().ok()).unwrap_or(0);
    let mut body = vec![0; length.min(HEAD_BYTES_MAX)];
    stream.read_exact(&mut body).await?;
    Ok(Some(head))
}
