//! Messages over HTTP in the shape of Service Bus: send, receive, settle.
//!
//! These paths are matched before the router: they carry load, and their fixed parts have no case.

mod batch;
mod broker;
mod path;
mod query;

use std::collections::BTreeMap;

use api_types::Time;
use axum::body::Body;
use engine::queues::{EntityKind, Outgoing, QueueAnswer, QueueCommand, Receive, ReceiveMode, Received};
use http::header::{CONTENT_TYPE, HOST, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use kernel::queue::{Settle, SubQueue};
use serde_json::{Map, Value};
use tokio::sync::watch;
use types::{Message, Property, Uid};
use uuid::Uuid;

use self::query::Query;
use crate::auth::Authorized;
use crate::body::{self, Payload};
use crate::error::ApiError;
use crate::limits::{
    DECISION_BYTES_MAX, MESSAGE_BYTES_MAX, MESSAGE_TEXT_BYTES_MAX, MESSAGES_BYTES_MAX, PATIENCE_DEFAULT,
};
use crate::queues::{Queues, properties};

pub(crate) use path::{MessagePath, ServiceBusPath};

const BROKER_PROPERTIES: HeaderName = HeaderName::from_static("brokerproperties");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The media type of a message as instances hand them to each other: whole, in the format of the journal.
pub const MESSAGE_TYPE: &str = "application/vnd.sortie.message";

/// What a message that an instance hands over must come to: one of the words of [`kind_word`].
pub const MESSAGE_KIND: HeaderName = HeaderName::from_static("sortie-message-kind");

/// The media type of several messages at once.
const BATCH: &str = "application/vnd.microsoft.servicebus.json";

/// What a message must come to, as instances tell each other.
pub fn kind_word(kind: EntityKind) -> &'static str {
    match kind {
        EntityKind::Queue => "queue",
        EntityKind::Topic => "topic",
        EntityKind::MadeQueue => "made-queue",
    }
}

/// Whether a request waits for a message.
pub(crate) fn is_receive(method: &Method, path: &str) -> bool {
    let place = ServiceBusPath::of(path);
    matches!(place, Some(Ok(ServiceBusPath { message: MessagePath::Head, .. })))
        && matches!(*method, Method::POST | Method::DELETE)
}

/// How long it waits.
pub(crate) fn patience(uri: &http::Uri) -> std::time::Duration {
    let patience = Query::receive(uri).map_or(PATIENCE_DEFAULT, |query| query.patience);
    std::time::Duration::from_millis(patience.as_ms())
}

/// The answer to who has waited in vain.
pub(crate) fn nothing_received() -> Response<Body> {
    empty(StatusCode::NO_CONTENT)
}

/// The REST API of Service Bus. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ServiceBus {
    pub queues: Queues,
}

impl ServiceBus {
    /// Answers a request to Service Bus. A consumer that waits for a message gets an empty answer when the server stops.
    pub(crate) async fn answer(
        &self,
        place: ServiceBusPath,
        caller: &Authorized<'_>,
        request: Request<Payload>,
        stopped: watch::Receiver<bool>,
    ) -> Result<Response<Body>, ApiError> {
        let method = request.method().clone();
        match (&place.message, &method) {
            (MessagePath::Messages, &Method::POST) => self.send(&place, caller, request).await,
            (MessagePath::Head, &Method::POST | &Method::DELETE) => {
                self.receive(&place, request, stopped).await
            }
            (MessagePath::Lock(token), &Method::DELETE) => {
                Query::none(request.uri())?;
                self.settle(&place, *token, Settle::Complete).await
            }
            (MessagePath::Lock(token), &Method::PUT) => {
                Query::none(request.uri())?;
                self.settle(&place, *token, Settle::Abandon).await
            }
            (MessagePath::Lock(token), &Method::POST) => {
                Query::none(request.uri())?;
                self.settle(&place, *token, Settle::Renew).await
            }
            (MessagePath::DeadLetter(token), &Method::POST) => {
                Query::none(request.uri())?;
                let how = dead_letter(&body::read(request, DECISION_BYTES_MAX).await?)?;
                self.settle(&place, *token, how).await
            }
            (message, _) => Err(ApiError::Method { method, allow: methods(message) }),
        }
    }

    async fn send(
        &self,
        place: &ServiceBusPath,
        caller: &Authorized<'_>,
        request: Request<Payload>,
    ) -> Result<Response<Body>, ApiError> {
        Query::none(request.uri())?;
        if place.sub_queue == SubQueue::Dead || place.at.subscription.is_some() {
            let text = "messages are sent to a queue or a topic, not to a subscription or to dead letters";
            return Err(ApiError::BadRequest(text.to_owned()));
        }
        let headers = request.headers().clone();
        if caller.is_peer && is_journal_message(&headers) {
            return self.post(place, request).await;
        }
        let messages = if is_batch(&headers) {
            batch::read(&body::read(request, MESSAGES_BYTES_MAX).await?)?
        } else {
            let mut outgoing = from_headers(&headers)?;
            outgoing.message.body = body::read(request, MESSAGE_BYTES_MAX).await?;
            vec![outgoing]
        };
        let to = place.at.name.clone();
        self.queues.command(QueueCommand::Send { to: to.clone(), messages }, &to).await?;
        Ok(empty(StatusCode::CREATED))
    }

    /// Takes a message that another instance hands over.
    async fn post(
        &self,
        place: &ServiceBusPath,
        request: Request<Payload>,
    ) -> Result<Response<Body>, ApiError> {
        let bad = |text: String| ApiError::BadMessage(text);
        let said = request.headers().get(MESSAGE_KIND).and_then(|value| value.to_str().ok());
        let kinds = [EntityKind::Queue, EntityKind::Topic, EntityKind::MadeQueue];
        let kind = kinds.into_iter().find(|kind| said == Some(kind_word(*kind)));
        let kind = kind.ok_or_else(|| bad(format!("{MESSAGE_KIND}: says what the message must come to")))?;
        let bytes = body::read(request, MESSAGES_BYTES_MAX).await?;
        let message = journal::codec::decode(&bytes).map_err(|error| bad(error.to_string()))?;
        let to = place.at.name.clone();
        self.queues.command(QueueCommand::Post { to: to.clone(), kind, message }, &to).await?;
        Ok(empty(StatusCode::CREATED))
    }

    async fn receive(
        &self,
        place: &ServiceBusPath,
        request: Request<Payload>,
        mut stopped: watch::Receiver<bool>,
    ) -> Result<Response<Body>, ApiError> {
        let Query { patience, lock, max, session } = Query::receive(request.uri())?;
        let mode =
            if request.method() == Method::POST { ReceiveMode::Lock { lock } } else { ReceiveMode::Delete };
        if mode == ReceiveMode::Delete && lock.is_some() {
            return Err(ApiError::BadRequest("lock: what is deleted is not locked".to_owned()));
        }
        let base = base(request.headers());
        // Read to its end, however long: then the connection is watched, and a client that goes away is noticed.
        body::read(request, MESSAGE_BYTES_MAX).await?;
        let (at, wanted) = (place.at.clone(), max.unwrap_or(1));
        let receive = Receive { at, sub_queue: place.sub_queue, session, mode, max: wanted, patience };
        let answered = tokio::select! {
            // The answer first: a message that has come is handed out, even by a server that stops.
            biased;
            answered = self.queues.command(QueueCommand::Receive(receive), &place.at.name) => answered?,
            // An error means that the listener is gone, which is a stop as well.
            _ = stopped.wait_for(|stopped| *stopped) => QueueAnswer::Received(Vec::new()),
        };
        let QueueAnswer::Received(received) = answered else {
            unreachable!("a receive is answered with messages: {answered:?}");
        };
        let status = match mode {
            ReceiveMode::Lock { .. } => StatusCode::CREATED,
            ReceiveMode::Delete => StatusCode::OK,
        };
        let location = |received: &Received| location(&base, place, received);
        Ok(match (received.as_slice(), max) {
            ([], _) => empty(StatusCode::NO_CONTENT),
            ([one], None) => single(status, one, location(one)),
            (many, _) => several(status, batch::write(many, location)),
        })
    }

    async fn settle(
        &self,
        place: &ServiceBusPath,
        token: Uid,
        how: Settle,
    ) -> Result<Response<Body>, ApiError> {
        let command = QueueCommand::Settle { at: place.at.clone(), token, how };
        let mut response = empty(StatusCode::OK);
        if let QueueAnswer::Settled { locked_until: Some(until) } =
            self.queues.command(command, &place.at.name).await?
        {
            let properties = Map::from_iter([
                ("LockToken".to_owned(), Uuid::from_bytes(token.0).to_string().into()),
                ("LockedUntilUtc".to_owned(), Time(until).http().into()),
            ]);
            set_broker_properties(response.headers_mut(), properties);
        }
        Ok(response)
    }
}

fn methods(message: &MessagePath) -> &'static str {
    match message {
        MessagePath::Messages | MessagePath::DeadLetter(_) => "POST",
        MessagePath::Head => "POST, DELETE",
        MessagePath::Lock(_) => "DELETE, PUT, POST",
    }
}

/// Whether the body is the message of an action, as instances hand them to each other.
fn is_journal_message(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value == MESSAGE_TYPE)
}

fn is_batch(headers: &HeaderMap) -> bool {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(BATCH))
}

/// A message as its headers describe it, still without its body.
fn from_headers(headers: &HeaderMap) -> Result<Outgoing, ApiError> {
    let (mut message, mut own_id) = (Message::default(), false);
    if let Some(value) = headers.get(BROKER_PROPERTIES) {
        let bad = |why: String| ApiError::BadMessage(format!("BrokerProperties: {why}"));
        let properties: Value =
            serde_json::from_slice(value.as_bytes()).map_err(|error| bad(format!("not JSON: {error}")))?;
        let fields = properties.as_object().ok_or_else(|| bad("must be an object of JSON".to_owned()))?;
        own_id = broker::read(fields, &mut message)?;
    }
    if let Some(value) = headers.get(CONTENT_TYPE) {
        let text = value.to_str().ok().filter(|text| text.len() <= MESSAGE_TEXT_BYTES_MAX);
        let text =
            text.ok_or_else(|| ApiError::BadMessage("Content-Type: is not a media type".to_owned()))?;
        message.content_type = Some(text.to_owned());
    }
    message.properties = properties::from_headers(headers)?;
    if !own_id {
        message.id = new_id();
    }
    Ok(Outgoing { message, own_id })
}

fn new_id() -> String {
    Uuid::now_v7().simple().to_string()
}

/// Why a consumer sets a message aside: `{ reason, description }`, both optional.
fn dead_letter(text: &[u8]) -> Result<Settle, ApiError> {
    let mut said = [String::new(), String::new()];
    if !text.is_empty() {
        let value: Value = serde_json::from_slice(text)
            .map_err(|error| ApiError::BadRequest(format!("the body is not JSON: {error}")))?;
        let fields = value.as_object().ok_or_else(|| {
            ApiError::BadRequest("the body must be an object with reason and description".to_owned())
        })?;
        for (name, value) in fields {
            let place = match name.as_str() {
                "reason" => &mut said[0],
                "description" => &mut said[1],
                _ => {
                    let name: String = name.chars().take(80).collect();
                    return Err(ApiError::BadRequest(format!(
                        "{name}: not a field here; reason and description are"
                    )));
                }
            };
            let text = value.as_str().filter(|text| text.len() <= MESSAGE_TEXT_BYTES_MAX);
            *place = text
                .ok_or_else(|| {
                    let most = MESSAGE_TEXT_BYTES_MAX;
                    ApiError::BadRequest(format!("{name}: must be a text of at most {most} bytes"))
                })?
                .to_owned();
        }
    }
    let [reason, description] = said;
    Ok(Settle::DeadLetter { reason, description })
}

/// The address that the client called.
fn base(headers: &HeaderMap) -> String {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = if text(FORWARDED_PROTO) == Some("https") { "https" } else { "http" };
    format!("{scheme}://{}", text(HOST).unwrap_or("localhost"))
}

/// Where a lock is: what its holder deletes, gives back or renews.
fn location(base: &str, place: &ServiceBusPath, received: &Received) -> Option<String> {
    let (token, _) = received.taken.lock?;
    let sub_queue = if place.sub_queue == SubQueue::Dead { "/$DeadLetterQueue" } else { "" };
    let token = Uuid::from_bytes(token.0);
    Some(format!("{base}/{}{sub_queue}/messages/{}/{token}", place.at, received.taken.no.0))
}

/// The sender's own properties, and why a dead letter is one, which Service Bus puts among them.
fn user_properties(received: &Received) -> BTreeMap<String, Property> {
    let mut properties = received.message.properties.clone();
    if let Some(dead) = &received.taken.dead {
        properties.insert("DeadLetterReason".to_owned(), dead.reason.as_str().into());
        properties.insert("DeadLetterErrorDescription".to_owned(), dead.description.as_str().into());
    }
    properties
}

fn single(status: StatusCode, received: &Received, location: Option<String>) -> Response<Body> {
    let mut response = Response::new(Body::from(received.message.body.clone()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    properties::to_headers(&user_properties(received), headers);
    set_broker_properties(headers, broker::write(received));
    let kind = received.message.content_type.as_deref().unwrap_or("application/octet-stream");
    // A sender of another kind may have given a type that no header can hold.
    if let Ok(kind) = HeaderValue::try_from(kind) {
        headers.insert(CONTENT_TYPE, kind);
    }
    if let Some(location) = location.and_then(|location| HeaderValue::try_from(location).ok()) {
        headers.insert(LOCATION, location);
    }
    response
}

fn several(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(BATCH));
    response
}

fn set_broker_properties(headers: &mut HeaderMap, properties: Map<String, Value>) {
    let json = properties::ascii(&Value::Object(properties).to_string());
    let value = HeaderValue::try_from(json).expect("printable ASCII is a header value");
    headers.insert(BROKER_PROPERTIES, value);
}

fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}
