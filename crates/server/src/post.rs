//! Built-in queues and topics as actions reach them.

use std::sync::{Arc, OnceLock};

use effects::{Place, Post, PostError, Posting};
use engine::Engine;
use engine::queues::{Outgoing, QueueCommand, QueueError, partition_of};
use kernel::queue::QueueRejection;
use words::{Message, QueueName};

/// Brings messages of actions to the engine, which is there only when what carries out its orders is.
#[derive(Clone)]
pub(crate) struct Postman {
    engine: Arc<OnceLock<Engine>>,
    partitions: u16,
}

impl Post for Postman {
    fn post(&self, to: Place, message: Message) -> Posting<'_> {
        Box::pin(self.send(to, message))
    }
}

impl Postman {
    pub(crate) fn new(partitions: u16) -> Postman {
        Postman { engine: Arc::default(), partitions }
    }

    /// From now on messages go to this engine.
    pub(crate) fn reaches(&self, engine: Engine) {
        assert!(self.engine.set(engine).is_ok(), "a process has one engine");
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
        let messages = vec![Outgoing { message, own_id: true }];
        let sent = engine.queue(partition, QueueCommand::Send { to: name, messages }).await;
        sent.map(drop).map_err(sorted)
    }
}

fn sorted(error: QueueError) -> PostError {
    let reason = error.to_string();
    match error {
        // A queue that is not there may be made: nothing is lost by trying again.
        QueueError::Rejected(
            QueueRejection::NotFound(_) | QueueRejection::Full { .. } | QueueRejection::TooManyIds { .. },
        )
        | QueueError::NoRoom
        | QueueError::NotHeld { .. } => PostError::Later { reason, retry_after: None },
        QueueError::Rejected(_) => PostError::Refused(reason),
        // It may have become durable before the partition stopped.
        QueueError::Stopped { .. } => PostError::Unknown(reason),
    }
}
