//! Key-value buckets: values with revisions, compare-and-set, and watching for changes.

use async_nats::HeaderMap;
use async_nats::jetstream::kv::{Entry, Operation, Watch};
use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::direct::{BatchEnd, DirectMessage};
use super::error::code;
use super::{JetStream, JetStreamError, StoredMessage};

/// Keys that are read with one request.
const PAGE_MAX: u64 = 512;
const OPERATION: &str = "KV-Operation";
const MARKER_REASON: &str = "Nats-Marker-Reason";

/// A key at one of its revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyEntry {
    pub key: String,
    pub revision: u64,
    /// None if the key was deleted or has expired.
    pub value: Option<Bytes>,
}

impl KeyEntry {
    fn of_message(message: &DirectMessage, prefix: &str) -> Option<KeyEntry> {
        let key = message.header("Nats-Subject")?.strip_prefix(prefix)?.to_owned();
        let is_gone = message.header(OPERATION).is_some() || message.header(MARKER_REASON).is_some();
        let value = (!is_gone).then(|| message.payload.clone());
        Some(KeyEntry { key, revision: message.sequence, value })
    }

    fn of_watch(entry: Entry) -> KeyEntry {
        let value = (entry.operation == Operation::Put).then_some(entry.value);
        KeyEntry { key: entry.key, revision: entry.revision, value }
    }
}

/// The changes of a bucket from the moment at which it was opened.
pub struct BucketWatch(Watch);

impl BucketWatch {
    /// The next change; none when the watch has ended and must be opened again.
    pub async fn next(&mut self) -> Option<KeyEntry> {
        self.0.next().await.and_then(Result::ok).map(KeyEntry::of_watch)
    }
}

impl JetStream {
    /// The newest value of a key, with its revision, from the leader. None if the key or the bucket does not exist; a
    /// deleted key has an empty value.
    pub async fn value(&self, bucket: &str, key: &str) -> Result<Option<StoredMessage>, JetStreamError> {
        match self.last_message(&stream_of(bucket), &format!("$KV.{bucket}.{key}")).await {
            Err(JetStreamError::Missing { .. }) => Ok(None),
            found => found,
        }
    }

    /// Writes a key and returns its revision. With `expected`, only if the key still has that revision; 0 means that the
    /// key must not exist. Otherwise the result is [`JetStreamError::Changed`].
    pub async fn put(
        &self,
        bucket: &str,
        key: &str,
        value: Vec<u8>,
        expected: Option<u64>,
    ) -> Result<u64, JetStreamError> {
        let mut headers = HeaderMap::new();
        if let Some(expected) = expected {
            headers.insert("Nats-Expected-Last-Subject-Sequence", expected.to_string().as_str());
        }
        self.write(bucket, key, headers, value.into()).await
    }

    /// Marks a key as deleted.
    pub async fn delete_key(&self, bucket: &str, key: &str) -> Result<(), JetStreamError> {
        let mut headers = HeaderMap::new();
        headers.insert(OPERATION, "DEL");
        self.write(bucket, key, headers, Bytes::new()).await.map(drop)
    }

    async fn write(
        &self,
        bucket: &str,
        key: &str,
        headers: HeaderMap,
        value: Bytes,
    ) -> Result<u64, JetStreamError> {
        let subject = format!("{}$KV.{bucket}.{key}", self.key_prefix);
        match self.publish_with_headers(subject, headers, value).await {
            Ok(ack) => Ok(ack.sequence),
            Err(error) => match error.code() {
                Some(code::WRONG_LAST_SEQUENCE | code::WRONG_LAST_SEQUENCE_CONSTANT) => {
                    Err(JetStreamError::Changed)
                }
                _ => Err(error),
            },
        }
    }

    /// All keys of a bucket that keeps one revision of each, from whichever replicas respond. A key that is written
    /// meanwhile comes later in the stream, so that no key is left out.
    pub async fn entries(&self, bucket: &str) -> Result<Vec<KeyEntry>, JetStreamError> {
        let (stream, prefix) = (stream_of(bucket), format!("$KV.{bucket}."));
        let (mut entries, mut from) = (Vec::new(), 1);
        loop {
            let request = json!({ "seq": from, "next_by_subj": format!("{prefix}>"), "batch": PAGE_MAX });
            let page = self.direct_batch(&stream, &request).await?;
            let BatchEnd::Complete { pending } = page.end else {
                return Err(JetStreamError::unreachable(&stream, "the replica did not send all keys"));
            };
            let last = page.messages.last().map(|message| message.sequence);
            let found = page.messages.iter();
            entries.extend(found.filter_map(|message| KeyEntry::of_message(message, &prefix)));
            match last {
                Some(last) if pending > 0 => from = last + 1,
                _ => return Ok(entries),
            }
        }
    }

    /// Watches all keys of a bucket from now on.
    pub async fn watch(&self, bucket: &str) -> Result<BucketWatch, JetStreamError> {
        // The ordered consumer of a watch is a protocol of its own, with resets after gaps: the library has it.
        let failed = |error: &dyn std::fmt::Display| JetStreamError::unreachable(&stream_of(bucket), error);
        let watching = async {
            let context = async_nats::jetstream::new(self.nats.clone());
            let store = context.get_key_value(bucket).await.map_err(|error| failed(&error))?;
            store.watch_all().await.map_err(|error| failed(&error))
        };
        match timeout(self.response_max, watching).await {
            Ok(watch) => watch.map(BucketWatch),
            Err(_) => Err(failed(&"timed out")),
        }
    }
}

fn stream_of(bucket: &str) -> String {
    format!("KV_{bucket}")
}

/// The stream of a bucket that keeps one revision of each key, as clients of NATS configure it.
pub fn bucket_config(bucket: &str, replicas: usize) -> Map<String, Value> {
    let config = json!({
        "name": stream_of(bucket),
        "subjects": [format!("$KV.{bucket}.>")],
        "retention": "limits",
        "max_msgs_per_subject": 1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_consumers": -1,
        "max_msg_size": -1,
        "discard": "new",
        "storage": "file",
        "num_replicas": replicas,
        "allow_rollup_hdrs": true,
        "deny_delete": true,
        "allow_direct": true,
    });
    config.as_object().cloned().unwrap_or_default()
}
