//! The HTTP client: one call, one deadline, one answer or one fault.

mod connect;
mod connection;
mod identity;
mod pool;
mod resolve;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, HeaderValue, Method};
use http_body_util::Full;
use rustls::pki_types::CertificateDer;
use tokio::time::{Instant, timeout_at};

use crate::client::connect::Dialer;
use crate::client::connection::{Broken, Live};
use crate::client::pool::{Lane, Pool};
use crate::egress::Egress;
use crate::fault::Fault;
use crate::headers::{mark_region, remove_framing};
use crate::limits;
use crate::url::Url;

pub use crate::client::identity::{ClientIdentity, InvalidIdentity};
pub use crate::client::resolve::{Resolver, Resolving, SystemResolver};

/// One call to be made.
#[derive(Debug, Clone)]
pub struct OutboundRequest {
    pub method: Method,
    pub url: Url,
    /// Headers that frame the message (`host`, `content-length`, …) are the client's own and replaced.
    pub headers: HeaderMap,
    pub body: Option<Bytes>,
    /// Covers waiting for a connection, connecting, TLS, headers and body.
    pub deadline: Duration,
    pub answer_bytes_max: usize,
    /// The certificate to show when the service asks for one; https only. Calls with another certificate, or with
    /// none, never share its connections.
    pub identity: Option<ClientIdentity>,
}

/// What the service answered, whole.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// How a client connects.
#[derive(Debug, Clone)]
pub struct Settings {
    pub egress: Egress,
    /// Certificate authorities trusted besides the system's.
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// Names with fixed addresses, in lower case; they are not looked up, but checked like any other.
    pub hosts: BTreeMap<String, Vec<IpAddr>>,
    /// Looks up all other names.
    pub resolver: Arc<dyn Resolver>,
    pub connections_per_origin: usize,
    pub connections_total: usize,
    pub idle_timeout: Duration,
    /// For TCP per address, and for the TLS handshake.
    pub connect_timeout: Duration,
    /// The epoch of the region that calls, as it is when a call leaves; 0 without regions.
    pub region_epoch: Arc<AtomicU64>,
}

/// Makes calls over connections that it keeps. Cheap to clone; the clones share the connections.
#[derive(Clone)]
pub struct Client {
    dialer: Arc<Dialer>,
    pool: Arc<Pool>,
    region_epoch: Arc<AtomicU64>,
}

impl OutboundRequest {
    /// A call with the default limits.
    pub fn new(method: Method, url: Url) -> OutboundRequest {
        OutboundRequest {
            method,
            url,
            headers: HeaderMap::new(),
            body: None,
            deadline: limits::DEADLINE,
            answer_bytes_max: limits::ANSWER_BYTES_MAX,
            identity: None,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            egress: Egress::default(),
            extra_roots: Vec::new(),
            hosts: BTreeMap::new(),
            resolver: Arc::new(SystemResolver),
            connections_per_origin: limits::CONNECTIONS_PER_ORIGIN,
            connections_total: limits::CONNECTIONS_TOTAL,
            idle_timeout: limits::IDLE_TIMEOUT,
            connect_timeout: limits::CONNECT_TIMEOUT,
            region_epoch: Arc::default(),
        }
    }
}

impl Client {
    /// A client without connections. Must be called within a tokio runtime: a task closes idle connections until
    /// the last clone is dropped.
    pub fn new(settings: Settings) -> Client {
        let pool = Arc::new(Pool::new(&settings));
        tokio::spawn(pool::sweep_until_dropped(Arc::downgrade(&pool)));
        let region_epoch = settings.region_epoch.clone();
        Client { dialer: Arc::new(Dialer::new(settings)), pool, region_epoch }
    }

    /// Makes the call. Redirects are not followed and bodies not decompressed.
    ///
    /// Dropping the future closes the connection that the call was on: its outcome is then unknown.
    pub async fn send(&self, request: OutboundRequest) -> Result<ServiceResponse, Fault> {
        let deadline = Instant::now() + request.deadline;
        let answer_bytes_max = request.answer_bytes_max;
        let (origin, identity) = (&request.url.origin, &request.identity);
        if identity.is_some() && !origin.tls {
            return Err(Fault::Refused { reason: "a client certificate needs an https url".to_owned() });
        }
        let lane = self.pool.lane(origin, identity.as_ref());
        let lease = timeout_at(deadline, self.pool.lease(&lane)).await;
        let _lease = lease.map_err(|_| Fault::Timeout { sent: false })?;

        let mut message = message(request);
        mark_region(message.headers_mut(), self.region_epoch());
        loop {
            let mut live = match self.pool.take_idle(&lane) {
                Some(live) => live,
                // Boxed: few calls dial, and what that needs is larger than all the rest of a call.
                None => {
                    let dialed = timeout_at(deadline, Box::pin(self.dial(&lane))).await;
                    dialed.map_err(|_| Fault::Timeout { sent: false })??
                }
            };
            match exchange(&mut live, message, answer_bytes_max, deadline).await {
                Ok(answer) => {
                    self.pool.keep(&lane, live);
                    return Ok(answer);
                }
                Err(Broken::Fault(fault)) => return Err(fault),
                // A kept connection may have died unnoticed; it has provably taken nothing, so another is tried.
                Err(Broken::Untouched(returned)) if live.was_kept() => message = *returned,
                Err(Broken::Untouched(_)) => {
                    return Err(Fault::Unsent { reason: "the new connection closed at once".to_owned() });
                }
            }
        }
    }

    /// The epoch of the region as calls that leave now say it.
    pub(crate) fn region_epoch(&self) -> u64 {
        self.region_epoch.load(Ordering::Relaxed)
    }

    /// The connections that are open now, in use or idle.
    pub fn connections(&self) -> usize {
        self.pool.open_count()
    }

    async fn dial(&self, lane: &Lane) -> Result<Box<Live>, Fault> {
        let _turn = lane.dial_turn().await;
        // Another call may have ended meanwhile and left its connection.
        if let Some(live) = self.pool.take_idle(lane) {
            return Ok(live);
        }
        let slot = self.pool.open_slot();
        let wire = self.dialer.dial(lane).await?;
        Live::start(wire, slot).await
    }
}

async fn exchange(
    live: &mut Live,
    message: http::Request<Full<Bytes>>,
    answer_bytes_max: usize,
    deadline: Instant,
) -> Result<ServiceResponse, Broken> {
    match timeout_at(deadline, live.exchange(message, answer_bytes_max)).await {
        Ok(result) => result,
        Err(_) => Err(Broken::Fault(Fault::Timeout { sent: live.has_written() })),
    }
}

fn message(request: OutboundRequest) -> http::Request<Full<Bytes>> {
    let body = request.body.unwrap_or_default();
    let expects_body = matches!(request.method, Method::POST | Method::PUT | Method::PATCH);
    let no_length = body.is_empty() && expects_body;
    let mut message = http::Request::new(Full::new(body));
    *message.method_mut() = request.method;
    *message.uri_mut() = request.url.path_and_query.into();
    *message.headers_mut() = request.headers;
    let headers = message.headers_mut();
    remove_framing(headers);
    headers.insert(HOST, request.url.host_header);
    // hyper says nothing about an empty body, and some servers answer 411 to that.
    if no_length {
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    message
}
