//! Forwarding to the owner of a partition, with patience while it has none.

use axum::body::Body;
use cluster::{InstanceId, Member, PartitionLocation};
use http::{Method, Response};
use types::PartitionId;
use view::PartitionState;

use crate::api::Cluster;
use crate::auth::peer::{ON_BEHALF, PEER};
use crate::error::ApiError;
use crate::forward::buffered_request::{BufferedRequest, is_not_held, to_client};
use crate::forward::peer_client::PeerError;
use crate::forward::scope::ResolvedScope;

impl Cluster {
    /// Whether a request about a partition is answered here. One that is being released can still be read.
    pub(crate) fn is_here(&self, partition: PartitionId, method: &Method) -> bool {
        if partition == PartitionId::CONTROL {
            return self.control.owned().borrow().is_some();
        }
        let looks = matches!(*method, Method::GET | Method::HEAD);
        self.ids.partition_state(partition) != PartitionState::Elsewhere
            || looks && self.engine.holds(partition)
    }

    /// Forwards a request to the owner of a partition, if one is found in time. None when it is this instance.
    pub(crate) async fn forward(
        &self,
        buffered: &mut BufferedRequest,
        partition: PartitionId,
    ) -> Result<Option<Response<Body>>, ApiError> {
        while buffered.look(&self.directory).await {
            let member = match self.directory.location_of(partition) {
                PartitionLocation::Remote(member) => member,
                PartitionLocation::Local => return Ok(None),
                PartitionLocation::Unowned if self.is_here(partition, &buffered.method) => return Ok(None),
                PartitionLocation::Unowned => continue,
            };
            match self.send_to(&member, buffered).await {
                Ok(response) if is_not_held(&response) => {}
                Ok(response) => return Ok(Some(to_client(response))),
                Err(PeerError::Unknown(reason)) if !buffered.repeatable => {
                    tracing::warn!(instance = %member.id, reason, "a forwarded request got no reply");
                    return Err(ApiError::OutcomeUnknown { instance: member.id.to_string() });
                }
                Err(error) => {
                    tracing::debug!(instance = %member.id, %error, "forwarding a request again");
                }
            }
        }
        Err(ApiError::NotHeld { partition })
    }

    /// Sends a request to an instance once.
    pub(crate) async fn send_to(
        &self,
        to: &Member,
        buffered: &BufferedRequest,
    ) -> Result<Response<bytes::Bytes>, PeerError> {
        let mut request = buffered.outgoing(&self.me());
        // A request that this instance makes on behalf of an operator stays one.
        if self.inner.on_behalf(&buffered.headers).is_some() {
            for name in [PEER, ON_BEHALF] {
                request.headers_mut().extend(buffered.headers.get(&name).cloned().map(|value| (name, value)));
            }
        }
        self.peers.send(to, request, buffered.patience).await
    }

    /// Sends a request of this instance itself to an instance once.
    pub(crate) async fn send_own(
        &self,
        to: &Member,
        buffered: &BufferedRequest,
    ) -> Result<Response<bytes::Bytes>, PeerError> {
        let mut request = buffered.outgoing(&self.me());
        if let Some(peer) = &self.peer {
            request.headers_mut().insert(PEER, peer.header());
        }
        self.peers.send(to, request, buffered.patience).await
    }

    /// The name of this instance.
    pub(crate) fn me(&self) -> InstanceId {
        self.directory.me().cloned().unwrap_or_else(|| InstanceId("alone".to_owned()))
    }

    /// An instance answers what its roles are for. Probes are for every instance.
    pub(crate) fn check_roles(&self, scope: &ResolvedScope, is_probe: bool) -> Result<(), ApiError> {
        match scope {
            ResolvedScope::Ingest if !self.roles.ingest => Err(ApiError::WrongRole { role: "ingest" }),
            ResolvedScope::Ingest => Ok(()),
            _ if is_probe || self.roles.rest => Ok(()),
            _ => Err(ApiError::WrongRole { role: "rest" }),
        }
    }
}
