//! Lists in a cluster: collected from all instances, and refused if they would be incomplete.

use axum::body::Body;
use axum::response::IntoResponse;
use bytes::Bytes;
use futures_util::future::join_all;
use http::{HeaderMap, Method, Response, StatusCode};
use http_body_util::BodyExt;
use types::PartitionId;

use crate::api::Cluster;
use crate::error::ApiError;
use crate::forward::buffered_request::{BufferedRequest, to_client};
use crate::forward::merge;
use crate::forward::partition_set::PartitionSet;
use crate::forward::peer_client::FORWARDED;
use crate::forward::scope::Merge;
use crate::router::Router;

impl Cluster {
    /// Whether another instance forwarded a request; that one merges the parts of a list.
    pub(crate) fn is_part(&self, headers: &HeaderMap) -> bool {
        !self.directory.is_alone() && headers.contains_key(FORWARDED)
    }
}

impl Cluster {
    /// The parts of a list that all other instances have, requested by this instance itself. All of them or none.
    pub(crate) async fn parts_of_other_instances(&self, uri: &str) -> Result<Vec<Bytes>, ApiError> {
        if self.directory.is_alone() {
            return Ok(Vec::new());
        }
        let uri = uri.parse().map_err(|error| ApiError::BadRequest(format!("{uri}: {error}")))?;
        let buffered = BufferedRequest::new(Method::GET, uri, HeaderMap::new(), Bytes::new());
        let mut covered = PartitionSet::now(&self.engine);
        let mut parts = Vec::new();
        let others = self.directory.others();
        for answer in join_all(others.iter().map(|member| self.send_own(member, &buffered))).await {
            let answer = answer.map_err(|error| ApiError::Unsure(error.to_string()))?;
            if answer.status() != StatusCode::OK {
                return Err(ApiError::Unsure(format!("another instance answered with {}", answer.status())));
            }
            covered.add(&PartitionSet::of(answer.headers()));
            parts.push(answer.into_body());
        }
        match covered.missing(self.partitions).first() {
            None => Ok(parts),
            Some(partition) => Err(ApiError::Unsure(format!("no instance owns partition {partition}"))),
        }
    }
}

/// The replies of all instances.
struct Parts {
    pages: Vec<Bytes>,
    /// The partitions that no reply covers.
    missing: Vec<PartitionId>,
}

impl Router {
    /// Answers with the whole list. It waits for a partition without an owner; then the list is refused rather than given
    /// without that part.
    pub(crate) async fn gather(
        &self,
        list: Merge,
        mut buffered: BufferedRequest,
    ) -> Result<Response<Body>, ApiError> {
        let mut part = buffered.clone();
        let me = self.api.cluster.me().0;
        let me = http::HeaderValue::try_from(me).unwrap_or_else(|_| http::HeaderValue::from_static("?"));
        part.headers.insert(FORWARDED, me);
        let mut missing = Vec::new();
        while buffered.look(&self.api.cluster.directory).await {
            let parts = match self.ask_parts(list, &part).await {
                Ok(parts) => parts,
                // A request that is wrong here is wrong everywhere.
                Err(response) => return Ok(*response),
            };
            if parts.missing.is_empty() || list.allows_missing_partitions() {
                return merge::pages(list, &buffered, &parts.pages, &parts.missing);
            }
            missing = parts.missing;
        }
        let names: Vec<_> = missing.iter().map(PartitionId::to_string).collect();
        Err(ApiError::Unsure(format!(
            "no instance owns partitions {}: the list would be incomplete",
            names.join(", ")
        )))
    }

    async fn ask_parts(&self, list: Merge, part: &BufferedRequest) -> Result<Parts, Box<Response<Body>>> {
        let before = PartitionSet::now(&self.api.cluster.engine);
        let others = self.api.cluster.directory.others();
        let asking = join_all(others.iter().map(|member| self.api.cluster.send_to(member, part)));
        let (here, others) = tokio::join!(self.answer_here(part.request()), asking);
        let mut covered = before.still(&PartitionSet::now(&self.api.cluster.engine));
        // An instance may not know a service that another one calls.
        let is_unknown = |status| list == Merge::Service && status == StatusCode::NOT_FOUND;
        let (mut pages, mut unknown) = (Vec::new(), None);
        match here.status() {
            StatusCode::OK => {
                let body = here.into_body().collect().await;
                pages.push(body.map(|body| body.to_bytes()).unwrap_or_default());
            }
            status if is_unknown(status) => unknown = Some(here),
            _ => return Err(Box::new(here)),
        }
        for answer in others {
            match answer {
                Ok(answer) if answer.status() == StatusCode::OK => {
                    covered.add(&PartitionSet::of(answer.headers()));
                    pages.push(answer.into_body());
                }
                Ok(answer) if is_unknown(answer.status()) => {
                    covered.add(&PartitionSet::of(answer.headers()));
                    unknown.get_or_insert_with(|| to_client(answer));
                }
                Ok(answer) if answer.status().is_client_error() => {
                    return Err(Box::new(to_client(answer)));
                }
                Ok(answer) => {
                    tracing::debug!(status = %answer.status(), "an instance did not return its part of a list")
                }
                Err(error) => tracing::debug!(%error, "requesting a part of a list failed"),
            }
        }
        if pages.is_empty()
            && let Some(unknown) = unknown
        {
            return Err(Box::new(unknown));
        }
        Ok(Parts { pages, missing: covered.missing(self.api.cluster.partitions) })
    }
}

/// A list as JSON.
pub(crate) fn json(value: &impl serde::Serialize) -> Response<Body> {
    axum::Json(value).into_response()
}
