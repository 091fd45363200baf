//! A queue or stream of somebody else's broker as a source.

use std::sync::Arc;
use std::time::Duration;

use brokers::{Delivery, Origin, ReceiveError, Receiver};
use definition::Stream;
use engine::Entry;
use engine::queues::{Outgoing, QueueCommand, QueueError, partition_of};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use journal::Journal;
use kernel::queue::QueueRejection;
use tokio::sync::watch;
use words::{Message, Property, QueueName, QueueSpec, ServiceName};

use crate::Parts;
use crate::intake::{self, Verdict};

/// How long a source waits before it reaches for a broker again.
const PAUSE: Duration = Duration::from_secs(2);
/// Names of the properties that a parked message has besides its own.
const PARKED_BECAUSE: &str = "ParkedBecause";
const PARKED_FROM: &str = "ParkedFrom";

/// What a broker's messages are taken with.
pub(crate) struct Intake<J> {
    pub parts: Arc<Parts<J>>,
    pub entry: Entry,
    pub from: Stream,
    /// What the source is called, in logs and in ids.
    pub name: String,
    pub park: QueueName,
    pub concurrency: u32,
}

/// Takes messages until it is stopped, over a connection that is opened again whenever it breaks.
pub(crate) async fn take_all<J: Journal>(intake: &Intake<J>, mut stopped: watch::Receiver<bool>) {
    let mut warned = false;
    loop {
        let opened = tokio::select! {
            biased;
            _ = stopped.changed() => return,
            opened = intake.open() => opened,
        };
        let error = match opened {
            Ok(receiver) => {
                warned = false;
                match take_from(intake, receiver, &mut stopped).await {
                    None => return,
                    Some(error) => error,
                }
            }
            Err(error) => error,
        };
        if !std::mem::replace(&mut warned, true) {
            tracing::warn!(workflow = %intake.entry.definition.name(), source = intake.name, %error, "no messages are taken");
        }
        tokio::select! {
            biased;
            _ = stopped.changed() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

/// Takes messages from an open receiver; nothing when it was stopped, else why it broke.
async fn take_from<J: Journal>(
    intake: &Intake<J>,
    mut receiver: Receiver,
    stopped: &mut watch::Receiver<bool>,
) -> Option<ReceiveError> {
    let mut under_way = FuturesUnordered::new();
    let error = loop {
        let has_room = under_way.len() < intake.concurrency as usize;
        tokio::select! {
            biased;
            _ = stopped.changed() => break None,
            Some(()) = under_way.next(), if !under_way.is_empty() => {}
            delivery = receiver.next(), if has_room => match delivery {
                Ok(delivery) => under_way.push(take(intake, delivery)),
                Err(error) => break Some(error),
            },
        }
    };
    // What is under way still settles, before its connection goes with the receiver.
    while under_way.next().await.is_some() {}
    error
}

async fn take<J: Journal>(intake: &Intake<J>, delivery: Delivery) {
    let Intake { parts, entry, name, .. } = intake;
    let settled = match intake::take(&parts.ingest, entry, name, &delivery.message).await {
        Verdict::Started => {
            parts.metrics.count("started");
            delivery.accept().await
        }
        Verdict::Poison(reason) => match intake.park(&delivery.message, &reason).await {
            Ok(()) => {
                parts.metrics.count("parked");
                delivery.accept().await
            }
            Err(error) => {
                tracing::warn!(source = name, %error, "a message could not be parked; it comes again");
                tokio::time::sleep(PAUSE).await;
                delivery.release().await
            }
        },
        Verdict::Later(pause) => {
            parts.metrics.count("refused");
            // The broker would bring it again at once.
            tokio::time::sleep(pause).await;
            delivery.release().await
        }
    };
    if let Err(error) = settled {
        tracing::debug!(source = name, %error, "a message could not be settled; it comes again");
    }
}

impl<J: Journal> Intake<J> {
    /// Signs in with what the environment has now, so that a new secret is used without a restart of the source.
    async fn open(&self) -> Result<Receiver, ReceiveError> {
        let origin = self.origin().map_err(ReceiveError::Refused)?;
        self.parts.brokers.open(&origin, self.concurrency).await
    }

    fn origin(&self) -> Result<Origin, String> {
        let definition = &self.entry.definition;
        let place = |name: &ServiceName| {
            let service = definition.services().iter().find(|service| service.name == *name);
            let service = service.ok_or_else(|| format!("the workflow has no service '{name}'"))?;
            Ok::<_, String>((service.url.clone(), (self.parts.login)(service)?))
        };
        Ok(match &self.from {
            Stream::RabbitMq { service, queue } => {
                let (url, login) = place(service)?;
                Origin::RabbitMq { url, queue: queue.clone(), login }
            }
            Stream::Nats { service, stream, subject } => {
                let (url, login) = place(service)?;
                // JetStream allows no dots in the name of a consumer.
                let durable = format!("sortie-{}", definition.name()).replace('.', "_");
                Origin::Nats { url, stream: stream.clone(), subject: subject.clone(), durable, login }
            }
            Stream::Amqp { service, address } => {
                let (url, login) = place(service)?;
                Origin::Amqp { url, address: address.clone(), login }
            }
            Stream::Queue { .. } | Stream::Subscription { .. } => {
                unreachable!("built-in queues have a source of their own")
            }
        })
    }

    /// Keeps what can never become a run, with all its bytes, in a built-in queue.
    async fn park(&self, message: &Message, reason: &str) -> Result<(), QueueError> {
        let mut message = message.clone();
        message.properties.insert(PARKED_BECAUSE.to_owned(), Property::Text(reason.to_owned()));
        message.properties.insert(PARKED_FROM.to_owned(), Property::Text(self.name.clone()));
        // It waits for a person, however long that takes.
        (message.time_to_live, message.scheduled_at) = (None, None);
        let own_id = !message.id.is_empty();
        let partition = partition_of(&self.park, self.parts.partitions);
        let send = |message| QueueCommand::Send {
            to: self.park.clone(),
            messages: vec![Outgoing { message, own_id }],
        };
        match self.parts.engine.queue(partition, send(message.clone())).await {
            Err(QueueError::Rejected(QueueRejection::NotFound(_))) => {}
            sent => return sent.map(drop),
        }
        let put = QueueCommand::PutQueue { name: self.park.clone(), spec: QueueSpec::default() };
        self.parts.engine.queue(partition, put).await?;
        self.parts.engine.queue(partition, send(message)).await.map(drop)
    }
}
