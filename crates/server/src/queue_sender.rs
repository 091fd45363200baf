//! Sends messages of actions to built-in queues and topics.

use std::sync::{Arc, OnceLock};

use engine::Engine;
use engine::queues::{EntityKind, QueueCommand, QueueError, partition_of};
use http::StatusCode;
use kernel::queue::QueueRejection;
use outbound::{Post, PostError, PostTarget, Posting};
use rest::PeerError;
use types::{Message, QueueName};

use crate::remote_owners::RemoteOwners;

/// Sends messages of actions to the engine. The engine is set later: it is made with what carries out its calls.
#[derive(Clone)]
pub(crate) struct QueueSender {
    engine: Arc<OnceLock<Engine>>,
    remote_owners: Option<RemoteOwners>,
    partitions: u16,
}

impl Post for QueueSender {
    fn post(&self, to: PostTarget, message: Message) -> Posting<'_> {
        Box::pin(self.send(to, message))
    }
}

impl QueueSender {
    /// Messages for queues of other instances go to their owners.
    pub(crate) fn new(partitions: u16, remote_owners: Option<RemoteOwners>) -> QueueSender {
        QueueSender { engine: Arc::default(), remote_owners, partitions }
    }

    /// Messages go to this engine from here on.
    pub(crate) fn set_engine(&self, engine: Engine) {
        assert!(self.engine.set(engine).is_ok(), "a process has one engine");
    }

    async fn send(&self, to: PostTarget, mut message: Message) -> Result<(), PostError> {
        let (name, kind) = match to {
            PostTarget::Queue(name) => (name, EntityKind::Queue),
            PostTarget::Topic(name) => (name, EntityKind::Topic),
        };
        let to =
            QueueName::new(&name.to_lowercase()).map_err(|error| PostError::Refused(error.to_string()))?;
        let Some(engine) = self.engine.get() else {
            return Err(later("the engine has not started yet".to_owned()));
        };
        // As over HTTP, where header names are case-insensitive: a filter matches them either way.
        let properties = std::mem::take(&mut message.properties);
        message.properties =
            properties.into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect();
        let partition = partition_of(&to, self.partitions);
        let remote = self.remote_owners.as_ref().map(|owners| (owners, journal::codec::encode(&message)));
        let post = QueueCommand::Post { to: to.clone(), kind, message };
        match (engine.queue(partition, post).await, remote) {
            (Err(QueueError::NotHeld { .. }), Some((owners, message))) => {
                let answer = owners.post(partition, &to, kind, message).await.map_err(unsent)?;
                if answer.status().is_success() {
                    return Ok(());
                }
                Err(refused(answer.status(), answer.body()))
            }
            (sent, _) => sent.map(drop).map_err(sorted),
        }
    }
}

fn unsent(error: PeerError) -> PostError {
    match error {
        PeerError::NotSent(reason) => later(reason),
        PeerError::Unknown(reason) => PostError::Unknown(reason),
    }
}

/// The error for a refusal of another instance, the same as for one of the engine here. The action itself retries.
fn refused(status: StatusCode, body: &[u8]) -> PostError {
    let problem = serde_json::from_slice::<api_types::Problem>(body).ok();
    let (code, reason) =
        problem.map_or((String::new(), status.to_string()), |problem| (problem.code, problem.detail));
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
        // A missing queue may be created later, so the action retries.
        QueueError::Rejected(
            QueueRejection::NotFound(_) | QueueRejection::Full { .. } | QueueRejection::TooManyIds { .. },
        )
        | QueueError::NoRoom
        | QueueError::NoMemory
        | QueueError::NotHeld { .. } => later(reason),
        QueueError::Rejected(_) => PostError::Refused(reason),
        // It may have become durable before the partition stopped or was moved.
        QueueError::Stopped { .. } | QueueError::Unknown { .. } => PostError::Unknown(reason),
    }
}
