//! Sending messages: to the queues of Sortie's own, over HTTP, or in a broker's own protocol.
//!
//! A send is done when whoever takes the message has confirmed it. What else it can come to is what a call can come
//! to, and is sorted the same.

mod bus;
mod storage;

use std::sync::Arc;
use std::time::Duration;

use action::Destination;
use brokers::{Brokers, MessageTarget, SendError};
use host::Clock;
use serde_json::json;
use sha2::{Digest, Sha256};
use types::Message;

use crate::client::{Client, OutboundRequest, ServiceResponse};
use crate::fault::Fault;
use crate::limits::MESSAGE_ID_CHARS_MAX;
use crate::mask::Mask;
use crate::post::{Post, PostError, PostTarget};
use crate::service::CallVerdict;
use crate::sort::{Sorted, escape, retry_after, sort};

pub(crate) use self::bus::BusEntity;
pub(crate) use self::storage::{Facts, StorageQueue};

/// What a confirmed send counts as.
const CREATED: u16 = 201;

/// Sends messages. Cheap to clone; the clones share the connections.
#[derive(Clone)]
pub struct Sender(Arc<SenderInner>);

struct SenderInner {
    client: Client,
    brokers: Brokers,
    post: Arc<dyn Post>,
    clock: Clock,
}

/// Where a message goes, with all that is needed to get it there.
#[derive(Debug)]
pub(crate) enum SendTarget {
    BuiltIn(PostTarget),
    Storage(StorageQueue),
    Bus(BusEntity),
    Broker(MessageTarget),
}

/// What a send came to, for the sender and for the limits of its service.
pub(crate) struct SendResult {
    pub sorted: Sorted,
    pub verdict: CallVerdict,
}

impl Sender {
    pub fn new(client: Client, brokers: Brokers, post: Arc<dyn Post>, clock: Clock) -> Sender {
        Sender(Arc::new(SenderInner { client, brokers, post, clock }))
    }

    /// Sends one message and waits for its confirmation, for at most `patience`. No text of what it came to holds
    /// a secret of the target.
    pub(crate) async fn send(&self, target: &SendTarget, message: Message, patience: Duration) -> SendResult {
        let id = message.id.clone();
        let (now, mut mask) = (self.0.clock.now(), Mask::default());
        let sent = match target {
            SendTarget::BuiltIn(place) => self.post(place.clone(), message, patience).await,
            SendTarget::Storage(queue) => {
                let request = queue.request(&message, now, &mut mask);
                self.over_http(request, &mask, patience, |_| false).await
            }
            SendTarget::Bus(entity) => {
                let request = entity.request(&message, now, &mut mask);
                self.over_http(request, &mask, patience, bus::is_full).await
            }
            SendTarget::Broker(target) => self.through_broker(target, &message, patience).await,
        };
        let Sorted::Done { .. } = sent.sorted else { return sent };
        let body = json!({ "messageId": id }).to_string().into();
        SendResult { sorted: Sorted::Done { status: CREATED, body }, ..sent }
    }

    async fn post(&self, place: PostTarget, message: Message, patience: Duration) -> SendResult {
        let sorted = match tokio::time::timeout(patience, self.0.post.post(place, message)).await {
            Ok(Ok(())) => done(),
            Ok(Err(PostError::Refused(reason))) => refused(reason),
            Ok(Err(PostError::Later { reason, retry_after })) => {
                Sorted::Transient { status: None, reason, retry_after }
            }
            Ok(Err(PostError::Unknown(reason))) => Sorted::Unknown { reason },
            Err(_) => Sorted::Unknown { reason: "not confirmed in time".to_owned() },
        };
        // All queues are counted as one service: what one of them has no room for must not pause the others.
        let verdict =
            if matches!(sorted, Sorted::Done { .. }) { CallVerdict::Done } else { CallVerdict::Untried };
        SendResult { sorted, verdict }
    }

    async fn through_broker(&self, to: &MessageTarget, message: &Message, patience: Duration) -> SendResult {
        let mut mask = Mask::default();
        if let Some(login) = &to.endpoint.login {
            mask.hide(&login.password);
        }
        let told = |reason: String| escape(&mask.apply(&reason));
        SendResult::new(match self.0.brokers.send(to, message, patience).await {
            Ok(()) => done(),
            Err(SendError::Refused(reason)) => refused(told(reason)),
            Err(SendError::NotSent(reason)) => {
                Sorted::Transient { status: None, reason: told(reason), retry_after: None }
            }
            Err(SendError::Unknown(reason)) => Sorted::Unknown { reason: told(reason) },
        })
    }

    /// `is_full` knows an answer that means no for now, where its status alone would mean no for good.
    async fn over_http(
        &self,
        request: Result<OutboundRequest, String>,
        mask: &Mask,
        patience: Duration,
        is_full: fn(&ServiceResponse) -> bool,
    ) -> SendResult {
        let mut request = match request {
            Ok(request) => request,
            Err(reason) => return SendResult { sorted: refused(reason), verdict: CallVerdict::Untried },
        };
        request.deadline = patience;
        // Masked before it is cut: half a secret would not be found any more.
        let result = match self.0.client.send(request).await {
            Ok(answer) => Ok(masked(answer, mask)),
            Err(Fault::TooLarge { answer: Some(answer) }) => {
                Err(Fault::TooLarge { answer: Some(Box::new(masked(*answer, mask))) })
            }
            Err(fault) => Err(fault),
        };
        let now = self.0.clock.now();
        let sorted = match sort(&result, now) {
            // Both say 2xx as soon as the message is taken, and nothing of their answer is needed.
            Sorted::Unknown { .. } if matches!(&result, Err(Fault::TooLarge { answer: Some(answer) }) if (200..300).contains(&answer.status)) => {
                done()
            }
            sorted => sorted,
        };
        // Of the service: that one of its queues is full must not pause the others.
        let verdict = CallVerdict::of(&result, &sorted);
        let sorted = match (&result, sorted) {
            (Ok(answer), Sorted::Refused { status, reason }) if is_full(answer) => {
                Sorted::Transient { status, reason, retry_after: retry_after(&answer.headers, now) }
            }
            (_, sorted) => sorted,
        };
        SendResult { sorted, verdict }
    }
}

impl SendTarget {
    /// What people call it. It holds no secret.
    pub(crate) fn place(&self) -> String {
        match self {
            SendTarget::BuiltIn(PostTarget::Queue(name)) => format!("queue '{name}'"),
            SendTarget::BuiltIn(PostTarget::Topic(name)) => format!("topic '{name}'"),
            SendTarget::Storage(StorageQueue { account, queue, .. }) => {
                format!("queue '{queue}' at '{}'", host_of(account))
            }
            SendTarget::Bus(BusEntity { base, entity, .. }) => format!("'{entity}' at '{}'", host_of(base)),
            SendTarget::Broker(MessageTarget { endpoint, to }) => {
                let words = Destination::Broker(to.clone()).words(|text| format!("'{text}'"));
                format!("{words} at '{}'", host_of(&endpoint.url))
            }
        }
    }

    /// What its limits are counted under.
    pub(crate) fn origin(&self) -> &str {
        match self {
            // One for all: names may be made of what requests hold, and each would be kept.
            SendTarget::BuiltIn(_) => "queues",
            SendTarget::Storage(queue) => &queue.account,
            SendTarget::Bus(entity) => &entity.base,
            SendTarget::Broker(target) => &target.endpoint.url,
        }
    }
}

impl SendResult {
    fn new(sorted: Sorted) -> SendResult {
        let verdict = match &sorted {
            Sorted::Done { .. } => CallVerdict::Done,
            Sorted::Refused { .. } => CallVerdict::Refused,
            Sorted::Transient { .. } => CallVerdict::Failed,
            Sorted::Unknown { .. } => CallVerdict::Lost,
        };
        SendResult { sorted, verdict }
    }
}

/// The id of a message that names none: the key of what sends it, so that all attempts have one. Keys that brokers
/// find too long become their digest.
pub(crate) fn default_id(idempotency_key: &str) -> String {
    if idempotency_key.chars().count() <= MESSAGE_ID_CHARS_MAX {
        return idempotency_key.to_owned();
    }
    Sha256::digest(idempotency_key).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn done() -> Sorted {
    Sorted::Done { status: CREATED, body: bytes::Bytes::new() }
}

fn refused(reason: String) -> Sorted {
    Sorted::Refused { status: None, reason }
}

fn masked(mut answer: ServiceResponse, mask: &Mask) -> ServiceResponse {
    answer.body = mask.apply(&String::from_utf8_lossy(&answer.body)).into();
    answer
}

/// Host and port of a URL, or of several.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    if rest.contains("://") { rest } else { rest.split('/').next().unwrap_or(rest) }
}

/// A name as part of a path, its own slashes kept.
fn path_of(name: &str) -> Result<String, String> {
    if name.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
        return Err(format!("the name '{name}' has a part that is empty, '.' or '..'"));
    }
    let mut path = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                path.push(byte.into());
            }
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests;
