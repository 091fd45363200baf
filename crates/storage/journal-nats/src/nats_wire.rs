//! The journal's wire to real servers.

mod tail;

use std::sync::{Arc, Mutex};

use async_nats::HeaderMap;
use bytes::Bytes;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::jetstream::{Ack, JetStream, JetStreamError};
use crate::limits::RANGE_MESSAGES_MAX;
use crate::names;
use crate::open::OpenError;
use crate::preflight::ServerWatch;
use crate::settings::Settings;
use crate::wire::{Bounds, Outgoing, PublishError, Source, Storage, Wire};

/// JetStream as the journal of one installation uses it. Cheap to clone.
#[derive(Clone)]
pub struct NatsWire {
    jetstream: JetStream,
    installation: String,
    /// JetStream of the paired region.
    pair: Option<JetStream>,
    followers: Arc<Followers>,
    servers: ServerWatch,
}

/// Tasks that end with the last clone of the wire.
#[derive(Default)]
struct Followers(Mutex<Vec<AbortHandle>>);

impl Drop for Followers {
    fn drop(&mut self) {
        for follower in self.0.lock().expect("no holder of the lock panics").drain(..) {
            follower.abort();
        }
    }
}

impl NatsWire {
    /// Over a connection to servers that have passed [`crate::preflight::check`].
    pub fn new(jetstream: JetStream, settings: &Settings, servers: ServerWatch) -> NatsWire {
        NatsWire {
            pair: settings.pair_domain.as_ref().map(|domain| jetstream.in_domain(domain)),
            jetstream,
            installation: settings.installation.name.clone(),
            followers: Arc::default(),
            servers,
        }
    }

    /// Connects without asking whether the servers are fit.
    pub async fn connect(settings: &Settings) -> Result<NatsWire, OpenError> {
        let jetstream = JetStream::connect(settings).await?;
        Ok(NatsWire::new(jetstream, settings, ServerWatch::default()))
    }

    pub fn jetstream(&self) -> &JetStream {
        &self.jetstream
    }
}

impl Wire for NatsWire {
    async fn publish(&self, message: Outgoing) -> Result<u64, PublishError> {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Stream", message.stream.as_str());
        if let Some(last) = message.expected_last {
            headers.insert("Nats-Expected-Last-Sequence", last.to_string());
        }
        if let Some(id) = &message.message_id {
            headers.insert("Nats-Msg-Id", id.as_str());
        }
        let published = self.jetstream.publish_with_headers(message.subject, headers, message.payload).await;
        let ack = published.map_err(publish_error)?;
        let sequence = stored_here(ack, self.jetstream.local_domain().as_deref())?;
        if message.expected_last.is_none() {
            self.announce_tail(&message.stream, sequence).await;
        }
        Ok(sequence)
    }

    async fn bounds(&self, stream: &str) -> Result<Bounds, JetStreamError> {
        let info = self.jetstream.info(stream).await?;
        let subject = names::subject_of(&self.installation, stream).unwrap_or_default();
        let opened = info.config_subjects().first().and_then(|opened| names::opened_at(&subject, opened));
        Ok(Bounds { first: info.first_or_next(), last: info.last, bytes: info.bytes, opened })
    }

    async fn storage(&self) -> Result<Storage, JetStreamError> {
        let account = self.jetstream.account_storage().await?;
        let servers = self.servers.survey().borrow().storage;
        Ok(servers.map_or(account, |servers| account.tighter(servers)))
    }

    async fn get(
        &self,
        stream: &str,
        sequence: u64,
        source: Source,
    ) -> Result<Option<Bytes>, JetStreamError> {
        match (source, &self.pair) {
            (Source::Leader, _) => message(&self.jetstream, stream, sequence).await,
            (Source::AnyReplica, _) => self.jetstream.direct_message(stream, sequence).await,
            (Source::Pair, Some(pair)) => {
                let found = message(pair, stream, sequence).await?;
                // Asked after the message: a mirror may become a stream of its own meanwhile, never the reverse.
                let is_mirror =
                    pair.info(stream).await?.is_mirror_of(stream, self.jetstream.local_domain().as_deref());
                Ok(found.filter(|_| is_mirror))
            }
            (Source::Pair, None) => Ok(None),
        }
    }

    async fn range(
        &self,
        stream: &str,
        from: u64,
        through: u64,
        bytes_max: usize,
    ) -> Result<Vec<(u64, Bytes)>, JetStreamError> {
        if from > through {
            return Ok(Vec::new());
        }
        let batch = (through - from + 1).min(RANGE_MESSAGES_MAX);
        let request = json!({ "seq": from, "batch": batch, "max_bytes": bytes_max });
        // The caller finds the gap if the end is missing.
        let found = self.jetstream.direct_batch(stream, &request).await?;
        if found.messages.is_empty() && found.is_cut_short() {
            return Err(JetStreamError::unreachable(&format!("DIRECT.GET.{stream}"), "timed out"));
        }
        let messages = found.messages.into_iter().filter(|message| message.sequence <= through);
        Ok(messages.map(|message| (message.sequence, message.payload)).collect())
    }

    async fn purge(&self, stream: &str, first: u64) -> Result<(), JetStreamError> {
        self.jetstream.purge_below(stream, first).await
    }

    fn follow(&self, stream: &str) -> watch::Receiver<u64> {
        self.start_following(stream)
    }
}

async fn message(
    jetstream: &JetStream,
    stream: &str,
    sequence: u64,
) -> Result<Option<Bytes>, JetStreamError> {
    let found = jetstream.message(stream, sequence).await?;
    Ok(found.filter(|found| found.sequence == sequence).map(|found| found.data))
}

/// The sequence, if the message was stored in this domain. Regions that are joined without `deny_imports` and
/// `deny_exports` pass messages to each other, and a sequence of the other region says nothing about this one.
fn stored_here(ack: Ack, domain: Option<&str>) -> Result<u64, PublishError> {
    match (ack.domain, domain) {
        (Some(there), Some(here)) if there != here => Err(PublishError::Unknown(format!(
            "domain {there} responded instead of {here}: leaf connections must deny these subjects"
        ))),
        _ => Ok(ack.sequence),
    }
}

const WRONG_LAST: u16 = 10071;
/// Insufficient storage; insufficient resources; the limit of the account.
const FULL: [u16; 3] = [10047, 10023, 10002];
/// The store failed, for whatever reason; only a limit of the stream is a permanent refusal.
const STORE_FAILED: u16 = 10077;
const STREAM_LIMITS: [&str; 3] =
    ["maximum bytes exceeded", "maximum messages exceeded", "maximum messages per subject"];
const LARGER_THAN_THE_STREAM_ALLOWS: u16 = 10054;

/// What a failed publish means. Unless it is certain that the message was refused, it may still be stored.
fn publish_error(error: JetStreamError) -> PublishError {
    let description = match &error {
        JetStreamError::TooLarge { .. } => return PublishError::TooLarge,
        JetStreamError::Refused { description, .. } => description,
        _ => return PublishError::Unknown(error.to_string()),
    };
    match error.code() {
        Some(WRONG_LAST) => PublishError::WrongLast,
        Some(LARGER_THAN_THE_STREAM_ALLOWS) => PublishError::TooLarge,
        Some(code) if FULL.contains(&code) => PublishError::Full,
        Some(STORE_FAILED) if STREAM_LIMITS.iter().any(|limit| description.contains(limit)) => {
            PublishError::Full
        }
        _ => PublishError::Unknown(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(code: u16) -> PublishError {
        meaning_of(code, "x")
    }

    fn meaning_of(code: u16, description: &str) -> PublishError {
        let response = json!({
            "error": { "code": 400, "err_code": code, "description": description },
            "stream": "S",
            "seq": 0,
        });
        let parsed = crate::jetstream::error::parse::<Ack>("s", response.to_string().as_bytes());
        publish_error(parsed.expect_err("an error is not a success"))
    }

    #[test]
    fn an_answer_from_the_other_region_says_nothing() {
        let ack = || Ack { sequence: 7, domain: Some("west".to_owned()) };
        assert_eq!(stored_here(ack(), Some("west")), Ok(7));
        assert_eq!(stored_here(ack(), None), Ok(7));
        assert!(matches!(stored_here(ack(), Some("east")), Err(PublishError::Unknown(_))));
    }

    #[test]
    fn only_what_is_certain_is_a_refusal() {
        assert_eq!(meaning(10071), PublishError::WrongLast);
        assert_eq!(meaning(10047), PublishError::Full);
        assert_eq!(meaning_of(10077, "maximum bytes exceeded"), PublishError::Full);
        let failed = meaning_of(10077, "write 1.blk: input/output error");
        assert!(matches!(failed, PublishError::Unknown(_)), "{failed:?}");
        for unknown in [10077, 10164, 10008, 10158, 10060, 1] {
            assert!(matches!(meaning(unknown), PublishError::Unknown(_)), "{unknown}");
        }
    }
}
