//! From an address to a connected stream: look up, ask the guard, connect, and TLS where it is asked for.

mod wire;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use host::tls::ClientTls;
use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

pub(crate) use wire::{Wire, WireGuard};

use crate::address::Address;
use crate::{Guard, SendError, limits};

/// Opens connections, to addresses that the guard lets pass.
pub(crate) struct Dialer {
    guard: Arc<dyn Guard>,
    roots: Vec<CertificateDer<'static>>,
    /// Made with the first use: reading the system's certificates takes a while and may fail.
    tls: OnceLock<Result<Tls, rustls::Error>>,
}

/// What all TLS connections share.
struct Tls {
    shared: ClientTls,
    config: Arc<ClientConfig>,
}

impl Dialer {
    pub(crate) fn new(guard: Arc<dyn Guard>, roots: Vec<CertificateDer<'static>>) -> Dialer {
        Dialer { guard, roots, tls: OnceLock::new() }
    }

    /// A connection to the first of the broker's addresses that takes one.
    pub(crate) async fn dial(&self, address: &Address) -> Result<Wire, SendError> {
        let mut reason = format!("{address}: the name has no address");
        for socket in self.addresses(address).await? {
            match timeout(limits::CONNECT, TcpStream::connect(socket)).await {
                Ok(Ok(stream)) => return self.finish(stream, address).await,
                Ok(Err(error)) => reason = format!("connecting to {address}: {error}"),
                Err(_) => reason = format!("connecting to {address}: no answer in time"),
            }
        }
        Err(SendError::NotSent(reason))
    }

    /// What the name stands for. One address that the guard refuses refuses all: a name that points inside and
    /// outside is not to be trusted with either.
    pub(crate) async fn addresses(&self, address: &Address) -> Result<Vec<SocketAddr>, SendError> {
        let host = address.host.as_str();
        let found = timeout(limits::RESOLVE, lookup_host((host, address.port)))
            .await
            .map_err(|_| SendError::NotSent(format!("looking up {host}: no answer in time")))?
            .map_err(|error| SendError::NotSent(format!("looking up {host}: {error}")))?;
        let found: Vec<SocketAddr> = found.collect();
        for socket in &found {
            self.guard.check(socket.ip(), host).map_err(SendError::Refused)?;
        }
        Ok(found.into_iter().take(limits::ADDRESSES_MAX).collect())
    }

    /// For a client that connects by itself, to addresses that were looked up here: the certificate must be for one
    /// of these hosts, whatever the client believes that it has connected to.
    pub(crate) fn tls_for(&self, hosts: &[Address]) -> Result<ClientConfig, SendError> {
        let names = hosts.iter().map(server_name).collect::<Result<_, _>>()?;
        Ok(self.tls()?.shared.config_for_names(names))
    }

    async fn finish(&self, stream: TcpStream, address: &Address) -> Result<Wire, SendError> {
        let failed =
            |error: &dyn std::fmt::Display| SendError::NotSent(format!("connecting to {address}: {error}"));
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        if !address.tls {
            return Ok(Wire::Plain(stream));
        }
        let config = self.tls()?.config.clone();
        let handshake = TlsConnector::from(config).connect(server_name(address)?, stream);
        let stream = timeout(limits::CONNECT, handshake)
            .await
            .map_err(|_| failed(&"no answer to the TLS handshake in time"))?
            .map_err(|error| failed(&error))?;
        Ok(Wire::Tls(Box::new(stream)))
    }

    fn tls(&self) -> Result<&Tls, SendError> {
        let made = self.tls.get_or_init(|| {
            let shared = ClientTls::new(self.roots.clone())?;
            Ok(Tls { config: Arc::new(shared.config()), shared })
        });
        made.as_ref().map_err(|error| unusable(error.clone()))
    }
}

fn server_name(address: &Address) -> Result<ServerName<'static>, SendError> {
    ServerName::try_from(address.host.clone())
        .map_err(|error| SendError::Refused(format!("{}: {error}", address.host)))
}

fn unusable(error: rustls::Error) -> SendError {
    SendError::NotSent(format!("TLS cannot be used: {error}"))
}
