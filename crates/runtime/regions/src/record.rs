//! The bucket of a region: its role, the progress of a promotion, and the configurations of its streams.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::decide::role::{RegionState, Role};
use journal_nats::jetstream::{JetStream, JetStreamError, bucket_config, retry};
use journal_nats::names;

const CREATE_TRIES: u32 = 3;
const ROLE: &str = "role";
const TAIL: &str = "tail";
const GOAL: &str = "goal";
const PROMOTED: &str = "promoted";
const FOLLOWED: &str = "followed";
const KEYS: &str = "keys";

/// The record of a region, which decides its role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub role: Role,
    pub epoch: u64,
    /// Since when, in milliseconds of Unix time.
    pub since_ms: u64,
    /// The region and instance that wrote it.
    pub by: String,
    /// Whether the region has had everything that was written under this epoch: it was active, or its mirrors have caught
    /// up once. A region that is not level is an incomplete copy, and is not promoted by mistake.
    #[serde(default)]
    pub level: bool,
    /// A promotion of this region that is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promotion: Option<Promotion>,
}

impl Record {
    pub fn state(&self) -> RegionState {
        RegionState { role: self.role, epoch: self.epoch }
    }

    /// Whether this is the record of a standby that follows `active` under its epoch.
    pub(crate) fn is_standby_of(&self, active: &Record) -> bool {
        self.role == Role::Standby && self.epoch == active.epoch
    }

    /// Whether a promotion has begun to convert mirrors to ordinary streams. Before that step it has changed nothing here,
    /// and may have been given up.
    pub(crate) fn opens(&self) -> bool {
        self.promotion.as_ref().is_some_and(|promotion| promotion.step == PromotionStep::Open)
    }

    /// Whether a promotion that has begun to convert mirrors is forced.
    pub(crate) fn opens_by_force(&self) -> bool {
        self.opens() && self.promotion.as_ref().is_some_and(|promotion| promotion.forced)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promotion {
    /// The epoch that the region will have.
    pub epoch: u64,
    pub forced: bool,
    pub step: PromotionStep,
    pub begun_ms: u64,
}

/// The current step of a promotion. Each step can be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromotionStep {
    /// The pair is fenced: its instances release their partitions, then its streams are closed.
    Fence,
    /// The mirrors receive what they lack.
    CatchUp,
    /// The mirrors become ordinary streams that accept messages.
    Open,
}

/// Where each stream ended when the region was promoted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Points {
    pub(crate) streams: BTreeMap<String, Point>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Point {
    pub(crate) last: u64,
    /// The checksum of the last message, if there was one.
    pub(crate) check: Option<u32>,
}

/// Where the streams of the active region ended when this region began to mirror them under an epoch. Once its mirrors
/// have reached these positions, it is level.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) epoch: u64,
    pub(crate) streams: BTreeMap<String, u64>,
}

/// The bucket `<installation>_region` of one domain.
#[derive(Debug, Clone)]
pub(crate) struct RecordStore {
    domain: JetStream,
    bucket: String,
}

impl RecordStore {
    pub(crate) fn new(domain: JetStream, installation: &str) -> RecordStore {
        RecordStore { domain, bucket: names::region_bucket(installation) }
    }

    /// Creates the bucket if it does not exist. If several instances create it at once, the server responds to one of them.
    pub(crate) async fn create(&self, replicas: usize) -> Result<(), JetStreamError> {
        let config = bucket_config(&self.bucket, replicas);
        retry(CREATE_TRIES, || self.domain.create_if_missing(&config)).await
    }

    /// The record with its revision; revision 0 if there is none.
    pub(crate) async fn record(&self) -> Result<(Option<Record>, u64), JetStreamError> {
        self.read(ROLE).await
    }

    /// Writes the record if it still has this revision.
    pub(crate) async fn set_record(&self, record: &Record, revision: u64) -> Result<u64, JetStreamError> {
        self.write(ROLE, record, Some(revision)).await
    }

    pub(crate) async fn points(&self, epoch: u64) -> Result<Option<Points>, JetStreamError> {
        Ok(self.read(&format!("points.{epoch}")).await?.0)
    }

    /// Records where the streams ended under an epoch; the first record stays.
    pub(crate) async fn set_points(&self, epoch: u64, points: &Points) -> Result<(), JetStreamError> {
        match self.write(&format!("points.{epoch}"), points, Some(0)).await {
            Ok(_) | Err(JetStreamError::Changed) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The configuration that a stream has while its region is active.
    pub(crate) async fn config(&self, stream: &str) -> Result<Option<Map<String, Value>>, JetStreamError> {
        Ok(self.read(&format!("stream.{stream}")).await?.0)
    }

    /// Records the configuration of a stream, if it has changed.
    pub(crate) async fn set_config(
        &self,
        stream: &str,
        config: &Map<String, Value>,
    ) -> Result<(), JetStreamError> {
        if self.config(stream).await?.as_ref() == Some(config) {
            return Ok(());
        }
        self.write(&format!("stream.{stream}"), config, None).await.map(drop)
    }

    /// The streams whose configuration is recorded: all that the region has or mirrors.
    pub(crate) async fn streams(&self) -> Result<Vec<String>, JetStreamError> {
        let prefix = format!("$KV.{}.stream.", self.bucket);
        let found =
            self.domain.info_with_subjects(&format!("KV_{}", self.bucket), &format!("{prefix}>")).await?;
        let names = found.subjects.keys().filter_map(|subject| subject.strip_prefix(&prefix));
        Ok(names.map(str::to_owned).collect())
    }

    pub(crate) async fn tail<T: DeserializeOwned>(&self) -> Result<Option<T>, JetStreamError> {
        Ok(self.read(TAIL).await?.0)
    }

    pub(crate) async fn set_tail<T: Serialize>(&self, tail: &T) -> Result<(), JetStreamError> {
        self.write(TAIL, tail, None).await.map(drop)
    }

    /// The result of the last promotion of this region.
    pub(crate) async fn promoted<T: DeserializeOwned>(&self) -> Result<Option<T>, JetStreamError> {
        Ok(self.read(PROMOTED).await?.0)
    }

    pub(crate) async fn set_promoted<T: Serialize>(&self, promoted: &T) -> Result<(), JetStreamError> {
        self.write(PROMOTED, promoted, None).await.map(drop)
    }

    /// The last epoch of this region under which its pair was a standby.
    pub(crate) async fn followed(&self) -> Result<Option<u64>, JetStreamError> {
        Ok(self.read(FOLLOWED).await?.0)
    }

    pub(crate) async fn set_followed(&self, epoch: u64) -> Result<(), JetStreamError> {
        self.write(FOLLOWED, &epoch, None).await.map(drop)
    }

    pub(crate) async fn goal(&self) -> Result<Option<Goal>, JetStreamError> {
        Ok(self.read(GOAL).await?.0)
    }

    pub(crate) async fn set_goal(&self, goal: &Goal) -> Result<(), JetStreamError> {
        self.write(GOAL, goal, None).await.map(drop)
    }

    /// The ids of the keys with which the region opens secrets.
    pub(crate) async fn keys(&self) -> Result<Option<Vec<String>>, JetStreamError> {
        Ok(self.read(KEYS).await?.0)
    }

    pub(crate) async fn set_keys(&self, keys: &[String]) -> Result<(), JetStreamError> {
        self.write(KEYS, &keys, None).await.map(drop)
    }

    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        key: &str,
    ) -> Result<(Option<T>, u64), JetStreamError> {
        let Some(stored) = self.domain.value(&self.bucket, key).await? else { return Ok((None, 0)) };
        let value = serde_json::from_slice(&stored.data)
            .map_err(|error| JetStreamError::invalid(&format!("key {key} of {}", self.bucket), error))?;
        Ok((Some(value), stored.sequence))
    }

    pub(crate) async fn write<T: Serialize>(
        &self,
        key: &str,
        value: &T,
        expected: Option<u64>,
    ) -> Result<u64, JetStreamError> {
        let value = serde_json::to_vec(value).map_err(|error| JetStreamError::invalid(key, error))?;
        self.domain.put(&self.bucket, key, value, expected).await
    }
}
