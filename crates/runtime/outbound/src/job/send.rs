//! The actions that send a message: open its secrets, send, and put what came into words.

use std::sync::Arc;
use std::time::Duration;

use action::{BrokerDestination, Destination};
use brokers::{Endpoint, Login};
use schedule::ActionTarget as Stored;
use schedule::action::{
    BrokeredProperties, BusMessage, Content, DeclaredMessage, QueueMessage, StoredEndpoint,
};
use schedule::spelling::{Envelope, TransportType};
use serde_json::json;
use types::{Message, Outcome, Property};
use vault::{Secret, UnsealError, Vault};

use crate::job::action::MessageAction;
use crate::job::turn::Turns;
use crate::job::{JobCall, JobSettings, failed, message};
use crate::post::PostTarget;
use crate::send::{BusEntity, Facts, SendResult, SendTarget, Sender, StorageQueue, default_id};
use crate::sort::Sorted;

/// Carries out actions that send messages.
pub(super) struct MessageCaller {
    sender: Sender,
    vault: Arc<Vault>,
    turns: Turns,
    timeout: Duration,
}

/// Why a message could not leave.
#[derive(Debug, thiserror::Error)]
#[error("{member} cannot be unsealed: {source}")]
struct Sealed {
    member: &'static str,
    source: UnsealError,
}

impl MessageCaller {
    pub(super) fn new(sender: Sender, vault: Arc<Vault>, settings: &JobSettings) -> MessageCaller {
        let turns = Turns::new(settings.calls_per_origin);
        MessageCaller { sender, vault, turns, timeout: settings.timeout }
    }

    /// `None` when the message was stopped before it left.
    pub(super) async fn call(&self, action: MessageAction, call: &JobCall<'_>) -> Option<Outcome> {
        let kind = action.kind;
        let (target, message) = match self.prepare(action.target, call) {
            Ok(prepared) => prepared,
            Err(error) => return Some(failed(format!("{kind} Action - Message not sent: {error}"))),
        };
        let _turn = tokio::select! {
            // The turn first: a message that may go when it is stopped is as good as on its way.
            biased;
            turn = self.turns.take(target.origin()) => turn,
            () = call.stop.raised() => return None,
        };
        let told = format!("{kind} Action - Message '{}' to {}", message.id, target.place());
        let SendResult { sorted, .. } = self.sender.send(&target, message, self.timeout).await;
        Some(outcome(&told, sorted))
    }

    fn prepare(&self, target: Stored, call: &JobCall<'_>) -> Result<(SendTarget, Message), Sealed> {
        Ok(match target {
            Stored::QueueMessage(queue) => {
                let message = Message::new(default_id(call.idempotency_key), queue.message.clone());
                (SendTarget::Storage(self.storage(queue, call)?), message)
            }
            Stored::ServiceBusQueueMessage(queue) => self.bus(queue.queue_name, queue.message, call)?,
            Stored::ServiceBusTopicMessage(topic) => self.bus(topic.topic_path, topic.message, call)?,
            Stored::Message(message) => self.declared(message, call)?,
            Stored::Request(_) | Stored::Workflow(_) => unreachable!("no message is sent by these"),
        })
    }

    /// A message for a destination that `action` declares.
    fn declared(&self, stored: DeclaredMessage, call: &JobCall<'_>) -> Result<(SendTarget, Message), Sealed> {
        let DeclaredMessage { to, endpoint, content } = stored;
        let target = match (to, endpoint) {
            (Destination::Queue { queue }, _) => SendTarget::BuiltIn(PostTarget::Queue(queue)),
            (Destination::Topic { topic }, _) => SendTarget::BuiltIn(PostTarget::Topic(topic)),
            (Destination::Broker(to), Some(endpoint)) => {
                SendTarget::Broker(self.endpoint(endpoint)?.target(to))
            }
            (to, _) => unreachable!("a job spells {} in a document of its own", to.destination_type().name()),
        };
        Ok((target, from_content(content, call)))
    }

    fn storage(&self, queue: QueueMessage, call: &JobCall<'_>) -> Result<StorageQueue, Sealed> {
        let facts = Facts {
            execution_tag: call.execution_tag.to_owned(),
            expected_at: call.expected_at,
            job: call.job.to_owned(),
            collection: call.collection.to_owned(),
            region: call.region.to_owned(),
        };
        Ok(StorageQueue {
            account: StorageQueue::account_url(&queue.storage_account),
            sas: Some(self.open(queue.sas_token.expose(), "the SAS token")?),
            queue: queue.queue_name,
            envelope: (queue.envelope != Some(Envelope::None)).then_some(facts),
        })
    }

    fn bus(
        &self,
        entity: String,
        bus: BusMessage,
        call: &JobCall<'_>,
    ) -> Result<(SendTarget, Message), Sealed> {
        let key = match bus.authentication {
            None => None,
            Some(how) => Some((how.sas_key_name, self.open(how.sas_key.expose(), "the SAS key")?)),
        };
        let message =
            message_of(bus.message, bus.brokered_message_properties, bus.custom_message_properties, call);
        let target = match bus.transport_type {
            TransportType::NetMessaging | TransportType::NotSpecified => {
                let base = BusEntity::namespace_url("https", &bus.namespace);
                SendTarget::Bus(BusEntity { base, entity, key })
            }
            TransportType::Amqp => {
                let url = BusEntity::namespace_url("amqps", &bus.namespace);
                let login = key.map(|(username, key)| Login { username, password: key.expose().to_owned() });
                SendTarget::Broker(
                    Endpoint::new(url, login).target(BrokerDestination::Amqp { address: entity }),
                )
            }
        };
        Ok((target, message))
    }

    fn endpoint(&self, stored: StoredEndpoint) -> Result<Endpoint, Sealed> {
        let login = match stored.username {
            None => None,
            Some(username) => {
                let password = self.open(stored.password.expose(), "the password")?;
                Some(Login { username, password: password.expose().to_owned() })
            }
        };
        Ok(Endpoint::new(stored.url, login))
    }

    fn open(&self, sealed: &str, member: &'static str) -> Result<Secret, Sealed> {
        self.vault.open(sealed).map_err(|source| Sealed { member, source })
    }
}

fn from_content(content: Content, call: &JobCall<'_>) -> Message {
    let Content { message, brokered_message_properties, custom_message_properties } = content;
    message_of(message, brokered_message_properties, custom_message_properties, call)
}

/// An empty property says nothing: clients send along what they leave empty.
fn message_of(
    text: String,
    brokered: Option<BrokeredProperties>,
    custom: std::collections::BTreeMap<String, String>,
    call: &JobCall<'_>,
) -> Message {
    let said = |text: Option<String>| text.filter(|text| !text.is_empty());
    let brokered = brokered.unwrap_or_default();
    Message {
        id: said(brokered.message_id).unwrap_or_else(|| default_id(call.idempotency_key)),
        body: text.into(),
        content_type: said(brokered.content_type),
        correlation_id: said(brokered.correlation_id),
        label: said(brokered.label),
        partition_key: said(brokered.partition_key),
        reply_to: said(brokered.reply_to),
        reply_to_session: said(brokered.reply_to_session_id),
        session: said(brokered.session_id),
        to: said(brokered.to),
        via_partition_key: said(brokered.via_partition_key),
        force_persistence: brokered.force_persistence,
        time_to_live: brokered.time_to_live.map(|duration| duration.span()),
        scheduled_at: brokered.scheduled_enqueue_time_utc.map(|date| date.0.ceil()),
        properties: custom.into_iter().map(|(name, value)| (name, Property::Text(value))).collect(),
    }
}

/// `told` says which message went where. Whatever went wrong, the job's own retry policy decides what follows.
pub(super) fn outcome(told: &str, sorted: Sorted) -> Outcome {
    let text = |ending: String| message::printable(format!("{told} {ending}").chars());
    match sorted {
        Sorted::Done { status, .. } => {
            let message = text("sent".to_owned());
            Outcome::Done {
                status,
                output: json!({ "status": status, "message": message }).to_string().into(),
            }
        }
        Sorted::Refused { status, reason } => {
            Outcome::Transient { status, reason: text(format!("refused: {reason}")), retry_after: None }
        }
        Sorted::Transient { status, reason, retry_after } => {
            Outcome::Transient { status, reason: text(format!("not sent: {reason}")), retry_after }
        }
        Sorted::Unknown { reason } => {
            Outcome::Unknown { reason: text(format!("may have been sent: {reason}")) }
        }
    }
}
