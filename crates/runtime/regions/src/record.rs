//! What the bucket of a region says: its role, how far a promotion has got, and what its streams are like.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::AbortHandle;

use crate::decide::role::{RegionState, Role};
use crate::now_ms;
use journal_nats::jetstream::{JetStream, JetStreamError, bucket_config, retry};
use journal_nats::names;

const MAKE_TRIES: u32 = 3;
const ROLE: &str = "role";
const WORK: &str = "work";
const TAIL: &str = "tail";
const GOAL: &str = "goal";
const PROMOTED: &str = "promoted";
const FOLLOWED: &str = "followed";
const KEYS: &str = "keys";

/// The role of a region as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub role: Role,
    pub epoch: u64,
    /// Since when, in milliseconds of Unix time.
    pub since_ms: u64,
    /// The region and instance that wrote it.
    pub by: String,
    /// Whether it has had everything that was there under this epoch: it was active, or its mirrors were level once.
    /// What is not level is a copy of some of it, and nobody makes that the active region by mistake.
    #[serde(default)]
    pub level: bool,
    /// A promotion of this region that has begun and has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promotion: Option<Promotion>,
}

impl Record {
    pub fn state(&self) -> RegionState {
        RegionState { role: self.role, epoch: self.epoch }
    }

    /// Whether a promotion has begun to turn mirrors into streams. One that has not got so far changes nothing here, and
    /// may have been given up.
    pub(crate) fn opens(&self) -> bool {
        self.promotion.as_ref().is_some_and(|promotion| promotion.step == PromotionStep::Open)
    }

    /// Whether a promotion that opens streams here goes on without the pair.
    pub(crate) fn opens_by_force(&self) -> bool {
        self.opens() && self.promotion.as_ref().is_some_and(|promotion| promotion.forced)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promotion {
    /// The epoch that it will have.
    pub epoch: u64,
    pub forced: bool,
    pub step: PromotionStep,
    pub begun_ms: u64,
}

/// What a promotion does at this moment. Each step can be done again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromotionStep {
    /// The pair is asked to stop, and its subjects are moved away.
    Fence,
    /// The mirrors get what they have not yet.
    CatchUp,
    /// The mirrors become streams.
    Open,
}

/// Where each stream ended when a region was promoted.
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

/// Where the streams of the active region ended when a region began to mirror them under an epoch: once its mirrors
/// have come that far, it is level.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) epoch: u64,
    pub(crate) streams: BTreeMap<String, u64>,
}

/// Who does the work of a region that must not be done by two at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Work {
    by: Option<String>,
    until_ms: u64,
}

/// The bucket `<i>_region` of one domain.
#[derive(Debug, Clone)]
pub(crate) struct RecordStore {
    domain: JetStream,
    bucket: String,
}

impl RecordStore {
    pub(crate) fn new(domain: JetStream, installation: &str) -> RecordStore {
        RecordStore { domain, bucket: names::region_bucket(installation) }
    }

    /// Makes the bucket, unless it is there. Of several who make it at once, one is answered.
    pub(crate) async fn make(&self, replicas: usize) -> Result<(), JetStreamError> {
        let config = bucket_config(&self.bucket, replicas);
        retry(MAKE_TRIES, || self.domain.create_if_missing(&config)).await
    }

    /// The record with its revision; revision 0 when there is none.
    pub(crate) async fn record(&self) -> Result<(Option<Record>, u64), JetStreamError> {
        self.read(ROLE).await
    }

    /// Writes the record if nobody has since that revision.
    pub(crate) async fn set_record(&self, record: &Record, revision: u64) -> Result<u64, JetStreamError> {
        self.write(ROLE, record, Some(revision)).await
    }

    pub(crate) async fn points(&self, epoch: u64) -> Result<Option<Points>, JetStreamError> {
        Ok(self.read(&format!("points.{epoch}")).await?.0)
    }

    /// Writes down where the streams end under an epoch; what was written first stays.
    pub(crate) async fn set_points(&self, epoch: u64, points: &Points) -> Result<(), JetStreamError> {
        match self.write(&format!("points.{epoch}"), points, Some(0)).await {
            Ok(_) | Err(JetStreamError::Changed) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// How a stream is configured while it is active.
    pub(crate) async fn config(&self, stream: &str) -> Result<Option<Map<String, Value>>, JetStreamError> {
        Ok(self.read(&format!("stream.{stream}")).await?.0)
    }

    /// Writes down how a stream is configured, if that is news.
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

    /// The streams whose configuration is known: all that the region has or mirrors.
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

    /// What the last promotion of this region came to.
    pub(crate) async fn promoted<T: DeserializeOwned>(&self) -> Result<Option<T>, JetStreamError> {
        Ok(self.read(PROMOTED).await?.0)
    }

    pub(crate) async fn set_promoted<T: Serialize>(&self, promoted: &T) -> Result<(), JetStreamError> {
        self.write(PROMOTED, promoted, None).await.map(drop)
    }

    /// The last epoch of this region under which its pair has stood by.
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

    /// The names of the keys that the region opens secrets with.
    pub(crate) async fn keys(&self) -> Result<Option<Vec<String>>, JetStreamError> {
        Ok(self.read(KEYS).await?.0)
    }

    pub(crate) async fn set_keys(&self, keys: &[String]) -> Result<(), JetStreamError> {
        self.write(KEYS, &keys, None).await.map(drop)
    }

    /// Takes the work of this region, or says who has it. The tasks of an instance share its name, and take turns unless
    /// only one of them can want it.
    pub(crate) async fn take_work(
        &self,
        by: &str,
        lives: Duration,
        turn: Option<OwnedMutexGuard<()>>,
    ) -> Result<WorkClaim, WorkError> {
        let (work, revision): (Option<Work>, u64) = self.read(WORK).await?;
        if let Some(Work { by: Some(other), until_ms }) = work
            && other != by
            && now_ms() < until_ms
        {
            return Err(WorkError::Taken(other));
        }
        let (records, by, revision) = (self.clone(), by.to_owned(), Mutex::new(revision));
        let held = Arc::new(WorkLease { records, by, lives, revision });
        held.again().await?;
        let renewing = host::spawn("region's work", renew(held.clone())).abort_handle();
        Ok(WorkClaim { held, renewing, _turn: turn })
    }

    async fn read<T: DeserializeOwned>(&self, key: &str) -> Result<(Option<T>, u64), JetStreamError> {
        let Some(stored) = self.domain.value(&self.bucket, key).await? else { return Ok((None, 0)) };
        let value = serde_json::from_slice(&stored.data)
            .map_err(|error| JetStreamError::invalid(&format!("key {key} of {}", self.bucket), error))?;
        Ok((Some(value), stored.sequence))
    }

    async fn write<T: Serialize>(
        &self,
        key: &str,
        value: &T,
        expected: Option<u64>,
    ) -> Result<u64, JetStreamError> {
        let value = serde_json::to_vec(value).map_err(|error| JetStreamError::invalid(key, error))?;
        self.domain.put(&self.bucket, key, value, expected).await
    }
}

/// The work of a region is ours, as long as [`WorkClaim::again`] says so. It is renewed until this goes: some of it takes
/// longer than a worker is believed in.
#[derive(Debug)]
pub(crate) struct WorkClaim {
    held: Arc<WorkLease>,
    renewing: AbortHandle,
    _turn: Option<OwnedMutexGuard<()>>,
}

#[derive(Debug)]
struct WorkLease {
    records: RecordStore,
    by: String,
    /// How long a worker is believed in without a word of it.
    lives: Duration,
    // WorkLease while it is written: one renewal after the other.
    revision: Mutex<u64>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkError {
    #[error("{0} is at it")]
    Taken(String),
    #[error(transparent)]
    JetStream(#[from] JetStreamError),
}

impl WorkClaim {
    /// Makes sure that nobody has taken it meanwhile. To be called before each step that cannot be taken back.
    pub(crate) async fn again(&self) -> Result<(), WorkError> {
        self.held.again().await
    }

    pub(crate) async fn release(self) {
        // A renewal that is under way ends first: whoever breaks it off does not know the revision.
        let revision = self.held.revision.lock().await;
        let work = Work { by: None, until_ms: 0 };
        // It ends by itself when this fails.
        let _ = self.held.records.write(WORK, &work, Some(*revision)).await;
    }
}

impl Drop for WorkClaim {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

impl WorkLease {
    async fn again(&self) -> Result<(), WorkError> {
        let mut revision = self.revision.lock().await;
        let lives_ms = u64::try_from(self.lives.as_millis()).unwrap_or(u64::MAX);
        let work = Work { by: Some(self.by.clone()), until_ms: now_ms().saturating_add(lives_ms) };
        match self.records.write(WORK, &work, Some(*revision)).await {
            Ok(written) => *revision = written,
            Err(JetStreamError::Changed) => return Err(WorkError::Taken("another instance".to_owned())),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Says that the worker is at it, until somebody else is.
async fn renew(held: Arc<WorkLease>) {
    loop {
        tokio::time::sleep(held.lives / 3).await;
        match held.again().await {
            // The worker finds out by itself, before it does what cannot be taken back.
            Err(WorkError::Taken(_)) => return,
            Ok(()) | Err(WorkError::JetStream(_)) => {}
        }
    }
}
