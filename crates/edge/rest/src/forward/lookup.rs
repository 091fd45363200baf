//! Runs by their ids in a cluster: the owner of the partition of the id first, then all others.

use axum::body::Body;
use cluster::{Member, PartitionLocation};
use futures_util::future::join_all;
use http::{Response, StatusCode};
use types::RunId;

use crate::error::ApiError;
use crate::forward::buffered_request::{BufferedRequest, is_not_held, to_client};
use crate::forward::partition_set::PartitionSet;
use crate::forward::peer_client::PeerError;
use crate::forward::scope::likeliest;
use crate::router::Router;

/// What one instance replied about a run.
enum RunReply {
    /// It knows the run; this is its answer.
    Known(Response<Body>),
    /// It has no such run in the partitions that its reply covers.
    Missing(Response<Body>, PartitionSet),
    /// It does not know: a partition that may have the run is stopped.
    Failed(Response<Body>),
    /// It did not reply, and did nothing.
    NoReply,
    /// It did not reply, and may have done what was requested.
    OutcomeUnknown(Member),
}

/// The result of asking all instances once.
enum LookupRound {
    Answered(Response<Body>),
    /// No reply covers some partition.
    Unsure,
}

impl Router {
    /// Answers a request about a run by its owner. Not found is answered only when every partition was asked.
    pub(crate) async fn look_up(
        &self,
        id: &RunId,
        mut buffered: BufferedRequest,
    ) -> Result<Response<Body>, ApiError> {
        while buffered.look(&self.api.cluster.directory).await {
            if let LookupRound::Answered(response) = self.ask_all(id, &buffered).await? {
                return Ok(response);
            }
        }
        Err(ApiError::Unsure(format!(
            "run {id} was not found, and some partitions have no owner: it may be there"
        )))
    }

    async fn ask_all(&self, id: &RunId, buffered: &BufferedRequest) -> Result<LookupRound, ApiError> {
        let directory = &self.api.cluster.directory;
        let first = match directory.location_of(likeliest(id, self.api.cluster.partitions)) {
            PartitionLocation::Remote(member) if self.api.cluster.ids.find(id).is_none() => Some(member),
            _ => None,
        };
        let asked = first.as_ref().map(|member| member.id.clone());
        let reply = match first {
            Some(member) => self.ask(member, buffered).await,
            None => self.ask_here(buffered).await,
        };
        if let RunReply::Known(response) = reply {
            return Ok(LookupRound::Answered(response));
        }
        let others = directory.others().into_iter().filter(|member| Some(&member.id) != asked.as_ref());
        let others = join_all(others.map(|member| self.ask(member, buffered)));
        let mut all = vec![reply];
        if asked.is_some() {
            let (others, here) = tokio::join!(others, self.ask_here(buffered));
            all.extend(others.into_iter().chain([here]));
        } else {
            all.extend(others.await);
        }
        self.conclude(all)
    }

    /// The result of all replies together.
    fn conclude(&self, all: Vec<RunReply>) -> Result<LookupRound, ApiError> {
        let mut covered = PartitionSet::default();
        let (mut missing, mut failed, mut unknown) = (None, None, None);
        for reply in all {
            match reply {
                RunReply::Known(response) => return Ok(LookupRound::Answered(response)),
                RunReply::Missing(response, holds) => {
                    covered.add(&holds);
                    missing = Some(response);
                }
                RunReply::Failed(response) => failed = Some(response),
                RunReply::OutcomeUnknown(member) => unknown = Some(member),
                RunReply::NoReply => {}
            }
        }
        if let Some(member) = unknown {
            return Err(ApiError::OutcomeUnknown { instance: member.id.to_string() });
        }
        let complete = covered.missing(self.api.cluster.partitions).is_empty();
        Ok(failed.or(missing.filter(|_| complete)).map_or(LookupRound::Unsure, LookupRound::Answered))
    }

    async fn ask(&self, member: Member, buffered: &BufferedRequest) -> RunReply {
        match self.api.cluster.send_to(&member, buffered).await {
            Ok(response) if is_not_held(&response) => RunReply::NoReply,
            Ok(response) if response.status() == StatusCode::NOT_FOUND => {
                let holds = PartitionSet::of(response.headers());
                RunReply::Missing(to_client(response), holds)
            }
            Ok(response) if response.status().is_server_error() => RunReply::Failed(to_client(response)),
            Ok(response) => RunReply::Known(to_client(response)),
            Err(PeerError::Unknown(_)) if !buffered.repeatable => RunReply::OutcomeUnknown(member),
            Err(error) => {
                tracing::debug!(instance = %member.id, %error, "asking an instance for a run failed");
                RunReply::NoReply
            }
        }
    }

    async fn ask_here(&self, buffered: &BufferedRequest) -> RunReply {
        let before = PartitionSet::now(&self.api.cluster.engine);
        let response = self.answer_here(buffered.request()).await;
        match response.status() {
            _ if is_not_held(&response) => RunReply::NoReply,
            StatusCode::NOT_FOUND => {
                RunReply::Missing(response, before.still(&PartitionSet::now(&self.api.cluster.engine)))
            }
            status if status.is_server_error() => RunReply::Failed(response),
            _ => RunReply::Known(response),
        }
    }
}
