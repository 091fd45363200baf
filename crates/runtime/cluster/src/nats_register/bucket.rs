//! One bucket of keys in JetStream.

use std::error::Error;
use std::time::Duration;

use crate::RegisterError;
use async_nats::Client;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::CreateKeyValueError;
use async_nats::jetstream::kv::{Config, Entry, Operation, Store, Watch};
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use tracing::warn;

use super::table::News;
use journal_nats::OpenError;
use journal_nats::WireError;
use journal_nats::ask_again;
use journal_nats::layout::TRIES_MAX;

/// From one message of an answer to the next.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// Keys that are read at once.
const PAGE_MAX: u64 = 512;
const OPERATION: &str = "KV-Operation";
const MARKER: &str = "Nats-Marker-Reason";

/// A bucket. Cheap to clone.
#[derive(Clone)]
pub(super) struct Bucket {
    client: Client,
    store: Store,
}

impl Bucket {
    /// Opens a bucket that is there as asked for, or is made so. `lives`: how long keys live, and how long it is
    /// kept that they ran out.
    pub(super) async fn open(
        jetstream: &Context,
        name: String,
        replicas: usize,
        lives: Option<(Duration, Duration)>,
    ) -> Result<Bucket, OpenError> {
        let config = Config {
            bucket: name.clone(),
            history: 1,
            num_replicas: replicas,
            max_age: lives.map_or(Duration::ZERO, |(lifetime, _)| lifetime),
            limit_markers: lives.map(|(_, markers)| markers),
            ..Config::default()
        };
        // The copy of another region's bucket stays one: to ask for anything else would cut it off.
        if let Ok(store) = jetstream.get_key_value(&name).await
            && store.stream.cached_info().config.mirror.is_some()
        {
            return Ok(Bucket { client: jetstream.client(), store });
        }
        // Several instances that start at once make it at once; a cluster that starts has no leader yet.
        let made = ask_again(TRIES_MAX, || {
            let making = jetstream.create_or_update_key_value(config.clone());
            OpenError::made(&name, making, |error| unopened(&name, error))
        });
        let store = made.await??;
        Ok(Bucket { client: jetstream.client(), store })
    }

    pub(super) async fn put(&self, key: &str, value: Vec<u8>) -> Result<(), RegisterError> {
        let put = self.store.put(key, value.into()).await;
        put.map(drop).map_err(|error| failed("writing", key, &error))
    }

    pub(super) async fn delete(&self, key: &str) -> Result<(), RegisterError> {
        self.store.delete(key).await.map_err(|error| failed("deleting", key, &error))
    }

    /// Writes a key if it still has this revision; 0 when it must not be there.
    pub(super) async fn replace(
        &self,
        key: &str,
        value: Vec<u8>,
        revision: u64,
    ) -> Result<(), RegisterError> {
        let update = self.store.update(key, value.into(), revision).await;
        update.map(drop).map_err(|error| failed("replacing", key, &error))
    }

    /// The last revision of a key and its value, as the leader has them.
    pub(super) async fn last<T: DeserializeOwned>(
        &self,
        key: &str,
    ) -> Result<(u64, Option<T>), RegisterError> {
        let subject = format!("{}{key}", self.store.prefix);
        match self.store.stream.get_last_raw_message_by_subject(&subject).await {
            // What cannot be read, or was deleted, is written over.
            Ok(message) => Ok((message.sequence, serde_json::from_slice(&message.payload).ok())),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok((0, None)),
            Err(error) => Err(failed("reading", key, &error)),
        }
    }

    /// Follows what is written from now on.
    pub(super) async fn watch(&self) -> Result<Watch, RegisterError> {
        let watch = timeout(ANSWER_WITHIN, self.store.watch_all()).await;
        let watch = watch.map_err(|_| no_answer("watching", &self.store.name))?;
        watch.map_err(|error| failed("watching", &self.store.name, &error))
    }

    /// All keys with their last values, from whichever replicas answer. The stream has one message of each key, so that
    /// they are read in its order, a page after another: a key that is written meanwhile comes later.
    pub(super) async fn read<T: DeserializeOwned>(&self) -> Result<Vec<News<T>>, RegisterError> {
        let (mut reading, mut next) = (Vec::new(), Some(1));
        while let Some(from) = next {
            next = self.read_page(from, &mut reading).await?;
        }
        Ok(reading)
    }

    /// Reads on from a sequence; answers with the next one, if there is more.
    async fn read_page<T: DeserializeOwned>(
        &self,
        from: u64,
        reading: &mut Vec<News<T>>,
    ) -> Result<Option<u64>, RegisterError> {
        let name = &self.store.name;
        let inbox = self.client.new_inbox();
        let mut answers =
            self.client.subscribe(inbox.clone()).await.map_err(|e| failed("reading", name, &e))?;
        let keys = format!("{}>", self.store.prefix);
        let request = serde_json::json!({ "seq": from, "next_by_subj": keys, "batch": PAGE_MAX }).to_string();
        let subject = format!("$JS.API.DIRECT.GET.{}", self.store.stream_name);
        let asked = self.client.publish_with_reply(subject, inbox, request.into()).await;
        asked.map_err(|error| failed("reading", name, &error))?;
        let mut last = None;
        loop {
            let answer = timeout(ANSWER_WITHIN, answers.next()).await;
            let Ok(Some(message)) = answer else { return Err(no_answer("reading", name)) };
            match message.status.map(|status| status.as_u16()) {
                None => {
                    last = number(&message, "Nats-Sequence").or(last);
                    reading.extend(self.parse(&message));
                }
                // The end of the page, and nothing at all.
                Some(204 | 404) => {
                    let is_last = number(&message, "Nats-Num-Pending").unwrap_or(0) == 0;
                    return Ok(last.filter(|_| !is_last).map(|last| last + 1));
                }
                Some(status) => {
                    let said = message.description.unwrap_or_default();
                    return Err(RegisterError(format!("reading {name}: {status} {said}")));
                }
            }
        }
    }

    fn parse<T: DeserializeOwned>(&self, message: &async_nats::Message) -> Option<News<T>> {
        let headers = message.headers.as_ref()?;
        let key = headers.get("Nats-Subject")?.as_str().strip_prefix(&self.store.prefix)?;
        let revision = number(message, "Nats-Sequence")?;
        let gone = headers.get(OPERATION).is_some() || headers.get(MARKER).is_some();
        Some(self.news(key, revision, (!gone).then_some(&message.payload)))
    }

    /// What a watcher has said.
    pub(super) fn heard<T: DeserializeOwned>(&self, entry: &Entry) -> News<T> {
        let there = entry.operation == Operation::Put;
        self.news(&entry.key, entry.revision, there.then_some(&entry.value))
    }

    /// A value that cannot be read is none: it was written by a version that this one does not know.
    fn news<T: DeserializeOwned>(&self, key: &str, revision: u64, value: Option<&bytes::Bytes>) -> News<T> {
        let value = value.and_then(|value| {
            let parsed = serde_json::from_slice(value);
            parsed.inspect_err(|error| warn!(bucket = self.store.name, key, %error, "not readable")).ok()
        });
        News { key: key.to_owned(), revision, value }
    }
}

fn number(message: &async_nats::Message, header: &str) -> Option<u64> {
    message.headers.as_ref()?.get(header)?.as_str().parse().ok()
}

fn unopened(name: &str, error: &CreateKeyValueError) -> OpenError {
    match error.source().and_then(|source| source.downcast_ref()) {
        Some(error) => OpenError::of_making(name, error),
        None => OpenError::Unanswered(WireError(format!("making the bucket {name}: {error}"))),
    }
}

fn failed(what: &str, name: &str, error: &dyn std::fmt::Display) -> RegisterError {
    RegisterError(format!("{what} {name}: {error}"))
}

fn no_answer(what: &str, name: &str) -> RegisterError {
    RegisterError(format!("{what} {name}: no answer"))
}
