//! Forwards what this instance does on its own to the owner of the partition: messages of actions, poison messages of
//! sources, and requests of jobs and sources.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cluster::Directory;
use engine::queues::{EntityKind, partition_of};
use http::{Request, Response, StatusCode, request};
use rest::{PeerClient, PeerError, PeerSecret};
use sources::{ForwardedRequest, Forwarding, OwnerError, PartitionOwners};
use types::{Message, PartitionId, QueueName};

/// How long another instance may take to make something durable.
const PATIENCE: Duration = Duration::from_secs(30);

/// The owners of partitions at other instances. Cheap to clone.
#[derive(Clone)]
pub struct RemoteOwners {
    pub directory: Directory,
    pub client: Arc<dyn PeerClient>,
    pub peer: PeerSecret,
    pub partitions: u16,
}

impl PartitionOwners for RemoteOwners {
    fn hand_in(&self, partition: PartitionId, request: ForwardedRequest) -> Forwarding<'_, String> {
        Box::pin(self.submit(partition, request))
    }

    fn park(&self, queue: QueueName, message: Message) -> Forwarding<'_, ()> {
        Box::pin(async move {
            let partition = partition_of(&queue, self.partitions);
            let message = journal::codec::encode(&message);
            let answer =
                self.post(partition, &queue, EntityKind::MadeQueue, message).await.map_err(unanswered)?;
            if answer.status().is_success() { Ok(()) } else { Err(OwnerError::Later(reason_of(&answer))) }
        })
    }
}

impl RemoteOwners {
    /// Sends a message, in the format of the journal, to the owner of a queue or topic.
    pub(crate) async fn post(
        &self,
        partition: PartitionId,
        to: &QueueName,
        kind: EntityKind,
        message: Bytes,
    ) -> Result<Response<Bytes>, PeerError> {
        let request = Request::post(format!("/{to}/messages"))
            .header(http::header::CONTENT_TYPE, rest::MESSAGE_TYPE)
            .header(rest::MESSAGE_KIND, rest::kind_word(kind));
        self.pass(partition, request, message).await
    }

    /// Sends a request to the owner of its partition. Returns the id of its run.
    async fn submit(&self, partition: PartitionId, request: ForwardedRequest) -> Result<String, OwnerError> {
        let ForwardedRequest { workflow, version, id, body } = request;
        let mut request = Request::post(format!("/v1/workflows/{workflow}/runs"))
            .header(http::header::CONTENT_TYPE, "application/json")
            .header(rest::WORKFLOW_VERSION, version);
        if let Some(id) = id {
            request = request.header(rest::IDEMPOTENCY_KEY, id.as_str());
        }
        let answer = self.pass(partition, request, body).await.map_err(unanswered)?;
        match answer.status() {
            StatusCode::OK | StatusCode::ACCEPTED => Ok(id_in(answer.body())),
            StatusCode::BAD_REQUEST | StatusCode::CONFLICT | StatusCode::PAYLOAD_TOO_LARGE => {
                Err(OwnerError::Refused(reason_of(&answer)))
            }
            _ => Err(OwnerError::Later(reason_of(&answer))),
        }
    }

    async fn pass(
        &self,
        partition: PartitionId,
        request: request::Builder,
        body: Bytes,
    ) -> Result<Response<Bytes>, PeerError> {
        let cluster::PartitionLocation::Remote(member) = self.directory.location_of(partition) else {
            return Err(PeerError::NotSent(format!("no instance owns partition {partition} at this moment")));
        };
        let me = self.directory.me().map(|me| me.0.as_str()).unwrap_or_default();
        let request = request
            .header(rest::FORWARDED, me)
            .header(rest::PEER, self.peer.header())
            .body(body)
            .map_err(|error| PeerError::NotSent(error.to_string()))?;
        self.client.send(&member, request, PATIENCE).await
    }
}

fn unanswered(error: PeerError) -> OwnerError {
    OwnerError::Later(error.to_string())
}

fn id_in(answer: &[u8]) -> String {
    let answer: serde_json::Value = serde_json::from_slice(answer).unwrap_or_default();
    answer["id"].as_str().unwrap_or_default().to_owned()
}

fn reason_of(answer: &Response<Bytes>) -> String {
    let problem = serde_json::from_slice::<api_types::Problem>(answer.body()).ok();
    problem.map_or_else(|| answer.status().to_string(), |problem| problem.detail)
}
