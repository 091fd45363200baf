//! What a job does, in its canonical form: members in the order in which Azure Scheduler returns them.

mod message;

use std::collections::BTreeMap;

use action::{Destination, Transport};
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use types::{Retry, Span};

use crate::authentication::{Authentication, Secret};
use crate::duration::Duration;
use crate::problem::below;
use crate::spelling::{ActionType, Envelope, RetryType, TransportType};

pub use self::message::{
    BrokeredProperties, BusAuthentication, BusMessage, BusQueueMessage, BusTopicMessage, Content,
    DeclaredMessage, QueueMessage, StoredEndpoint,
};

/// An action, and the one that runs when it has used up its retries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    #[serde(flatten)]
    pub main: ActionCall,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_action: Option<ActionCall>,
}

/// One call to the outside and how it is tried again.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionCall {
    pub target: ActionTarget,
    pub kind: ActionType,
    pub retry_policy: Option<RetryPolicy>,
}

/// Where a call goes and what it carries.
#[derive(Debug, Clone, PartialEq)]
pub enum ActionTarget {
    Request(HttpRequest),
    QueueMessage(QueueMessage),
    ServiceBusQueueMessage(BusQueueMessage),
    ServiceBusTopicMessage(BusTopicMessage),
    Workflow(WorkflowStart),
    Message(DeclaredMessage),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HttpRequest {
    pub uri: String,
    pub method: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<Authentication>,
}

/// The start of a workflow: an action of Sortie's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowStart {
    pub name: String,
    /// The id of the run; made from the job and the occurrence when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryPolicy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_type: Option<RetryType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_interval: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u32>,
    /// The longest delay of an exponential policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retry_interval: Option<Duration>,
}

/// What a policy that names only its type does: four more times, after 30 seconds.
const INTERVAL_DEFAULT: Span = Span::from_secs(30);
const COUNT_DEFAULT: u32 = 4;
/// Where the delays of an exponential policy stop growing unless it says otherwise.
const GROWTH_MAX_DEFAULT: Span = Span::from_secs(3600);

impl Action {
    /// The action as it is kept, from [`crate::JobDocument::action_json`].
    pub fn from_stored(text: &str) -> Result<Action, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The retry policy of the main action.
    pub fn retry(&self) -> Retry {
        self.main.retry_policy.as_ref().map_or(Retry::JOB, RetryPolicy::retry)
    }

    /// The retry policy of the errorAction when there is one: its own, else that of the main action.
    pub fn alternative(&self) -> Option<Retry> {
        let call = self.error_action.as_ref()?;
        Some(call.retry_policy.as_ref().map_or_else(|| self.retry(), RetryPolicy::retry))
    }

    /// Whether an http request of it signs in.
    pub fn authenticates(&self) -> bool {
        let signs_in = |call: &ActionCall| match &call.target {
            ActionTarget::Request(request) => request.authentication.is_some(),
            _ => false,
        };
        signs_in(&self.main) || self.error_action.as_ref().is_some_and(signs_in)
    }

    /// Shows every secret that is there to `visit`, which may change it; stops at its first error.
    pub(crate) fn visit_secrets<E>(
        &mut self,
        path: &str,
        visit: &mut dyn FnMut(&str, &mut Secret) -> Result<(), E>,
    ) -> Result<(), E> {
        self.main.visit_secrets(path, visit)?;
        match &mut self.error_action {
            Some(call) => call.visit_secrets(&below(path, "errorAction"), visit),
            None => Ok(()),
        }
    }

    /// The authentications of its http requests, each with its path.
    pub(crate) fn authentications_mut(&mut self, path: &str) -> Vec<(String, &mut Authentication)> {
        let mut found = Vec::new();
        found.extend(self.main.authentication_mut(path));
        if let Some(call) = &mut self.error_action {
            found.extend(call.authentication_mut(&below(path, "errorAction")));
        }
        found
    }
}

impl ActionCall {
    fn authentication_mut(&mut self, path: &str) -> Option<(String, &mut Authentication)> {
        match &mut self.target {
            ActionTarget::Request(request) => {
                Some((below(path, "request.authentication"), request.authentication.as_mut()?))
            }
            _ => None,
        }
    }

    fn visit_secrets<E>(
        &mut self,
        path: &str,
        visit: &mut dyn FnMut(&str, &mut Secret) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut show = |member: &str, secret: &mut Secret| visit(&below(path, member), secret);
        match &mut self.target {
            ActionTarget::Request(request) => match &mut request.authentication {
                Some(Authentication::Basic { password, .. }) => {
                    show("request.authentication.password", password)
                }
                Some(Authentication::ClientCertificate { pfx, password, .. }) => {
                    show("request.authentication.pfx", pfx)?;
                    show("request.authentication.password", password)
                }
                Some(Authentication::ActiveDirectoryOAuth { secret, .. }) => {
                    show("request.authentication.secret", secret)
                }
                None => Ok(()),
            },
            ActionTarget::QueueMessage(message) => show("queueMessage.sasToken", &mut message.sas_token),
            ActionTarget::ServiceBusQueueMessage(queue) => match &mut queue.message.authentication {
                Some(authentication) => {
                    show("serviceBusQueueMessage.authentication.sasKey", &mut authentication.sas_key)
                }
                None => Ok(()),
            },
            ActionTarget::ServiceBusTopicMessage(topic) => match &mut topic.message.authentication {
                Some(authentication) => {
                    show("serviceBusTopicMessage.authentication.sasKey", &mut authentication.sas_key)
                }
                None => Ok(()),
            },
            ActionTarget::Message(DeclaredMessage { to, endpoint: Some(endpoint), .. }) => {
                let member = ActionType::Message(to.destination_type()).target();
                show(&below(member, "password"), &mut endpoint.password)
            }
            ActionTarget::Message(DeclaredMessage { endpoint: None, .. }) | ActionTarget::Workflow(_) => {
                Ok(())
            }
        }
    }
}

impl ActionTarget {
    /// The target of an action of this type, as it is stored in the member [`ActionType::target`].
    pub fn from_stored(kind: ActionType, value: Value) -> Result<ActionTarget, serde_json::Error> {
        Ok(match kind {
            ActionType::Http | ActionType::Https => ActionTarget::Request(serde_json::from_value(value)?),
            ActionType::StorageQueue => ActionTarget::QueueMessage(serde_json::from_value(value)?),
            ActionType::ServiceBusQueue => {
                ActionTarget::ServiceBusQueueMessage(serde_json::from_value(value)?)
            }
            ActionType::ServiceBusTopic => {
                ActionTarget::ServiceBusTopicMessage(serde_json::from_value(value)?)
            }
            ActionType::Workflow => ActionTarget::Workflow(serde_json::from_value(value)?),
            ActionType::Message(kind) => ActionTarget::Message(DeclaredMessage::from_members(kind, value)?),
        })
    }

    /// Where its message goes; none when it sends none.
    pub fn destination(&self) -> Option<Destination<String>> {
        let on_bus = |entity: &str, message: &BusMessage| {
            let transport = match message.transport_type {
                TransportType::Amqp => Transport::Amqp,
                TransportType::NetMessaging | TransportType::NotSpecified => Transport::Https,
            };
            Destination::ServiceBus { entity: entity.to_owned(), transport }
        };
        match self {
            ActionTarget::Request(_) | ActionTarget::Workflow(_) => None,
            ActionTarget::QueueMessage(message) => Some(Destination::StorageQueue {
                queue: message.queue_name.clone(),
                envelope: message.envelope != Some(Envelope::None),
            }),
            ActionTarget::ServiceBusQueueMessage(queue) => Some(on_bus(&queue.queue_name, &queue.message)),
            ActionTarget::ServiceBusTopicMessage(topic) => Some(on_bus(&topic.topic_path, &topic.message)),
            ActionTarget::Message(message) => Some(message.to.clone()),
        }
    }

    /// Where its message goes, as people say it, like `queue orders of storage account acct`; none when it sends none.
    pub fn destination_words(&self) -> Option<String> {
        Some(match self {
            ActionTarget::Request(_) | ActionTarget::Workflow(_) => return None,
            ActionTarget::QueueMessage(message) => {
                format!("queue {} of storage account {}", message.queue_name, message.storage_account)
            }
            ActionTarget::ServiceBusQueueMessage(queue) => {
                format!("queue {} of service bus {}", queue.queue_name, queue.message.namespace)
            }
            ActionTarget::ServiceBusTopicMessage(topic) => {
                format!("topic {} of service bus {}", topic.topic_path, topic.message.namespace)
            }
            ActionTarget::Message(DeclaredMessage { to, endpoint, .. }) => {
                let at = endpoint.as_ref().map(|endpoint| format!(" at {}", endpoint.url));
                to.words(String::clone) + &at.unwrap_or_default()
            }
        })
    }

    /// The text of its message; none when it sends none.
    pub fn message(&self) -> Option<&str> {
        match self {
            ActionTarget::Request(_) | ActionTarget::Workflow(_) => None,
            ActionTarget::QueueMessage(message) => Some(&message.message),
            ActionTarget::ServiceBusQueueMessage(queue) => Some(&queue.message.message),
            ActionTarget::ServiceBusTopicMessage(topic) => Some(&topic.message.message),
            ActionTarget::Message(message) => Some(&message.content.message),
        }
    }
}

/// The target comes first, in the member of its type.
impl Serialize for ActionCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let member = self.kind.target();
        match &self.target {
            ActionTarget::Request(request) => map.serialize_entry(member, request)?,
            ActionTarget::QueueMessage(message) => map.serialize_entry(member, message)?,
            ActionTarget::ServiceBusQueueMessage(message) => map.serialize_entry(member, message)?,
            ActionTarget::ServiceBusTopicMessage(message) => map.serialize_entry(member, message)?,
            ActionTarget::Workflow(start) => map.serialize_entry(member, start)?,
            ActionTarget::Message(message) => map.serialize_entry(member, message)?,
        }
        map.serialize_entry("type", &self.kind)?;
        if let Some(policy) = &self.retry_policy {
            map.serialize_entry("retryPolicy", policy)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ActionCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ActionCall, D::Error> {
        let mut members = Map::deserialize(deserializer)?;
        let mut member =
            |name: &'static str| members.remove(name).ok_or_else(|| D::Error::missing_field(name));
        let kind: ActionType = serde_json::from_value(member("type")?).map_err(D::Error::custom)?;
        let target = ActionTarget::from_stored(kind, member(kind.target())?).map_err(D::Error::custom)?;
        let retry_policy = members.remove("retryPolicy").unwrap_or_default();
        let retry_policy = serde_json::from_value(retry_policy).map_err(D::Error::custom)?;
        Ok(ActionCall { target, kind, retry_policy })
    }
}

impl RetryPolicy {
    /// The policy as the kernel follows it. A count is of the attempts after the first.
    pub fn retry(&self) -> Retry {
        let delay = self.retry_interval.as_ref().map_or(INTERVAL_DEFAULT, Duration::span);
        let attempts = self.retry_count.unwrap_or(COUNT_DEFAULT).saturating_add(1);
        match self.retry_type.unwrap_or(RetryType::Fixed) {
            RetryType::None => Retry::None,
            RetryType::Fixed => Retry::Fixed { delay, attempts },
            RetryType::Exponential => Retry::Exponential {
                first: delay,
                factor_percent: 200,
                max: self.max_retry_interval.as_ref().map_or(GROWTH_MAX_DEFAULT.max(delay), Duration::span),
                attempts,
            },
        }
    }
}
