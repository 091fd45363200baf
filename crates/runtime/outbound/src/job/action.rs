//! A job's action, from its stored JSON to what can be carried out. Secrets stay sealed here.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use schedule::{ActionTarget, ActionType, action as message};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::job::ActionPart;

/// What is to be done.
#[derive(Debug)]
pub(super) enum Action {
    Http(HttpAction),
    Workflow(WorkflowAction),
    Message(Box<MessageAction>),
}

#[derive(Debug)]
pub(super) struct HttpAction {
    pub(super) uri: String,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
    pub(super) authentication: Authentication,
}

/// How the action signs in at its target. `sealed_…` members are text for the vault.
#[derive(Debug, PartialEq)]
pub(super) enum Authentication {
    None,
    Basic { username: String, sealed_password: String },
    ClientCertificate { sealed_pfx: String, sealed_password: Option<String> },
    ActiveDirectoryOAuth { tenant: String, audience: String, client_id: String, sealed_secret: String },
}

#[derive(Debug)]
pub(super) struct WorkflowAction {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) body: Bytes,
}

/// A message to be sent. Its secrets are text for the vault.
#[derive(Debug)]
pub(super) struct MessageAction {
    pub(super) kind: ActionType,
    pub(super) target: ActionTarget,
}

/// Why an action cannot be carried out. It names members, never their values.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum ActionError {
    #[error("its stored form is damaged at line {line}, column {column}")]
    Malformed { line: usize, column: usize },
    #[error("the job has no errorAction")]
    NoErrorAction,
    #[error("its type is not known")]
    UnknownType,
    #[error("it has no {0:?}")]
    Missing(&'static str),
    #[error("its method is not an HTTP method")]
    BadMethod,
    #[error("its header {0:?} cannot be sent")]
    BadHeader(String),
    #[error("its authentication type is not known")]
    UnknownAuthentication,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredAction {
    r#type: String,
    request: Option<StoredRequest>,
    workflow: Option<StoredWorkflow>,
    queue_message: Option<message::QueueMessage>,
    service_bus_queue_message: Option<message::BusQueueMessage>,
    service_bus_topic_message: Option<message::BusTopicMessage>,
    queue: Option<message::QueuePost>,
    topic: Option<message::QueuePost>,
    amqp: Option<message::AmqpMessage>,
    rabbit_mq: Option<message::RabbitMqMessage>,
    nats: Option<message::NatsMessage>,
    kafka: Option<message::KafkaMessage>,
    error_action: Option<Box<StoredAction>>,
}

#[derive(Deserialize)]
struct StoredRequest {
    uri: String,
    method: String,
    headers: Option<BTreeMap<String, String>>,
    body: Option<String>,
    authentication: Option<StoredAuthentication>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredAuthentication {
    r#type: String,
    username: Option<String>,
    password: Option<String>,
    pfx: Option<String>,
    tenant: Option<String>,
    audience: Option<String>,
    client_id: Option<String>,
    secret: Option<String>,
}

#[derive(Deserialize)]
struct StoredWorkflow {
    name: String,
    id: Option<String>,
    body: Option<Box<RawValue>>,
}

impl Action {
    pub(super) fn parse(json: &str, part: ActionPart) -> Result<Action, ActionError> {
        let stored: StoredAction = serde_json::from_str(json)
            .map_err(|error| ActionError::Malformed { line: error.line(), column: error.column() })?;
        let stored = match part {
            ActionPart::Main => stored,
            ActionPart::Error => *stored.error_action.ok_or(ActionError::NoErrorAction)?,
        };
        let kind = ActionType::read(&stored.r#type).ok_or(ActionError::UnknownType)?;
        let missing = ActionError::Missing(kind.target());
        let target = match kind {
            ActionType::Http | ActionType::Https => {
                return http_action(stored.request.ok_or(missing)?).map(Action::Http);
            }
            ActionType::Workflow => {
                return Ok(Action::Workflow(workflow_action(stored.workflow.ok_or(missing)?)));
            }
            ActionType::StorageQueue => stored.queue_message.map(ActionTarget::QueueMessage),
            ActionType::ServiceBusQueue => {
                stored.service_bus_queue_message.map(ActionTarget::ServiceBusQueueMessage)
            }
            ActionType::ServiceBusTopic => {
                stored.service_bus_topic_message.map(ActionTarget::ServiceBusTopicMessage)
            }
            ActionType::Queue => stored.queue.map(ActionTarget::Queue),
            ActionType::Topic => stored.topic.map(ActionTarget::Topic),
            ActionType::Amqp => stored.amqp.map(ActionTarget::Amqp),
            ActionType::RabbitMq => stored.rabbit_mq.map(ActionTarget::RabbitMq),
            ActionType::Nats => stored.nats.map(ActionTarget::Nats),
            ActionType::Kafka => stored.kafka.map(ActionTarget::Kafka),
        };
        let target = target.ok_or(missing)?;
        Ok(Action::Message(Box::new(MessageAction { kind, target })))
    }
}

fn http_action(stored: StoredRequest) -> Result<HttpAction, ActionError> {
    // CONNECT asks a proxy for a tunnel; it is no call.
    let method = Method::from_bytes(stored.method.to_ascii_uppercase().as_bytes());
    let method = method.ok().filter(|method| *method != Method::CONNECT).ok_or(ActionError::BadMethod)?;
    let mut headers = HeaderMap::new();
    for (name, value) in stored.headers.unwrap_or_default() {
        let parsed = (HeaderName::try_from(&name), HeaderValue::try_from(&value));
        let (Ok(parsed_name), Ok(value)) = parsed else { return Err(ActionError::BadHeader(name)) };
        headers.append(parsed_name, value);
    }
    Ok(HttpAction {
        uri: stored.uri,
        method,
        headers,
        body: stored.body.map(Bytes::from),
        authentication: stored.authentication.map_or(Ok(Authentication::None), authentication)?,
    })
}

fn authentication(stored: StoredAuthentication) -> Result<Authentication, ActionError> {
    let needed = |value: Option<String>, name| value.ok_or(ActionError::Missing(name));
    Ok(match stored.r#type.to_ascii_lowercase().as_str() {
        "notspecified" => Authentication::None,
        "basic" => Authentication::Basic {
            username: stored.username.unwrap_or_default(),
            sealed_password: needed(stored.password, "password")?,
        },
        "clientcertificate" => Authentication::ClientCertificate {
            sealed_pfx: needed(stored.pfx, "pfx")?,
            sealed_password: stored.password,
        },
        "activedirectoryoauth" => Authentication::ActiveDirectoryOAuth {
            tenant: needed(stored.tenant, "tenant")?,
            audience: needed(stored.audience, "audience")?,
            client_id: needed(stored.client_id, "clientId")?,
            sealed_secret: needed(stored.secret, "secret")?,
        },
        _ => return Err(ActionError::UnknownAuthentication),
    })
}

fn workflow_action(stored: StoredWorkflow) -> WorkflowAction {
    let body = stored.body.map_or(Bytes::from_static(b"null"), |body| Bytes::from(body.get().to_owned()));
    WorkflowAction { name: stored.name, id: stored.id, body }
}

#[cfg(test)]
mod tests;
