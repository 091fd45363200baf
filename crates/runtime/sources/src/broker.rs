//! A queue or stream of an external broker as a source.

use std::sync::Arc;
use std::time::Duration;

use action::BrokerOrigin;
use brokers::{Delivery, Endpoint, MessageSource, ReceiveError, Receiver};
use engine::CatalogEntry;
use engine::queues::{EntityKind, QueueCommand, QueueError, partition_of};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::watch;
use types::{Message, Property, QueueName, ServiceName, WorkflowName};

use crate::SourceParts;
use crate::holders::OwnerError;
use crate::intake::{self, IntakeResult, hash};

/// How long a source waits before it reaches for a broker again.
const PAUSE: Duration = Duration::from_secs(2);
/// Names of the properties that a parked message has besides its own.
const PARKED_BECAUSE: &str = "ParkedBecause";
const PARKED_FROM: &str = "ParkedFrom";
const PARKED_ID: &str = "ParkedId";
const PARKED_PART: &str = "ParkedPart";
/// Properties of the message's own that are parked with it, and characters of each: with what is added they fit
/// beside a part into the 320 KiB and the 64 properties of a message.
const PROPERTIES_KEPT_MAX: usize = 56;
const TEXT_CHARS_MAX: usize = 200;
/// Characters of what Sortie notes about it.
const NOTE_CHARS_MAX: usize = 1000;
/// Bytes of a body that one parked message has.
const PART_BYTES_MAX: usize = 128 << 10;

/// What a broker's messages are taken with.
pub(crate) struct Intake {
    pub parts: Arc<SourceParts>,
    pub entry: CatalogEntry,
    pub service: ServiceName,
    pub from: BrokerOrigin,
    /// What the source is called, in logs and in ids.
    pub name: String,
    pub park: QueueName,
    pub concurrency: u32,
}

/// Why a message is not known to be parked. It comes again, and is parked under the same id.
#[derive(Debug, thiserror::Error)]
enum ParkError {
    #[error(transparent)]
    Here(#[from] QueueError),
    #[error(transparent)]
    There(#[from] OwnerError),
}

/// Takes messages until it is stopped, over a connection that is opened again whenever it breaks.
pub(crate) async fn take_all(intake: &Intake, mut stopped: watch::Receiver<bool>) {
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
            tracing::warn!(workflow = %intake.entry.definition.name(), source = intake.name, %error, "receiving messages failed; retrying");
        }
        tokio::select! {
            biased;
            _ = stopped.changed() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

/// Takes messages from an open receiver; nothing when it was stopped, else why it broke.
async fn take_from(
    intake: &Intake,
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
    // What is in flight still settles, before its connection goes with the receiver.
    while under_way.next().await.is_some() {}
    error
}

async fn take(intake: &Intake, delivery: Delivery) {
    let Intake { parts, entry, name, .. } = intake;
    let message = &delivery.message;
    // Without an id a second delivery cannot be distinguished from a second message.
    let id = (!message.id.is_empty()).then(|| intake::run_id(entry, name, message, ""));
    let settled = match intake::take(parts, entry, id, message).await {
        IntakeResult::Started => {
            parts.metrics.count("started");
            delivery.accept().await
        }
        IntakeResult::Poison(reason) => match intake.park(&delivery.message, &reason).await {
            Ok(()) => {
                parts.metrics.count("parked");
                delivery.accept().await
            }
            Err(error) => {
                tracing::warn!(source = name, %error, "parking a message failed; the broker will deliver it again");
                tokio::time::sleep(PAUSE).await;
                delivery.release().await
            }
        },
        IntakeResult::Later(pause) => {
            parts.metrics.count("refused");
            // The broker would bring it again at once.
            tokio::time::sleep(pause).await;
            delivery.release().await
        }
    };
    if let Err(error) = settled {
        tracing::debug!(source = name, %error, "settling a message failed; the broker will deliver it again");
    }
}

impl Intake {
    /// Signs in with what the environment has now, so that a new secret is used without a restart of the source.
    async fn open(&self) -> Result<Receiver, ReceiveError> {
        let source = self.source().map_err(ReceiveError::Refused)?;
        self.parts.brokers.open(&source, self.concurrency).await
    }

    fn source(&self) -> Result<MessageSource, String> {
        let definition = &self.entry.definition;
        let name = &self.service;
        let service = definition.services().iter().find(|service| service.name == *name);
        let service = service.ok_or_else(|| format!("the workflow has no service '{name}'"))?;
        let endpoint = Endpoint::new(service.url.clone(), (self.parts.login)(service)?);
        Ok(endpoint.source(self.from.clone(), consumer_name(definition.name(), &self.from)))
    }

    /// Keeps what can never become a run, with all its bytes, in a built-in queue: in parts, when it is larger than a
    /// message may be.
    async fn park(&self, message: &Message, reason: &str) -> Result<(), ParkError> {
        let hash = hash(&[self.name.as_bytes(), message.id.as_bytes(), &message.body]);
        let parts = message.body.len().div_ceil(PART_BYTES_MAX).max(1);
        for part in 0..parts {
            let begin = part * PART_BYTES_MAX;
            let end = message.body.len().min(begin + PART_BYTES_MAX);
            // Not its own id: two that share one are two, and both are kept.
            let mut parked = Message::new(format!("{hash:032x}-{part}"), message.body.slice(begin..end));
            parked.content_type = message.content_type.as_deref().map(cut);
            parked.session = Some(format!("{hash:032x}"));
            for (name, value) in message.properties.iter().take(PROPERTIES_KEPT_MAX) {
                parked.properties.insert(cut(name), Property::Text(cut(&value.to_string())));
            }
            let mut note = |name: &str, text: &str| {
                let text = text.chars().take(NOTE_CHARS_MAX).collect();
                parked.properties.insert(name.to_owned(), Property::Text(text));
            };
            note(PARKED_BECAUSE, reason);
            note(PARKED_FROM, &self.name);
            note(PARKED_ID, &message.id);
            if parts > 1 {
                note(PARKED_PART, &format!("{} of {parts}", part + 1));
            }
            self.send(parked).await?;
        }
        Ok(())
    }

    /// Sends to the queue that keeps poison, here or where it is held. A topic is refused: it may have nobody who takes
    /// the message.
    async fn send(&self, message: Message) -> Result<(), ParkError> {
        let SourceParts { engine, holders, partitions, .. } = &*self.parts;
        let (to, kind) = (self.park.clone(), EntityKind::MadeQueue);
        let post = QueueCommand::Post { to: to.clone(), kind, message: message.clone() };
        match (engine.queue(partition_of(&to, *partitions), post).await, holders) {
            (Err(QueueError::NotHeld { .. }), Some(holders)) => Ok(holders.park(to, message).await?),
            (sent, _) => Ok(sent.map(drop)?),
        }
    }
}

/// The name under which a broker remembers what a source has settled: one for each workflow and origin.
fn consumer_name(workflow: &WorkflowName, origin: &BrokerOrigin) -> String {
    let mut parts = vec![workflow.as_str().as_bytes()];
    parts.extend(origin.identity().into_iter().map(str::as_bytes));
    // JetStream allows no dots in it.
    format!("sortie-{}-{:08x}", workflow.as_str().replace('.', "_"), hash(&parts) as u32)
}

/// The beginning of a text from outside.
fn cut(text: &str) -> String {
    text.chars().take(TEXT_CHARS_MAX).collect()
}
