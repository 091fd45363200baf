//! The client for other instances: HTTP over connections that are kept open.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cluster::{Directory, Member, Roles};
use http::uri::{Authority, Scheme};
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rest::{NoPeers, PeerClient, PeerError, PeerReply, PeerSecret};

use crate::remote_owners::RemoteOwners;

/// How long a live instance may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long an idle connection is kept: less than the server keeps it, or requests would be sent while it closes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Idle connections to one instance.
const IDLE_MAX: usize = 64;

/// Bytes of a response: lists of jobs and exports are the largest.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// The other instances, and the client to reach them with.
pub struct Peers {
    pub directory: Directory,
    pub client: Arc<dyn PeerClient>,
    /// The secret that instances authenticate to each other with.
    pub peer: Option<PeerSecret>,
    /// What this instance does for clients.
    pub roles: Roles,
}

impl Peers {
    /// For a single server.
    pub fn none() -> Peers {
        Peers { directory: Directory::alone(), client: Arc::new(NoPeers), peer: None, roles: Roles::ALL }
    }

    /// The instances in a directory, reached over HTTP.
    pub fn over_http(directory: Directory, peer: PeerSecret, roles: Roles) -> Peers {
        Peers { directory, client: Arc::new(HttpPeerClient::new()), peer: Some(peer), roles }
    }

    /// The owners of partitions among them; none for a single server.
    pub fn remote_owners(&self, partitions: u16) -> Option<RemoteOwners> {
        let (directory, client) = (self.directory.clone(), self.client.clone());
        self.peer.clone().map(|peer| RemoteOwners { directory, client, peer, partitions })
    }
}

/// Sends requests to other instances over HTTP.
pub struct HttpPeerClient {
    client: Client<HttpConnector, Full<Bytes>>,
}

impl HttpPeerClient {
    pub fn new() -> HttpPeerClient {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.set_keepalive(Some(IDLE_TIMEOUT));
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(IDLE_MAX)
            .build(connector);
        HttpPeerClient { client }
    }

    async fn send_to(
        &self,
        uri: Result<Uri, String>,
        request: Request<Bytes>,
        patience: Duration,
    ) -> Result<Response<Bytes>, PeerError> {
        let mut request = request.map(Full::new);
        *request.uri_mut() = uri.map_err(PeerError::NotSent)?;
        let answered = async {
            let answer = self.client.request(request).await.map_err(|error| {
                let reason = explain(&error);
                // Without a connection nothing was sent.
                if error.is_connect() { PeerError::NotSent(reason) } else { PeerError::Unknown(reason) }
            })?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let body =
                body.map_err(|error| PeerError::Unknown(format!("the response ended early: {error}")))?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        let late = |_| PeerError::Unknown(format!("no response within {} s", patience.as_secs()));
        tokio::time::timeout(patience, answered).await.map_err(late)?
    }
}

impl Default for HttpPeerClient {
    fn default() -> HttpPeerClient {
        HttpPeerClient::new()
    }
}

impl PeerClient for HttpPeerClient {
    fn send(&self, to: &Member, request: Request<Bytes>, patience: Duration) -> PeerReply<'_> {
        let uri = at(&to.address, request.uri());
        Box::pin(self.send_to(uri, request, patience))
    }
}

/// The address of a request at another instance.
fn at(address: &str, uri: &Uri) -> Result<Uri, String> {
    let bad = |error: &dyn std::fmt::Display| format!("the address {address:?} cannot be used: {error}");
    let authority = address.strip_prefix("http://").unwrap_or(address).trim_end_matches('/');
    let authority: Authority = authority.parse().map_err(|error| bad(&error))?;
    let mut parts = uri.clone().into_parts();
    (parts.scheme, parts.authority) = (Some(Scheme::HTTP), Some(authority));
    if parts.path_and_query.is_none() {
        parts.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
    }
    Uri::from_parts(parts).map_err(|error| bad(&error))
}

/// What went wrong, with its causes.
fn explain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_keeps_its_path_and_query_at_another_address() {
        let uri: Uri = "/v1/runs?limit=5&cursor=e.00".parse().unwrap();
        let there = at("http://10.0.0.5:7070", &uri).unwrap();
        assert_eq!(there, "http://10.0.0.5:7070/v1/runs?limit=5&cursor=e.00");
        assert!(at("http://not an address", &uri).is_err());
    }

    #[tokio::test]
    async fn a_request_to_an_instance_that_is_gone_is_not_sent() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let member = Member {
            id: cluster::InstanceId("gone".to_owned()),
            address,
            roles: cluster::Roles::ALL,
            ordinal: None,
            version: None,
        };
        let request = Request::builder().uri("/livez").body(Bytes::new()).unwrap();
        let passed = HttpPeerClient::new().send(&member, request, Duration::from_secs(30)).await;
        assert!(matches!(passed, Err(PeerError::NotSent(_))), "{passed:?}");
    }
}
