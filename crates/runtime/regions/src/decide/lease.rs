//! A lease: an entry of a bucket that the server deletes when it is not renewed. Its holder stops trusting it well before
//! that; another region may take it once it is gone.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

use journal_nats::jetstream::{JetStream, JetStreamError, bucket_config};

const KEY: &str = "lease";

/// Keys with compare-and-set: JetStream in the product, a model in tests.
pub(crate) trait Keys {
    /// The newest value of a key, with its revision.
    fn newest(
        &self,
        bucket: &str,
        key: &str,
    ) -> impl Future<Output = Result<Option<(Bytes, u64)>, JetStreamError>> + Send;

    /// Writes a key if it still has this revision; 0 means that it must not exist.
    fn replace(
        &self,
        bucket: &str,
        key: &str,
        value: Vec<u8>,
        revision: u64,
    ) -> impl Future<Output = Result<(), JetStreamError>> + Send;
}

impl Keys for JetStream {
    async fn newest(&self, bucket: &str, key: &str) -> Result<Option<(Bytes, u64)>, JetStreamError> {
        Ok(self.value(bucket, key).await?.map(|found| (found.data, found.sequence)))
    }

    async fn replace(
        &self,
        bucket: &str,
        key: &str,
        value: Vec<u8>,
        revision: u64,
    ) -> Result<(), JetStreamError> {
        self.put(bucket, key, value, Some(revision)).await.map(drop)
    }
}

/// A lease as one region sees it.
pub(crate) struct Lease<K = JetStream> {
    keys: K,
    bucket: String,
    region: String,
    /// How long it lives without a renewal.
    lives: Duration,
    // A lock: one moment, read and written in passing.
    held_until: Mutex<Option<Instant>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    region: String,
    epoch: u64,
}

/// The reply to a region that wants to take or renew a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LeaseReply {
    Granted,
    /// Another region has the lease.
    HeldBy(String),
    /// A higher epoch was granted.
    Superseded(u64),
}

/// Whose lease may be overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overwrite {
    OwnOrFree,
    Any,
}

impl<K: Keys> Lease<K> {
    pub(crate) fn new(keys: K, bucket: String, region: &str, lives: Duration) -> Lease<K> {
        Lease { keys, bucket, region: region.to_owned(), lives, held_until: Mutex::new(None) }
    }

    /// How long a region trusts the lease after its last renewal: shorter than the lease by more than a response can take.
    fn hold(&self) -> Duration {
        self.lives * 2 / 3
    }

    /// Whether the lease was renewed recently enough.
    pub(crate) fn is_held(&self) -> bool {
        let until = *self.held_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// The lease is trusted from the moment at which the renewal began.
    pub(crate) fn held_since(&self, begun: Instant) {
        *self.held_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun + self.hold());
    }

    /// Renews or takes the lease under an epoch.
    pub(crate) async fn take(&self, epoch: u64, overwrite: Overwrite) -> Result<LeaseReply, JetStreamError> {
        let (lease, revision) = self.read().await?;
        if let Some(lease) = lease
            && overwrite == Overwrite::OwnOrFree
            && lease.region != self.region
        {
            return Ok(LeaseReply::HeldBy(lease.region));
        }
        let lease = json!({ "region": self.region, "epoch": epoch }).to_string().into_bytes();
        match self.keys.replace(&self.bucket, KEY, lease, revision).await {
            Ok(()) => Ok(LeaseReply::Granted),
            // Another instance was faster. If it is of this region, it has renewed the lease for all instances, after this
            // attempt began.
            Err(JetStreamError::Changed) => match self.read().await?.0 {
                Some(lease) if lease.region == self.region && lease.epoch == epoch => Ok(LeaseReply::Granted),
                Some(lease) => Ok(LeaseReply::HeldBy(lease.region)),
                None => Ok(LeaseReply::HeldBy("no region".to_owned())),
            },
            Err(error) => Err(error),
        }
    }

    /// The holder, if it is another region.
    pub(crate) async fn held_by_another(&self) -> Result<Option<String>, JetStreamError> {
        let lease = self.read().await?.0.filter(|lease| lease.region != self.region);
        Ok(lease.map(|lease| lease.region))
    }

    /// The entry, with its revision.
    async fn read(&self) -> Result<(Option<Written>, u64), JetStreamError> {
        let Some((value, revision)) = self.keys.newest(&self.bucket, KEY).await? else {
            return Ok((None, 0));
        };
        let lease = serde_json::from_slice(&value)
            .map_err(|error| JetStreamError::invalid(&format!("key {KEY} of {}", self.bucket), error))?;
        Ok((Some(lease), revision))
    }
}

impl Lease {
    /// Creates the bucket, if it does not exist.
    pub(crate) async fn create(&self, replicas: usize) -> Result<(), JetStreamError> {
        let mut config = bucket_config(&self.bucket, replicas);
        let lives_ns = u64::try_from(self.lives.as_nanos()).unwrap_or(u64::MAX);
        config.insert("max_age".to_owned(), json!(lives_ns));
        self.keys.create_if_missing(&config).await
    }
}
