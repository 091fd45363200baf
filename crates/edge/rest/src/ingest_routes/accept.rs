//! Taking one request, here or where its partition is held.

use axum::body::Body;
use bytes::Bytes;
use cluster::PartitionLocation;
use engine::CatalogEntry;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use ingest::limits::BODY_BYTES_MAX;
use ingest::{Admitted, Elsewhere, Offer, SubmitError, Submitted};
use types::{PartitionId, RunId};

use super::{IDEMPOTENCY_KEY, Submissions, offer};
use crate::body::Payload;
use crate::error::ApiError;
use crate::forward::buffered_request::{BufferedRequest, is_not_held, to_client};

/// The version of the workflow that a request passed on is for at least: its holder may not have heard of it yet.
pub const VERSION: HeaderName = HeaderName::from_static("sortie-workflow-version");

/// Where a request was taken.
pub(crate) enum Accepted {
    /// With its body as it came.
    Here(Submitted, Bytes),
    There(Response<Body>),
}

/// How a request travels, when it has to.
pub(crate) struct Way {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    /// Whether it came from another instance and goes no further.
    pub ends: bool,
}

impl Submissions {
    /// The workflow that a request is for. What another instance has passed on is for one that it knows: when it is not
    /// known here, it will be in a moment.
    pub(crate) fn door_of(&self, name: &str, headers: &HeaderMap) -> Result<CatalogEntry, ApiError> {
        let unknown = |_| ApiError::NotHeld { partition: PartitionId::CONTROL };
        let entry = match self.version_needed(headers) {
            None => self.workflows.current(name)?,
            Some(_) => self.workflows.current(name).map_err(unknown)?,
        };
        self.check_version(&entry, headers)?;
        Ok(entry)
    }

    /// Refuses what another instance has passed on for a version that this instance does not have yet.
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

    /// Takes a request of a client.
    pub(crate) async fn accept(
        &self,
        entry: &CatalogEntry,
        path_id: Option<RunId>,
        request: Request<Payload>,
    ) -> Result<Accepted, ApiError> {
        let mut offer = offer(request.headers(), path_id)?;
        let way = (!self.cluster.directory.is_alone()).then(|| Way {
            method: request.method().clone(),
            uri: request.uri().clone(),
            headers: request.headers().clone(),
            ends: self.cluster.is_part(request.headers()),
        });
        let (admitted, body) = self.read_body(request, BODY_BYTES_MAX).await?;
        offer.body = body;
        self.take_anywhere(admitted, entry, offer, way).await
    }

    /// Takes a request here, or hands it to the instance that holds its partition.
    pub(crate) async fn take_anywhere(
        &self,
        admitted: Admitted,
        entry: &CatalogEntry,
        mut offer: Offer,
        way: Option<Way>,
    ) -> Result<Accepted, ApiError> {
        let body = offer.body.clone();
        let Some(way) = way else {
            return Ok(Accepted::Here(self.take(admitted, entry, offer).await?, body));
        };
        let ends = way.ends;
        let mut buffered = BufferedRequest::new(way.method, way.uri, way.headers, body.clone());
        buffered.headers.insert(VERSION, HeaderValue::from(entry.version));
        // It has an id, so that taking it twice is taking it once.
        buffered.repeatable = true;
        loop {
            let (partition, fresh) = match self.take(admitted, entry, offer.clone()).await {
                Err(ApiError::Submit(SubmitError::Elsewhere { partition, fresh })) if !ends => {
                    (partition, fresh)
                }
                taken => return Ok(Accepted::Here(taken?, body)),
            };
            let Some(id) = fresh else {
                match self.cluster.forward(&mut buffered, partition).await? {
                    Some(response) => return Ok(Accepted::There(response)),
                    None => continue,
                }
            };
            let value = HeaderValue::try_from(id.as_str()).expect("an id is a header value");
            buffered.headers.insert(IDEMPOTENCY_KEY, value);
            if let Some(response) = self.offer_to_holder(&buffered, partition).await {
                return Ok(Accepted::There(response));
            }
            // Nobody else has this id: it is written to the inbox from here, whatever became of it there.
            offer = Offer { header_id: Some(id), elsewhere: Elsewhere::Append, ..offer };
        }
    }

    /// One try to hand a request with an id that was made here to the holder of its partition.
    async fn offer_to_holder(
        &self,
        buffered: &BufferedRequest,
        partition: PartitionId,
    ) -> Option<Response<Body>> {
        let PartitionLocation::Remote(member) = self.cluster.directory.location_of(partition) else {
            return None;
        };
        let answer = self.cluster.send_to(&member, buffered).await.ok()?;
        (!is_not_held(&answer)).then(|| to_client(answer))
    }
}
