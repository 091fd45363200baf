//! Many messages with one question: some replica sends them one after the other.

use std::time::Duration;

use async_nats::Message;
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::timeout;

use super::{ANSWER_MAX, api};
use crate::wire::WireError;

/// More would only be cut off by the bytes.
const BATCH_MAX: u64 = 4096;
/// Between two messages of one answer.
const NEXT_MAX: Duration = Duration::from_secs(2);

pub(super) async fn read(
    nats: &async_nats::Client,
    stream: &str,
    from: u64,
    through: u64,
    bytes_max: usize,
) -> Result<Vec<(u64, Bytes)>, WireError> {
    if from > through {
        return Ok(Vec::new());
    }
    let batch = (through - from + 1).min(BATCH_MAX);
    let question = api::GetRange { seq: from, batch, max_bytes: bytes_max };
    let payload = serde_json::to_vec(&question).expect("a question can always be written");
    let subject = format!("{}.DIRECT.GET.{stream}", api::PREFIX);
    let failed = |why: &dyn std::fmt::Display| WireError(format!("DIRECT.GET.{stream}: {why}"));
    let mut answers = timeout(ANSWER_MAX, async {
        let inbox = nats.new_inbox();
        let answers = nats.subscribe(inbox.clone()).await.map_err(|error| failed(&error))?;
        nats.publish_with_reply(subject, inbox, payload.into()).await.map_err(|error| failed(&error))?;
        Ok(answers)
    })
    .await
    .map_err(|_| failed(&"no answer"))??;
    let mut messages = Vec::new();
    // What does not come is a gap that the caller sees, like any other.
    while let Ok(Some(message)) = timeout(NEXT_MAX, answers.next()).await {
        let Some(sequence) = sequence_of(&message).filter(|_| message.status.is_none()) else {
            return match message.status.map(|status| status.as_u16()) {
                Some(204 | 404) => Ok(messages),
                status => Err(failed(&format!("status {status:?}"))),
            };
        };
        if sequence <= through {
            messages.push((sequence, message.payload));
        }
    }
    if messages.is_empty() { Err(failed(&"no answer")) } else { Ok(messages) }
}

/// The sequence that a direct answer says it has.
pub(super) fn sequence_of(message: &Message) -> Option<u64> {
    message.headers.as_ref()?.get("Nats-Sequence")?.as_str().parse().ok()
}
