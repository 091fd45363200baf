//! Accepting one request, here or at the owner of its partition.

use axum::body::Body;
use bytes::Bytes;
use cluster::PartitionLocation;
use engine::CatalogEntry;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use ingest::limits::BODY_BYTES_MAX;
use ingest::{Admitted, DurableRequest, IncomingRequest, Location, RemoteRequest, Sender, WorkflowVersion};
use types::{PartitionId, RunId};

use super::{IDEMPOTENCY_KEY, Submissions, incoming_request};
use crate::body::Payload;
use crate::error::ApiError;
use crate::forward::buffered_request::{BufferedRequest, is_not_held, to_client};

/// The version of the workflow that a forwarded request is for at least: the owner of its partition may not have heard
/// of it yet.
pub const VERSION: HeaderName = HeaderName::from_static("sortie-workflow-version");

/// A request that was accepted.
pub(crate) enum Acceptance {
    /// By this instance, with its body as it came.
    Local(DurableRequest, Bytes),
    /// By the owner of its partition, with its reply.
    Forwarded(Response<Body>),
}

/// The head that a request is forwarded with, if it has to be.
pub(crate) struct ForwardHead {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    /// Whether another instance has forwarded the request, which is not forwarded again.
    pub from_peer: bool,
}

/// The version of a workflow that requests are accepted for.
pub(super) fn workflow_version(entry: &CatalogEntry) -> WorkflowVersion<'_> {
    WorkflowVersion { definition: &entry.definition, version: entry.version }
}

impl Submissions {
    /// The workflow that a request is for. What another instance has forwarded is for one that it knows: if it is not
    /// known here, it will be in a moment.
    pub(crate) fn find_workflow(&self, name: &str, headers: &HeaderMap) -> Result<CatalogEntry, ApiError> {
        let unknown = |_| ApiError::NotHeld { partition: PartitionId::CONTROL };
        let entry = match self.version_needed(headers) {
            None => self.workflows.current(name)?,
            Some(_) => self.workflows.current(name).map_err(unknown)?,
        };
        self.check_version(&entry, headers)?;
        Ok(entry)
    }

    /// Refuses what another instance has forwarded for a version that this instance does not have yet.
    pub(crate) fn check_version(&self, entry: &CatalogEntry, headers: &HeaderMap) -> Result<(), ApiError> {
        match self.version_needed(headers) {
            Some(version) if entry.version < version => {
                Err(ApiError::NotHeld { partition: PartitionId::CONTROL })
            }
            _ => Ok(()),
        }
    }

    fn version_needed(&self, headers: &HeaderMap) -> Option<u32> {
        let version = headers.get(VERSION).filter(|_| self.cluster.is_part(headers))?;
        version.to_str().ok()?.parse().ok()
    }

    /// Accepts a request of a client.
    pub(crate) async fn accept(
        &self,
        entry: &CatalogEntry,
        path_id: Option<RunId>,
        request: Request<Payload>,
    ) -> Result<Acceptance, ApiError> {
        let mut incoming = incoming_request(request.headers(), path_id)?;
        let head = (!self.cluster.directory.is_alone()).then(|| ForwardHead {
            method: request.method().clone(),
            uri: request.uri().clone(),
            headers: request.headers().clone(),
            from_peer: self.cluster.is_part(request.headers()),
        });
        let (admitted, body) = self.read_body(request, BODY_BYTES_MAX).await?;
        incoming.body = body;
        self.accept_incoming(admitted, entry, incoming, head).await
    }

    /// Accepts a request here, or forwards it to the owner of its partition. Without a head it is not forwarded.
    pub(crate) async fn accept_incoming(
        &self,
        admitted: Admitted,
        entry: &CatalogEntry,
        incoming: IncomingRequest,
        head: Option<ForwardHead>,
    ) -> Result<Acceptance, ApiError> {
        let body = incoming.body.clone();
        match (self.ingest.locate(admitted, workflow_version(entry), incoming)?, head) {
            (Location::Here(located), _) => Ok(Acceptance::Local(self.ingest.submit(located).await?, body)),
            (Location::There(remote), Some(head)) if !head.from_peer => {
                self.forward_to_owner(admitted, entry, remote, head).await
            }
            (Location::There(remote), _) => Err(ApiError::NotHeld { partition: remote.partition }),
        }
    }

    /// Forwards a request to the owner of its partition. The partition may come here meanwhile.
    async fn forward_to_owner(
        &self,
        admitted: Admitted,
        entry: &CatalogEntry,
        mut remote: RemoteRequest,
        head: ForwardHead,
    ) -> Result<Acceptance, ApiError> {
        let body = remote.incoming.body.clone();
        let mut buffered = BufferedRequest::new(head.method, head.uri, head.headers, body.clone());
        buffered.headers.insert(VERSION, HeaderValue::from(entry.version));
        // It has an id, so that accepting it twice is accepting it once.
        buffered.repeatable = true;
        loop {
            if let Some(response) = self.offer_to_owner(&mut buffered, &mut remote).await? {
                return Ok(Acceptance::Forwarded(response));
            }
            match self.ingest.locate(admitted, workflow_version(entry), remote.incoming)? {
                Location::Here(located) => {
                    return Ok(Acceptance::Local(self.ingest.submit(located).await?, body));
                }
                Location::There(again) => remote = again,
            }
        }
    }

    /// The reply of the owner; none if the request must be located again.
    async fn offer_to_owner(
        &self,
        buffered: &mut BufferedRequest,
        remote: &mut RemoteRequest,
    ) -> Result<Option<Response<Body>>, ApiError> {
        let Some(id) = remote.generated_id.take() else {
            return self.cluster.forward(buffered, remote.partition).await;
        };
        let value = HeaderValue::try_from(id.as_str()).expect("an id is a header value");
        buffered.headers.insert(IDEMPOTENCY_KEY, value);
        if let Some(response) = self.send_once(buffered, remote.partition).await {
            return Ok(Some(response));
        }
        // No other request has this id: it is appended to the inbox from here, whatever became of it there.
        remote.incoming.header_id = Some(id);
        remote.incoming.sender = Sender::Internal;
        Ok(None)
    }

    /// One attempt to send a request with a generated id to the owner of its partition.
    async fn send_once(&self, buffered: &BufferedRequest, partition: PartitionId) -> Option<Response<Body>> {
        let PartitionLocation::Remote(member) = self.cluster.directory.location_of(partition) else {
            return None;
        };
        let answer = self.cluster.send_to(&member, buffered).await.ok()?;
        (!is_not_held(&answer)).then(|| to_client(answer))
    }
}
