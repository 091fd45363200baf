//! Publishing: one message, one acknowledgement.
//!
//! This is the path of every request and every frame. It is one request on the reply subject that the connection
//! shares, without the acknowledgement futures, the semaphore and the timer that a JetStream context of `async-nats`
//! adds to each message; and it leaves the meaning of a missing response to the caller.

use async_nats::{HeaderMap, Request};
use bytes::Bytes;
use serde::Deserialize;

use super::{JetStream, JetStreamError, error};

/// A stream's acknowledgement of a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Ack {
    #[serde(rename = "seq")]
    pub sequence: u64,
    /// The domain of the stream that stored it, if it has one.
    #[serde(default)]
    pub domain: Option<String>,
}

impl JetStream {
    /// Publishes a message to the stream that listens to its subject and waits until it is stored.
    pub async fn publish(&self, subject: String, payload: Bytes) -> Result<Ack, JetStreamError> {
        self.publish_with_headers(subject, HeaderMap::new(), payload).await
    }

    pub(crate) async fn publish_with_headers(
        &self,
        subject: String,
        headers: HeaderMap,
        payload: Bytes,
    ) -> Result<Ack, JetStreamError> {
        let mut request = Request::new().payload(payload);
        if !headers.is_empty() {
            request = request.headers(headers);
        }
        let response = self.send(subject.clone(), request, self.response_max).await?;
        error::parse(&subject, &response.payload)
    }
}
