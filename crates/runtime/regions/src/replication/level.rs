//! Whether a standby is *level*: complete enough to be promoted.
//!
//! A new mirror is empty, and a mirror under load always lags a little. So the positions count at which the streams of the
//! active region ended when mirroring began: once every mirror has reached its position, the region is level, and from
//! then on it lacks only what is in flight.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::Replication;
use crate::RegionError;
use crate::decide::role::{RegionState, Role, must_be_level};
use crate::promote::Mode;
use crate::record::{Goal, Record};
use crate::work::WorkClaim;
use journal_nats::jetstream::StreamInfo;

const LOOK_EVERY: Duration = Duration::from_millis(500);

impl Replication {
    /// Mirrors new streams of the pair, repairs mirrors, and records when the region is level. Returns the streams that have
    /// not caught up.
    pub(crate) async fn catch_up(&self, claim: &WorkClaim) -> Result<Vec<String>, RegionError> {
        let (record, mut revision) = self.sites.here.records.record().await.map_err(RegionError::Here)?;
        let mut record = record.filter(|record| record.role == Role::Standby).ok_or(RegionError::Changed)?;
        let unfit = self.drop_unfit_mirrors(claim).await?;
        if record.level && (unfit || self.misses_a_mirror().await?) {
            tracing::warn!(
                region = self.sites.settings.name,
                "mirrors are missing or incomplete; creating them again"
            );
            record.level = false;
            revision = self.note_level(&record, revision).await?;
            self.sites.here.records.set_goal(&Goal::default()).await.map_err(RegionError::Here)?;
        }
        self.mirror_pair().await?;
        if record.level {
            return Ok(Vec::new());
        }
        let goal = self.goal_of(record.epoch).await?;
        let lagging = self.lagging(&goal.streams).await?;
        if lagging.is_empty() {
            record.level = true;
            self.note_level(&record, revision).await?;
            tracing::info!(
                region = self.sites.settings.name,
                epoch = record.epoch,
                "the mirrors of the region have caught up"
            );
        }
        Ok(lagging)
    }

    /// Refuses the promotion of a region that is not level, unless the operator accepts the loss. A planned promotion waits
    /// until it is level, while the pair is still active.
    pub(crate) async fn require_level(
        &self,
        here: &Record,
        pair: Option<RegionState>,
        mode: Mode,
        claim: &WorkClaim,
    ) -> Result<(), RegionError> {
        // Streams that are already open were checked before they were opened.
        if here.opens() || !must_be_level(here.state(), pair) {
            return Ok(());
        }
        match mode {
            Mode::ForcedIncomplete => Ok(()),
            Mode::Planned if here.role == Role::Standby => {
                if here.level && !self.drop_unfit_mirrors(claim).await? {
                    return Ok(());
                }
                self.wait_until_level(claim).await?;
                // The record was changed, so that it must be read again.
                Err(RegionError::Changed)
            }
            Mode::Planned | Mode::Forced if here.level => Ok(()),
            Mode::Planned | Mode::Forced => {
                Err(RegionError::Incomplete { region: self.sites.settings.name.clone() })
            }
        }
    }

    async fn wait_until_level(&self, claim: &WorkClaim) -> Result<(), RegionError> {
        let deadline = Instant::now() + self.sites.settings.patience;
        loop {
            let lagging = self.catch_up(claim).await?;
            if lagging.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(RegionError::Lagging(lagging.join(", ")));
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// The streams whose mirrors have not reached these positions.
    pub(crate) async fn lagging(&self, goal: &BTreeMap<String, u64>) -> Result<Vec<String>, RegionError> {
        let streams: Vec<String> = goal.keys().cloned().collect();
        let domain = &self.sites.here.domain;
        let lasts: Vec<Option<u64>> = self
            .sites
            .each(&self.sites.here, &streams, |stream| async move {
                let mirror = domain.info_if_exists(&stream).await?.filter(StreamInfo::is_mirror);
                Ok(mirror.map(|info| info.last))
            })
            .await?;
        let wanted = goal.iter().zip(lasts);
        let lagging = wanted.filter(|((_, end), last)| last.is_none_or(|last| last < **end));
        Ok(lagging.map(|((stream, _), _)| stream.clone()).collect())
    }

    /// Where the streams of the pair ended when this region began to mirror them under this epoch.
    async fn goal_of(&self, epoch: u64) -> Result<Goal, RegionError> {
        let known = self.sites.here.records.goal().await.map_err(RegionError::Here)?;
        if let Some(goal) = known.filter(|goal| goal.epoch == epoch) {
            return Ok(goal);
        }
        let (pair, _) =
            self.sites.there.records.record().await.map_err(|error| self.sites.pair_error(error))?;
        if pair.is_none_or(|pair| pair.epoch != epoch) {
            return Err(RegionError::Changed);
        }
        let streams = self.sites.shared_streams(&self.sites.there).await?;
        if streams.is_empty() {
            let reason = "it has never mirrored its pair".to_owned();
            return Err(RegionError::NotPromotable { region: self.sites.settings.name.clone(), reason });
        }
        let domain = &self.sites.there.domain;
        let ends: Vec<u64> = self
            .sites
            .each(&self.sites.there, &streams, |stream| async move { Ok(domain.info(&stream).await?.last) })
            .await?;
        let goal = Goal { epoch, streams: streams.into_iter().zip(ends).collect() };
        self.sites.here.records.set_goal(&goal).await.map_err(RegionError::Here)?;
        Ok(goal)
    }

    /// Whether a mirror that existed is missing.
    async fn misses_a_mirror(&self) -> Result<bool, RegionError> {
        let here = self.sites.shared_streams(&self.sites.here).await?;
        let noted = self.sites.here.records.streams().await.map_err(RegionError::Here)?;
        Ok(!noted.iter().all(|stream| here.contains(stream)))
    }

    /// Writes the record with the same author and time: the role of the region has not changed.
    async fn note_level(&self, record: &Record, revision: u64) -> Result<u64, RegionError> {
        let written = self.sites.here.records.set_record(record, revision).await;
        written.map_err(|error| self.sites.site_error(&self.sites.here, error))
    }
}
