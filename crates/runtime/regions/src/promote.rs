//! How a region becomes the active one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::decide::role::{self, RegionState, Role};
use crate::mirrors::{self, MirrorStatus};
use crate::record::{Points, Promotion, PromotionStep, Record, WorkClaim};
use crate::{NextRecord, RegionAgent, RegionError, now_ms};

/// How a promotion treats the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The pair lets go, and nothing is lost.
    Planned,
    /// The pair is left alone: what the mirrors have not got is lost to this region.
    Forced,
    /// Forced, even if this region has never had everything.
    ForcedIncomplete,
}

impl Mode {
    pub(super) fn is_forced(self) -> bool {
        matches!(self, Mode::Forced | Mode::ForcedIncomplete)
    }
}

/// A promotion that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promoted {
    pub epoch: u64,
    pub forced: bool,
    /// From the call to the moment at which the region is active.
    pub took_ms: u64,
    /// The known lag of each mirror, and the age of its newest message: what a forced promotion may cost.
    pub mirrors: Vec<MirrorStatus>,
    /// Whether the pair mirrors this region already.
    pub pair_mirrors: bool,
}

impl Promoted {
    /// Messages that this region is known not to have.
    pub fn lost(&self) -> u64 {
        if self.forced { self.mirrors.iter().filter_map(|mirror| mirror.lag).sum() } else { 0 }
    }
}

const AGAIN_MAX: u32 = 3;
const POLL: Duration = Duration::from_millis(100);

impl RegionAgent {
    pub(super) async fn promote(&self, mode: Mode) -> Result<Promoted, RegionError> {
        let begun = Instant::now();
        let claim = self.wait_for_work(&self.here).await?;
        let mut promoted = self.promote_claimed(&claim, mode, begun).await;
        for _ in 0..AGAIN_MAX {
            // What it read was old, or it was cut short before: it reads again, and goes on.
            if matches!(promoted, Err(RegionError::Changed)) {
                promoted = self.promote_claimed(&claim, mode, begun).await;
            }
        }
        claim.release().await;
        let mut promoted = promoted?;
        // It was made, whatever comes of looking; everybody looks again soon.
        if let Err(error) = self.look().await {
            tracing::warn!(%error, "looking at the regions after a promotion");
        }
        if mode == Mode::Planned {
            promoted.pair_mirrors = self.rejoin_pair().await;
        }
        Ok(promoted)
    }

    async fn promote_claimed(
        &self,
        claim: &WorkClaim,
        mode: Mode,
        begun: Instant,
    ) -> Result<Promoted, RegionError> {
        let (here, revision) = self.here.records.record().await.map_err(RegionError::Here)?;
        let here = here.ok_or(RegionError::Changed)?;
        if here.role == Role::Active {
            // Nothing is left to do here, but perhaps the pair was not notified yet. A repeated call returns the same report.
            let before = self.here.records.promoted().await.map_err(RegionError::Here)?;
            let before = before.filter(|before: &Promoted| before.epoch == here.epoch);
            return Ok(before.unwrap_or_else(|| promoted(here.epoch, false, begun, Vec::new())));
        }
        let pair = self.pair_state(mode).await?;
        self.require_promotable(&here, pair, mode)?;
        self.require_level(&here, pair, mode, claim).await?;
        self.require_witness().await?;
        if mode.is_forced() || pair.is_none() {
            return self.change_places(&here, revision, pair, mode, begun).await;
        }
        let claim = self.take_pairs_work().await?;
        let promoted = self.change_places(&here, revision, pair, mode, begun).await;
        claim.release().await;
        promoted
    }

    fn require_promotable(
        &self,
        here: &Record,
        pair: Option<RegionState>,
        mode: Mode,
    ) -> Result<(), RegionError> {
        let reason = match role::may_promote(here.state(), pair) {
            Err(reason) => reason,
            // Some mirrors are streams by now, which would never become level, while the pair has let go for them.
            Ok(()) if mode == Mode::Planned && here.role == Role::Standby && here.opens_by_force() => {
                "a promotion by force has begun here and has turned mirrors into streams; finish it with --force, or \
                 demote and promote the pair"
            }
            Ok(()) => return Ok(()),
        };
        Err(RegionError::NotPromotable { region: self.settings.name.clone(), reason: reason.to_owned() })
    }

    async fn change_places(
        &self,
        here: &Record,
        mut revision: u64,
        pair: Option<RegionState>,
        mode: Mode,
        begun: Instant,
    ) -> Result<Promoted, RegionError> {
        let known = here.epoch.max(pair.map(|pair| pair.epoch).unwrap_or_default());
        // What was begun goes on under the epoch that it had, unless the pair has gone past it.
        let begun_epoch = here.promotion.as_ref().map(|promotion| promotion.epoch);
        let epoch = begun_epoch.filter(|epoch| *epoch > known).unwrap_or(self.side.epoch_above(known));
        // The mirrors had everything already, and some are mirrors no more: there is nothing to wait for.
        let caught_up = here.promotion.as_ref().is_some_and(|promotion| {
            promotion.epoch == epoch && promotion.step == PromotionStep::Open && !promotion.forced
        });
        let mut promotion =
            Promotion { epoch, forced: mode.is_forced(), step: PromotionStep::Fence, begun_ms: now_ms() };
        let state = here.state();
        let streams = self.streams_to_open(state, mode, caught_up).await?;
        let origin = pair.is_some().then_some(&self.there.domain);
        let mirrors = mirrors::status(&self.here.domain, origin, streams.clone()).await;
        let mut lag = mirrors.map_err(RegionError::Here)?;
        if mode == Mode::Planned && !caught_up {
            revision = self.step(here, &promotion, revision).await?;
            self.fence(&self.there).await?;
            promotion.step = PromotionStep::CatchUp;
            revision = self.step(here, &promotion, revision).await?;
            if state.role == Role::Standby {
                lag = self.catch_up(&streams).await?;
            }
        }
        self.lease_for(epoch, mode).await?;
        // One by force is noted only here: a region to which it is refused goes on mirroring as if nobody had asked.
        promotion.step = PromotionStep::Open;
        let revision = self.step(here, &promotion, revision).await?;
        self.take_back_consent(epoch, mode).await?;
        self.open(epoch, &streams).await?;
        self.fill_inboxes(epoch, &streams).await?;
        let promoted = promoted(epoch, promotion.forced, begun, lag);
        self.here.records.set_promoted(&promoted).await.map_err(RegionError::Here)?;
        self.write(&self.here, NextRecord::active(epoch), revision).await?;
        Ok(promoted)
    }

    /// The pair's state. It must be known for a planned promotion; a forced one takes it if it is there.
    async fn pair_state(&self, mode: Mode) -> Result<Option<RegionState>, RegionError> {
        match self.there.records.record().await {
            Ok((record, _)) => Ok(record.map(|record| record.state())),
            Err(_) if mode.is_forced() => Ok(None),
            Err(error) => Err(RegionError::PairUnreachable {
                pair: self.settings.pair.clone(),
                cause: error.to_string(),
            }),
        }
    }

    async fn step(&self, here: &Record, promotion: &Promotion, revision: u64) -> Result<u64, RegionError> {
        let next = NextRecord { promotion: Some(promotion.clone()), ..NextRecord::of(here) };
        self.write(&self.here, next, revision).await
    }

    /// All streams that the active region had, as it was last seen. One that is not here would be a hole.
    async fn streams_to_open(
        &self,
        state: RegionState,
        mode: Mode,
        caught_up: bool,
    ) -> Result<Vec<String>, RegionError> {
        if mode == Mode::Planned && state.role == Role::Standby && !caught_up {
            self.keep_mirrors().await?;
        }
        let here = self.shared_streams(&self.here).await?;
        if state.role == Role::Fenced {
            return Ok(here);
        }
        let here: BTreeSet<_> = here.into_iter().collect();
        let known = self.here.records.streams().await.map_err(RegionError::Here)?;
        let missing: Vec<_> = known.iter().filter(|stream| !here.contains(*stream)).cloned().collect();
        let reason = if known.is_empty() {
            "it has never mirrored its pair".to_owned()
        } else if !missing.is_empty() {
            format!("it has no mirror of {}", missing.join(", "))
        } else {
            return Ok(known);
        };
        Err(RegionError::NotPromotable { region: self.settings.name.clone(), reason })
    }

    /// Waits until every mirror ends where its origin does, which nobody writes to any more.
    async fn catch_up(&self, streams: &[String]) -> Result<Vec<MirrorStatus>, RegionError> {
        let deadline = Instant::now() + self.settings.patience;
        loop {
            let status = mirrors::status(&self.here.domain, Some(&self.there.domain), streams.to_vec()).await;
            let status = status.map_err(RegionError::Here)?;
            let lagging = status.iter().filter(|mirror| {
                mirror.origin_last.is_none() || mirror.last.is_none() || mirror.lag != Some(0)
            });
            let lagging: Vec<_> = lagging.map(|mirror| mirror.stream.as_str()).collect();
            if lagging.is_empty() {
                return Ok(status);
            }
            if Instant::now() > deadline {
                return Err(RegionError::Lagging(lagging.join(", ")));
            }
            sleep(POLL).await;
        }
    }

    /// Turns mirrors into streams: first cut off from their origin, then noted where they end, then open.
    async fn open(&self, epoch: u64, streams: &[String]) -> Result<(), RegionError> {
        let (domain, records) = (&self.here.domain, &self.here.records);
        let ends: Vec<_> = self
            .each(&self.here, streams, |stream| async move {
                let point = mirrors::detach(domain, records, &stream).await?;
                Ok((stream, point))
            })
            .await?;
        let points = Points { streams: ends.into_iter().collect() };
        records.set_points(epoch, &points).await.map_err(RegionError::Here)?;
        let opened = (self.settings.installation.as_str(), epoch);
        self.each(&self.here, streams, |stream| async move {
            mirrors::open(domain, records, opened, &stream).await
        })
        .await
    }
}

fn promoted(epoch: u64, forced: bool, begun: Instant, mirrors: Vec<MirrorStatus>) -> Promoted {
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Promoted { epoch, forced, took_ms, mirrors, pair_mirrors: false }
}
