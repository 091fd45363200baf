//! Whether a region that mirrors has ever had everything: only then may it stand in for its pair.
//!
//! A mirror that was just made is empty, and a mirror under load is never quite there. So what counts is where the
//! active region ended when the mirrors began: once all of them have come that far, the region is level, and from then
//! on it lags by what is on its way.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::decide::role::{RegionState, Role, must_be_level};
use crate::promote::Mode;
use crate::record::{Goal, Record, WorkClaim};
use crate::{RegionAgent, RegionError};
use journal_nats::jetstream::StreamInfo;

const LOOK_EVERY: Duration = Duration::from_millis(500);

impl RegionAgent {
    /// Mirrors what is new at the pair, and notes when everything has been here. Says which streams are still behind.
    pub(super) async fn keep_level(&self, claim: &WorkClaim) -> Result<Vec<String>, RegionError> {
        let (record, mut revision) = self.here.records.record().await.map_err(RegionError::Here)?;
        let mut record = record.filter(|record| record.role == Role::Standby).ok_or(RegionError::Changed)?;
        let unfit = self.drop_unfit_mirrors(claim).await?;
        if record.level && (unfit || self.misses_a_mirror().await?) {
            tracing::warn!(region = self.settings.name, "mirrors are missing; creating them again");
            record.level = false;
            revision = self.note_level(&record, revision).await?;
            self.here.records.set_goal(&Goal::default()).await.map_err(RegionError::Here)?;
        }
        self.keep_mirrors().await?;
        if record.level {
            return Ok(Vec::new());
        }
        let goal = self.goal_of(record.epoch).await?;
        let lagging = self.lagging(&goal.streams).await?;
        if lagging.is_empty() {
            record.level = true;
            self.note_level(&record, revision).await?;
            tracing::info!(region = self.settings.name, epoch = record.epoch, "the region is level");
        }
        Ok(lagging)
    }

    /// Nobody promotes a region that never had everything, but somebody who says that this is meant. A planned
    /// promotion waits for it while its pair still works.
    pub(super) async fn require_level(
        &self,
        here: &Record,
        pair: Option<RegionState>,
        mode: Mode,
        claim: &WorkClaim,
    ) -> Result<(), RegionError> {
        // With streams that are open already it was seen to before.
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
                // Its record says so now: it is to be read again.
                Err(RegionError::Changed)
            }
            Mode::Planned | Mode::Forced if here.level => Ok(()),
            Mode::Planned | Mode::Forced => {
                Err(RegionError::Incomplete { region: self.settings.name.clone() })
            }
        }
    }

    async fn wait_until_level(&self, claim: &WorkClaim) -> Result<(), RegionError> {
        let deadline = Instant::now() + self.settings.patience;
        loop {
            let lagging = self.keep_level(claim).await?;
            if lagging.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(RegionError::Lagging(lagging.join(", ")));
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// The streams whose mirrors have not come as far as this.
    pub(super) async fn lagging(&self, goal: &BTreeMap<String, u64>) -> Result<Vec<String>, RegionError> {
        let streams: Vec<String> = goal.keys().cloned().collect();
        let domain = &self.here.domain;
        let lasts: Vec<Option<u64>> = self
            .each(&self.here, &streams, |stream| async move {
                let mirror = domain.info_if_exists(&stream).await?.filter(StreamInfo::is_mirror);
                Ok(mirror.map(|info| info.last))
            })
            .await?;
        let wanted = goal.iter().zip(lasts);
        let lagging = wanted.filter(|((_, end), last)| last.is_none_or(|last| last < **end));
        Ok(lagging.map(|((stream, _), _)| stream.clone()).collect())
    }

    /// Where the pair's streams ended when this region began to mirror them under this epoch.
    async fn goal_of(&self, epoch: u64) -> Result<Goal, RegionError> {
        let known = self.here.records.goal().await.map_err(RegionError::Here)?;
        if let Some(goal) = known.filter(|goal| goal.epoch == epoch) {
            return Ok(goal);
        }
        let (pair, _) = self.there.records.record().await.map_err(|error| self.pair_error(error))?;
        if pair.is_none_or(|pair| pair.epoch != epoch) {
            return Err(RegionError::Changed);
        }
        let streams = self.shared_streams(&self.there).await?;
        if streams.is_empty() {
            let reason = "it has never mirrored its pair".to_owned();
            return Err(RegionError::NotPromotable { region: self.settings.name.clone(), reason });
        }
        let domain = &self.there.domain;
        let ends: Vec<u64> = self
            .each(&self.there, &streams, |stream| async move { Ok(domain.info(&stream).await?.last) })
            .await?;
        let goal = Goal { epoch, streams: streams.into_iter().zip(ends).collect() };
        self.here.records.set_goal(&goal).await.map_err(RegionError::Here)?;
        Ok(goal)
    }

    /// Whether a stream that was mirrored is not here any more.
    async fn misses_a_mirror(&self) -> Result<bool, RegionError> {
        let here = self.shared_streams(&self.here).await?;
        let noted = self.here.records.streams().await.map_err(RegionError::Here)?;
        Ok(!noted.iter().all(|stream| here.contains(stream)))
    }

    /// Writes the record again with nothing else changed: since when it has its role stays.
    async fn note_level(&self, record: &Record, revision: u64) -> Result<u64, RegionError> {
        let written = self.here.records.set_record(record, revision).await;
        written.map_err(|error| self.site_error(&self.here, error))
    }
}
