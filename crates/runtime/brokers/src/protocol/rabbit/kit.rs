//! Lets the client work on a stream that was connected, checked and secured here.

use std::future::ready;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use async_rs::traits::Reactor;
use async_rs::util::RuntimeParts;
use async_rs::{Runtime, Tokio};
use futures_io::{AsyncRead, AsyncWrite};
use futures_util::Stream;
use lapin::tcp::AsyncTcpStream;
use lapin::uri::AMQPUri;
use lapin::{Connection, ConnectionProperties, Result};
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};

use crate::dial::Wire;

/// Opens a connection of the protocol over the wire. When the wire breaks, it is over: there is no other.
pub(super) async fn connect(
    wire: Wire,
    uri: AMQPUri,
    properties: ConnectionProperties,
) -> Result<Connection> {
    let runtime = Runtime::new(RuntimeParts::new(Tokio::current(), Wired { tokio: Tokio::current() }));
    let wire = Mutex::new(Some(wire));
    let hand_over = async move |_, _| {
        let wire = wire.lock().ok().and_then(|mut wire| wire.take());
        let wire = wire.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?;
        Ok(AsyncTcpStream::Plain(wire.compat()))
    };
    Connection::connector(uri, runtime, hand_over, properties).await
}

/// Tokio, with streams of ours.
#[derive(Debug, Clone)]
struct Wired {
    tokio: Tokio,
}

impl Reactor for Wired {
    type TcpStream = Compat<Wire>;
    type Sleep = <Tokio as Reactor>::Sleep;

    fn register<H: Read + Write + AsFd + AsRawFd + Send + 'static>(
        &self,
        socket: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        self.tokio.register(socket)
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.tokio.sleep(duration)
    }

    fn interval(&self, duration: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        self.tokio.interval(duration)
    }

    /// Nothing connects past the guard.
    fn tcp_connect_addr(
        &self,
        _address: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::TcpStream>> + Send + 'static {
        ready(Err(io::Error::from(io::ErrorKind::PermissionDenied)))
    }
}
