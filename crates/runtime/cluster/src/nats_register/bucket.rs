//! One bucket of the register.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::json;
use tracing::warn;

use super::table::KeyUpdate;
use crate::RegisterError;
use journal_nats::OpenError;
use journal_nats::jetstream::{BucketWatch, JetStream, JetStreamError, KeyEntry, bucket_config};
use journal_nats::layout;

/// How long the keys of a bucket live.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyLife {
    /// Until they are deleted.
    Permanent,
    /// For `ttl` after the last write. The servers keep the marker of an expired key for `marker_ttl`.
    Expiring { ttl: Duration, marker_ttl: Duration },
}

/// A bucket. Cheap to clone.
#[derive(Clone)]
pub(super) struct Bucket {
    jetstream: JetStream,
    name: String,
}

impl Bucket {
    /// Opens a bucket; creates it if it does not exist, and changes it if it is configured otherwise.
    pub(super) async fn open(
        jetstream: &JetStream,
        name: String,
        replicas: usize,
        life: KeyLife,
    ) -> Result<Bucket, OpenError> {
        let mut config = bucket_config(&name, replicas);
        if let KeyLife::Expiring { ttl, marker_ttl } = life {
            config.insert("max_age".to_owned(), json!(nanoseconds(ttl)));
            config.insert("allow_msg_ttl".to_owned(), json!(true));
            config.insert("subject_delete_marker_ttl".to_owned(), json!(nanoseconds(marker_ttl)));
        }
        layout::create_or_update(jetstream, &config).await?;
        Ok(Bucket { jetstream: jetstream.clone(), name })
    }

    pub(super) async fn put(&self, key: &str, value: Vec<u8>) -> Result<(), RegisterError> {
        let put = self.jetstream.put(&self.name, key, value, None).await;
        put.map(drop).map_err(|error| self.failed("writing", key, &error))
    }

    pub(super) async fn delete(&self, key: &str) -> Result<(), RegisterError> {
        let deleted = self.jetstream.delete_key(&self.name, key).await;
        deleted.map_err(|error| self.failed("deleting", key, &error))
    }

    /// Writes a key if it still has this revision; 0 means that it must not exist.
    pub(super) async fn replace(
        &self,
        key: &str,
        value: Vec<u8>,
        revision: u64,
    ) -> Result<(), RegisterError> {
        let put = self.jetstream.put(&self.name, key, value, Some(revision)).await;
        put.map(drop).map_err(|error| self.failed("writing", key, &error))
    }

    /// The last revision of a key and its value, as the leader has them. A value that cannot be read, or was deleted, is
    /// none: it may be overwritten.
    pub(super) async fn last<T: DeserializeOwned>(
        &self,
        key: &str,
    ) -> Result<(u64, Option<T>), RegisterError> {
        match self.jetstream.value(&self.name, key).await {
            Ok(Some(found)) => Ok((found.sequence, serde_json::from_slice(&found.data).ok())),
            Ok(None) => Ok((0, None)),
            Err(error) => Err(self.failed("reading", key, &error)),
        }
    }

    /// Watches all keys from now on.
    pub(super) async fn watch(&self) -> Result<BucketWatch, RegisterError> {
        self.jetstream.watch(&self.name).await.map_err(|error| self.failed("watching", ">", &error))
    }

    /// All keys with their last values, from whichever replicas respond.
    pub(super) async fn read<T: DeserializeOwned>(&self) -> Result<Vec<KeyUpdate<T>>, RegisterError> {
        let entries = self.jetstream.entries(&self.name).await;
        let entries = entries.map_err(|error| self.failed("reading", ">", &error))?;
        Ok(entries.into_iter().map(|entry| self.parse(entry)).collect())
    }

    /// A value that cannot be read counts as absent: a version that this one does not know wrote it.
    pub(super) fn parse<T: DeserializeOwned>(&self, entry: KeyEntry) -> KeyUpdate<T> {
        let KeyEntry { key, revision, value } = entry;
        let value = value.and_then(|value| {
            let parsed = serde_json::from_slice(&value);
            let parsed = parsed.inspect_err(|error| {
                warn!(bucket = self.name, key, %error, "ignoring an unreadable entry of the register");
            });
            parsed.ok()
        });
        KeyUpdate { key, revision, value }
    }

    fn failed(&self, attempt: &str, key: &str, error: &JetStreamError) -> RegisterError {
        RegisterError(format!("{attempt} {key} of {}: {error}", self.name))
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
