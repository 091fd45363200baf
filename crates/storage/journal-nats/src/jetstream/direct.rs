//! Direct reads: any replica of a stream responds, which may lag, and the payload is not encoded in base64.

use async_nats::{Message, Request};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;

use super::{JetStream, JetStreamError};

/// A message as a replica sends it.
#[derive(Debug, Clone)]
pub struct DirectMessage {
    pub sequence: u64,
    pub payload: Bytes,
    message: Message,
}

impl DirectMessage {
    /// None for a status message, or one without a sequence.
    fn from(message: Message) -> Option<DirectMessage> {
        let sequence = number(&message, "Nats-Sequence").filter(|_| message.status.is_none())?;
        Some(DirectMessage { sequence, payload: message.payload.clone(), message })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        Some(self.message.headers.as_ref()?.get(name)?.as_str())
    }
}

/// The messages that one request for several has brought.
pub(crate) struct DirectBatch {
    pub(crate) messages: Vec<DirectMessage>,
    pub(crate) end: BatchEnd,
}

/// How a batch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchEnd {
    /// The replica has sent everything that fits; `pending` more messages match the request.
    Complete { pending: u64 },
    /// The next message did not arrive in time.
    CutShort,
}

impl DirectBatch {
    pub(crate) fn is_cut_short(&self) -> bool {
        self.end == BatchEnd::CutShort
    }
}

impl JetStream {
    /// The message with this sequence, if the replica that responds has it.
    pub(crate) async fn direct_message(
        &self,
        stream: &str,
        sequence: u64,
    ) -> Result<Option<Bytes>, JetStreamError> {
        let subject = self.direct_subject(stream);
        let body = json!({ "seq": sequence }).to_string();
        let request = Request::new().payload(body.into());
        let message = self.send(subject.clone(), request, self.response_max).await?;
        match status_of(&message) {
            Some(404) => Ok(None),
            Some(_) => Err(unexpected(&subject, &message)),
            None => Ok((number(&message, "Nats-Sequence") == Some(sequence)).then_some(message.payload)),
        }
    }

    /// Several messages with one request. Each of them has the time limit of a response.
    pub(crate) async fn direct_batch(
        &self,
        stream: &str,
        request: &impl Serialize,
    ) -> Result<DirectBatch, JetStreamError> {
        let subject = self.direct_subject(stream);
        let body = serde_json::to_vec(request).map_err(|error| JetStreamError::invalid(&subject, error))?;
        let failed = |error: &dyn std::fmt::Display| JetStreamError::unreachable(&subject, error);
        let asked = timeout(self.response_max, async {
            let inbox = self.nats.new_inbox();
            let responses = self.nats.subscribe(inbox.clone()).await.map_err(|error| failed(&error))?;
            let sent = self.nats.publish_with_reply(subject.clone(), inbox, body.into()).await;
            sent.map_err(|error| failed(&error))?;
            Ok(responses)
        });
        let mut responses = asked.await.map_err(|_| failed(&"timed out"))??;
        let mut messages = Vec::new();
        while let Ok(Some(message)) = timeout(self.response_max, responses.next()).await {
            match status_of(&message) {
                Some(204 | 404) => {
                    let pending = number(&message, "Nats-Num-Pending").unwrap_or(0);
                    return Ok(DirectBatch { messages, end: BatchEnd::Complete { pending } });
                }
                Some(_) => return Err(unexpected(&subject, &message)),
                None => {
                    let parsed = DirectMessage::from(message);
                    messages.push(parsed.ok_or_else(|| JetStreamError::invalid(&subject, "no sequence"))?);
                }
            }
        }
        Ok(DirectBatch { messages, end: BatchEnd::CutShort })
    }

    fn direct_subject(&self, stream: &str) -> String {
        format!("{}.DIRECT.GET.{stream}", self.prefix)
    }
}

fn status_of(message: &Message) -> Option<u16> {
    message.status.map(|status| status.as_u16())
}

fn unexpected(subject: &str, message: &Message) -> JetStreamError {
    let description = message.description.as_deref().unwrap_or_default();
    let status = status_of(message).unwrap_or_default();
    JetStreamError::Refused {
        request: subject.to_owned(),
        status,
        code: 0,
        description: format!("status {status} {description}"),
    }
}

fn number(message: &Message, header: &str) -> Option<u64> {
    message.headers.as_ref()?.get(header)?.as_str().parse().ok()
}
