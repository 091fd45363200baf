//! From an origin to a connected stream: look up, check, connect, and TLS where it is asked for.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use host::tls::ClientTls;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use crate::client::Settings;
use crate::client::connection::Wire;
use crate::client::identity::ClientIdentity;
use crate::client::pool::Lane;
use crate::egress::Checked;
use crate::fault::{Fault, Stage, with_causes};
use crate::limits;
use crate::url::{Host, Origin};

/// Opens connections by the settings.
pub(super) struct Dialer {
    settings: Settings,
    /// Made with the first https call: reading the system's certificates takes a while and may fail.
    tls: OnceLock<Result<Tls, rustls::Error>>,
}

/// What all TLS connections share.
struct Tls {
    shared: ClientTls,
    /// For calls without an identity.
    anonymous: Arc<ClientConfig>,
}

/// The configuration of an identity's lane, made with its first connection. Each has its own: sessions that are
/// resumed carry the identity that they began with.
pub(super) type IdentityTls = OnceLock<Arc<ClientConfig>>;

/// The newest answers for an origin's name. The lock is held across a lookup so that a burst of connections makes
/// one lookup, not one each.
pub(super) type Resolved = Mutex<Option<(Instant, Vec<IpAddr>)>>;

impl Dialer {
    pub(super) fn new(settings: Settings) -> Dialer {
        Dialer { settings, tls: OnceLock::new() }
    }

    pub(super) async fn dial(&self, lane: &Lane) -> Result<Wire, Fault> {
        let origin = &lane.origin;
        let addresses = self.addresses(origin, &lane.resolved).await?;
        let checked = self
            .settings
            .egress
            .check(&origin.host, &addresses)
            .map_err(|denied| Fault::Refused { reason: denied.to_string() })?;
        let stream = self.connect(&checked, origin.port).await?;
        if origin.tls { self.secure(stream, lane).await } else { Ok(Wire::Plain(stream)) }
    }

    async fn addresses(&self, origin: &Origin, resolved: &Resolved) -> Result<Vec<IpAddr>, Fault> {
        let name = match &origin.host {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) => name,
        };
        let fixed = origin.host.plain_name().and_then(|name| self.settings.hosts.get(name));
        if let Some(addresses) = fixed {
            return Ok(first_distinct(addresses.iter().copied()));
        }
        let mut resolved = resolved.lock().await;
        if let Some((at, addresses)) = &*resolved
            && at.elapsed() < limits::RESOLVED_FOR
        {
            return Ok(addresses.clone());
        }
        let failed = |reason| Fault::Connect { stage: Stage::Dns, reason };
        let answers = timeout(limits::RESOLVE_TIMEOUT, self.settings.resolver.resolve(name))
            .await
            .map_err(|_| failed(format!("no answer for {name} in time")))?
            .map_err(|error| failed(format!("{name}: {error}")))?;
        let addresses = first_distinct(answers.into_iter());
        *resolved = Some((Instant::now(), addresses.clone()));
        Ok(addresses)
    }

    /// Tries the addresses in order; the last failure is reported.
    async fn connect(&self, addresses: &[Checked], port: u16) -> Result<TcpStream, Fault> {
        let mut reason = "the name has no address".to_owned();
        for checked in addresses {
            let address = SocketAddr::new(checked.address(), port);
            reason = match timeout(self.settings.connect_timeout, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => match stream.set_nodelay(true) {
                    Ok(()) => return Ok(stream),
                    Err(error) => format!("{address}: {error}"),
                },
                Ok(Err(error)) => format!("{address}: {error}"),
                Err(_) => format!("{address}: no answer in time"),
            };
        }
        Err(Fault::Connect { stage: Stage::Tcp, reason })
    }

    async fn secure(&self, stream: TcpStream, lane: &Lane) -> Result<Wire, Fault> {
        let failed = |reason| Fault::Connect { stage: Stage::Tls, reason };
        let config = self.tls_config(lane).map_err(|error| failed(error.to_string()))?;
        let host = &lane.origin.host;
        let name = match (host, host.plain_name()) {
            (Host::Address(address), _) => ServerName::from(*address),
            (Host::Name(name), plain) => ServerName::try_from(plain.unwrap_or(name).to_owned())
                .map_err(|error| failed(format!("{name}: {error}")))?,
        };
        let handshake = TlsConnector::from(config).connect(name, stream);
        let stream = timeout(self.settings.connect_timeout, handshake)
            .await
            .map_err(|_| failed("no answer in time".to_owned()))?
            .map_err(|error| failed(with_causes(&error)))?;
        Ok(Wire::Tls(Box::new(stream)))
    }

    fn tls_config(&self, lane: &Lane) -> Result<Arc<ClientConfig>, rustls::Error> {
        let tls = self.tls.get_or_init(|| {
            let shared = ClientTls::new(self.settings.extra_roots.clone())?;
            Ok(Tls { anonymous: tls_config(&shared, None), shared })
        });
        let tls = tls.as_ref().map_err(Clone::clone)?;
        let config = match &lane.identity {
            None => &tls.anonymous,
            Some(identity) => lane.identity_tls.get_or_init(|| tls_config(&tls.shared, Some(identity))),
        };
        Ok(config.clone())
    }
}

fn first_distinct(addresses: impl Iterator<Item = IpAddr>) -> Vec<IpAddr> {
    let mut seen = HashSet::new();
    addresses.filter(|address| seen.insert(*address)).take(limits::ADDRESSES_MAX).collect()
}

/// A configuration for HTTP, with the certificate of an identity if there is one.
fn tls_config(tls: &ClientTls, identity: Option<&ClientIdentity>) -> Arc<ClientConfig> {
    let mut config = match identity {
        Some(identity) => tls.config_with_identity(identity.resolver()),
        None => tls.config(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}
