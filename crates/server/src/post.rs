//! Built-in queues and topics as actions reach them.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use cluster::Directory;
use effects::{Place, Post, PostError, Posting};
use engine::Engine;
use engine::queues::{Outgoing, QueueCommand, QueueError, partition_of};
use http::{Request, StatusCode};
use kernel::queue::QueueRejection;
use rest::{PassError, Passage, PeerSecret};
use words::{Message, PartitionId, QueueName};

/// How long another instance may take to make a message durable.
const PATIENCE: Duration = Duration::from_secs(30);

/// Brings messages of actions to the engine, which is there only when what carries out its orders is.
#[derive(Clone)]
pub(crate) struct Postman {
    engine: Arc<OnceLock<Engine>>,
    others: Arc<OnceLock<Others>>,
    partitions: u16,
}

/// The way to queues that other instances hold.
pub(crate) struct Others {
    pub directory: Directory,
    pub passage: Arc<dyn Passage>,
    pub peer: PeerSecret,
}

impl Post for Postman {
    fn post(&self, to: Place, message: Message) -> Posting<'_> {
        Box::pin(self.send(to, message))
    }
}

impl Postman {
    pub(crate) fn new(partitions: u16) -> Postman {
        Postman { engine: Arc::default(), others: Arc::default(), partitions }
    }

    /// From now on messages go to this engine, and for queues that it does not hold to who holds them.
    pub(crate) fn reaches(&self, engine: Engine, others: Option<Others>) {
        assert!(self.engine.set(engine).is_ok(), "a process has one engine");
        if let Some(others) = others {
            assert!(self.others.set(others).is_ok(), "a process joins the others once");
        }
    }

    async fn send(&self, to: Place, mut message: Message) -> Result<(), PostError> {
        let (Place::Queue(name) | Place::Topic(name)) = to;
        let name =
            QueueName::new(&name.to_lowercase()).map_err(|error| PostError::Refused(error.to_string()))?;
        let Some(engine) = self.engine.get() else {
            return Err(PostError::Later {
                reason: "the queues are not there yet".to_owned(),
                retry_after: None,
            });
        };
        // As over HTTP, where names of headers have no case: a filter finds them whichever way they came.
        let properties = std::mem::take(&mut message.properties);
        message.properties =
            properties.into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect();
        let partition = partition_of(&name, self.partitions);
        let others = self.others.get().map(|others| (others, journal::codec::encode(&message)));
        let messages = vec![Outgoing { message, own_id: true }];
        let sent = engine.queue(partition, QueueCommand::Send { to: name.clone(), messages }).await;
        match (sent, others) {
            (Err(QueueError::NotHeld { .. }), Some((others, message))) => {
                others.send(partition, &name, message).await
            }
            (sent, _) => sent.map(drop).map_err(sorted),
        }
    }
}

impl Others {
    /// Hands a message to the instance that holds a queue. What does not succeed is tried again by the action itself.
    async fn send(&self, partition: PartitionId, to: &QueueName, message: Bytes) -> Result<(), PostError> {
        let cluster::Place::There(member) = self.directory.place_of(partition) else {
            return Err(later(format!("nobody holds partition {partition} at this moment")));
        };
        let me = self.directory.me().map(|me| me.0.as_str()).unwrap_or_default();
        let request = Request::post(format!("/{to}/messages"))
            .header(rest::FORWARDED, me)
            .header(rest::PEER, self.peer.header())
            .header(http::header::CONTENT_TYPE, rest::MESSAGE_TYPE)
            .body(message)
            .map_err(|error| PostError::Refused(error.to_string()))?;
        let answer = match self.passage.pass(&member, request, PATIENCE).await {
            Ok(answer) => answer,
            Err(error @ PassError::NotSent(_)) => return Err(later(error.to_string())),
            Err(error @ PassError::Unknown(_)) => return Err(PostError::Unknown(error.to_string())),
        };
        if answer.status().is_success() {
            return Ok(());
        }
        Err(refused(answer.status(), answer.body()))
    }
}

/// The refusal of another instance, sorted as one of the engine here.
fn refused(status: StatusCode, body: &[u8]) -> PostError {
    let problem = serde_json::from_slice::<wire::Problem>(body).ok();
    let (code, reason) = problem.map_or((String::new(), status.to_string()), |said| (said.code, said.detail));
    match code.as_str() {
        "unknown_queue" | "queue_full" | "disk_full" | "memory_full" | "not_held" => later(reason),
        _ if status.is_client_error() => PostError::Refused(reason),
        _ => PostError::Unknown(reason),
    }
}

fn later(reason: String) -> PostError {
    PostError::Later { reason, retry_after: None }
}

fn sorted(error: QueueError) -> PostError {
    let reason = error.to_string();
    match error {
        // A queue that is not there may be made: nothing is lost by trying again.
        QueueError::Rejected(
            QueueRejection::NotFound(_) | QueueRejection::Full { .. } | QueueRejection::TooManyIds { .. },
        )
        | QueueError::NoRoom
        | QueueError::NoMemory
        | QueueError::NotHeld { .. } => PostError::Later { reason, retry_after: None },
        QueueError::Rejected(_) => PostError::Refused(reason),
        // It may have become durable before the partition stopped.
        QueueError::Stopped { .. } => PostError::Unknown(reason),
    }
}
