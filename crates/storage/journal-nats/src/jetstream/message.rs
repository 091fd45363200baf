//! Single messages, read from the leader of their stream.

use std::time::SystemTime;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::code;
use super::{JetStream, JetStreamError};

/// A message as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    pub sequence: u64,
    pub subject: String,
    pub headers: Bytes,
    pub data: Bytes,
    /// When it was stored, as the server writes it.
    pub time: String,
}

impl StoredMessage {
    /// When it was stored, by the clock of the server.
    pub fn stored_at(&self) -> Option<SystemTime> {
        Some(self.time.parse::<jiff::Timestamp>().ok()?.into())
    }
}

impl JetStream {
    /// The message with this sequence, if the stream has it.
    pub async fn message(
        &self,
        stream: &str,
        sequence: u64,
    ) -> Result<Option<StoredMessage>, JetStreamError> {
        self.get(stream, &json!({ "seq": sequence })).await
    }

    /// The first message at or after this sequence.
    pub async fn message_from(
        &self,
        stream: &str,
        sequence: u64,
    ) -> Result<Option<StoredMessage>, JetStreamError> {
        self.get(stream, &json!({ "seq": sequence, "next_by_subj": ">" })).await
    }

    /// The last message on a subject.
    pub async fn last_message(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<StoredMessage>, JetStreamError> {
        self.get(stream, &json!({ "last_by_subj": subject })).await
    }

    async fn get(&self, stream: &str, question: &Value) -> Result<Option<StoredMessage>, JetStreamError> {
        let request = format!("STREAM.MSG.GET.{stream}");
        let MessageResponse { message } = match self.ask(&request, question).await {
            Err(error) if error.code() == Some(code::MESSAGE_NOT_FOUND) => return Ok(None),
            response => response?,
        };
        let bytes = |text: Option<String>| match text {
            None => Ok(Bytes::new()),
            Some(text) => STANDARD.decode(text).map(Bytes::from),
        };
        let invalid = |error| JetStreamError::invalid(&request, error);
        Ok(Some(StoredMessage {
            sequence: message.seq,
            subject: message.subject,
            headers: bytes(message.hdrs).map_err(invalid)?,
            data: bytes(message.data).map_err(invalid)?,
            time: message.time,
        }))
    }
}

#[derive(Deserialize)]
struct MessageResponse {
    message: MessageFields,
}

#[derive(Deserialize)]
struct MessageFields {
    seq: u64,
    subject: String,
    hdrs: Option<String>,
    data: Option<String>,
    #[serde(default)]
    time: String,
}
