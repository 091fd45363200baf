//! Promotion: how a region becomes the active one.

mod fill;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api_types::{MirrorView, PromotedView};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::decide::role::{self, RegionState, Role};
use crate::leases::Leases;
use crate::record::{Points, Promotion, PromotionStep, Record};
use crate::replication::Replication;
use crate::sites::{NextRecord, Sites, now_ms};
use crate::work::{RegionWork, WorkClaim};
use crate::{RegionError, fence, mirrors};

/// How a promotion proceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The pair is fenced first and the mirrors catch up, so that nothing is lost.
    Planned,
    /// Without the pair: what the mirrors lack is lost to this region.
    Forced,
    /// Forced, even if this region is not level.
    ForcedIncomplete,
}

impl Mode {
    pub(crate) fn is_forced(self) -> bool {
        matches!(self, Mode::Forced | Mode::ForcedIncomplete)
    }
}

/// The result of a promotion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promoted {
    pub epoch: u64,
    pub forced: bool,
    /// From the call until the region was active.
    pub took_ms: u64,
    /// The known lag of each mirror, and the time of its newest message: what a forced promotion has lost.
    pub mirrors: Vec<MirrorView>,
    /// Whether the pair mirrors this region already.
    pub pair_mirrors: bool,
}

impl Promoted {
    /// The promotion of this region as the API shows it.
    pub fn view(self, region: &str) -> PromotedView {
        PromotedView {
            region: region.to_owned(),
            epoch: self.epoch,
            forced: self.forced,
            took_ms: self.took_ms,
            lost_messages: self.lost(),
            mirrors: self.mirrors,
            pair_mirrors: self.pair_mirrors,
        }
    }

    /// Messages that this region is known not to have.
    pub fn lost(&self) -> u64 {
        if self.forced { self.mirrors.iter().filter_map(|mirror| mirror.lag).sum() } else { 0 }
    }
}

const RETRIES_MAX: u32 = 3;
const POLL: Duration = Duration::from_millis(100);

/// Promotes this region, step by step; each step can be repeated.
pub(crate) struct Promoter {
    pub(crate) sites: Arc<Sites>,
    pub(crate) work: Arc<RegionWork>,
    pub(crate) leases: Option<Arc<Leases>>,
    pub(crate) replication: Arc<Replication>,
}

impl Promoter {
    pub(crate) async fn promote(&self, mode: Mode) -> Result<Promoted, RegionError> {
        let begun = Instant::now();
        let claim = self.work.wait_for_claim().await?;
        let mut promoted = self.promote_claimed(&claim, mode, begun).await;
        for _ in 0..RETRIES_MAX {
            // The record that it read was old, or an interrupted promotion has gone on: it reads again and continues.
            if matches!(promoted, Err(RegionError::Changed)) {
                promoted = self.promote_claimed(&claim, mode, begun).await;
            }
        }
        claim.release().await;
        promoted
    }

    async fn promote_claimed(
        &self,
        claim: &WorkClaim,
        mode: Mode,
        begun: Instant,
    ) -> Result<Promoted, RegionError> {
        let (here, revision) = self.sites.here.records.record().await.map_err(RegionError::Here)?;
        let here = here.ok_or(RegionError::Changed)?;
        if here.role == Role::Active {
            // Only the pair may not have rejoined yet. A repeated call returns the same result.
            let before = self.sites.here.records.promoted().await.map_err(RegionError::Here)?;
            let before = before.filter(|before: &Promoted| before.epoch == here.epoch);
            return Ok(before.unwrap_or_else(|| promoted(here.epoch, false, begun, Vec::new())));
        }
        let pair = self.pair_state(mode).await?;
        self.require_promotable(&here, pair, mode)?;
        self.replication.require_level(&here, pair, mode, claim).await?;
        if let Some(leases) = &self.leases {
            leases.require_witness().await?;
        }
        if mode.is_forced() || pair.is_none() {
            return self.change_places(&here, revision, pair, mode, begun).await;
        }
        let claim = self.work.wait_for_pair_claim().await?;
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
            // Some mirrors are ordinary streams by now and would never catch up, while the pair would be fenced for nothing.
            Ok(()) if mode == Mode::Planned && here.role == Role::Standby && here.opens_by_force() => {
                "a forced promotion of this region has begun to convert its mirrors; complete it with --force, or demote this \
                 region and promote the pair"
            }
            Ok(()) => return Ok(()),
        };
        Err(RegionError::NotPromotable {
            region: self.sites.settings.name.clone(),
            reason: reason.to_owned(),
        })
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
        // An interrupted promotion continues under its epoch, unless the pair has a higher one.
        let begun_epoch = here.promotion.as_ref().map(|promotion| promotion.epoch);
        let epoch = begun_epoch.filter(|epoch| *epoch > known).unwrap_or(self.sites.side.epoch_above(known));
        // The mirrors had caught up, and some may be ordinary streams by now: there is nothing to wait for.
        let caught_up = here.promotion.as_ref().is_some_and(|promotion| {
            promotion.epoch == epoch && promotion.step == PromotionStep::Open && !promotion.forced
        });
        let mut promotion =
            Promotion { epoch, forced: mode.is_forced(), step: PromotionStep::Fence, begun_ms: now_ms() };
        let state = here.state();
        let streams = self.streams_to_open(state, mode, caught_up).await?;
        let origin = pair.is_some().then_some(&self.sites.there.domain);
        let mirrors = mirrors::status(&self.sites.here.domain, origin, streams.clone()).await;
        let mut lag = mirrors.map_err(RegionError::Here)?;
        if mode == Mode::Planned && !caught_up {
            revision = self.step(here, &promotion, revision).await?;
            fence::fence(&self.sites, &self.sites.there).await?;
            promotion.step = PromotionStep::CatchUp;
            revision = self.step(here, &promotion, revision).await?;
            if state.role == Role::Standby {
                lag = self.catch_up(&streams).await?;
            }
        }
        if let Some(leases) = &self.leases {
            leases.take(epoch, mode).await?;
        }
        // A forced promotion is recorded only here: if the lease is refused, the region continues to mirror.
        promotion.step = PromotionStep::Open;
        let revision = self.step(here, &promotion, revision).await?;
        if let Some(leases) = &self.leases {
            leases.take_back_consent(epoch, mode).await?;
        }
        self.open(epoch, &streams).await?;
        fill::fill_inboxes(&self.sites, epoch, &streams).await?;
        let promoted = promoted(epoch, promotion.forced, begun, lag);
        self.sites.here.records.set_promoted(&promoted).await.map_err(RegionError::Here)?;
        self.sites.write(&self.sites.here, NextRecord::active(epoch), revision).await?;
        Ok(promoted)
    }

    /// The state of the pair. A planned promotion requires it; a forced one uses it if the pair responds.
    async fn pair_state(&self, mode: Mode) -> Result<Option<RegionState>, RegionError> {
        match self.sites.there.records.record().await {
            Ok((record, _)) => Ok(record.map(|record| record.state())),
            Err(_) if mode.is_forced() => Ok(None),
            Err(error) => Err(RegionError::PairUnreachable {
                pair: self.sites.settings.pair.clone(),
                cause: error.to_string(),
            }),
        }
    }

    async fn step(&self, here: &Record, promotion: &Promotion, revision: u64) -> Result<u64, RegionError> {
        let next = NextRecord { promotion: Some(promotion.clone()), ..NextRecord::of(here) };
        self.sites.write(&self.sites.here, next, revision).await
    }

    /// All streams that the active region had when it was last read. A missing one would be lost.
    async fn streams_to_open(
        &self,
        state: RegionState,
        mode: Mode,
        caught_up: bool,
    ) -> Result<Vec<String>, RegionError> {
        if mode == Mode::Planned && state.role == Role::Standby && !caught_up {
            self.replication.mirror_pair().await?;
        }
        let here = self.sites.shared_streams(&self.sites.here).await?;
        if state.role == Role::Fenced {
            return Ok(here);
        }
        let here: BTreeSet<_> = here.into_iter().collect();
        let known = self.sites.here.records.streams().await.map_err(RegionError::Here)?;
        let missing: Vec<_> = known.iter().filter(|stream| !here.contains(*stream)).cloned().collect();
        let reason = if known.is_empty() {
            "it has never mirrored its pair".to_owned()
        } else if !missing.is_empty() {
            format!("it has no mirror of {}", missing.join(", "))
        } else {
            return Ok(known);
        };
        Err(RegionError::NotPromotable { region: self.sites.settings.name.clone(), reason })
    }

    /// Waits until every mirror ends where its origin ends; the origins are closed.
    async fn catch_up(&self, streams: &[String]) -> Result<Vec<MirrorView>, RegionError> {
        let deadline = Instant::now() + self.sites.settings.patience;
        loop {
            let status =
                mirrors::status(&self.sites.here.domain, Some(&self.sites.there.domain), streams.to_vec())
                    .await;
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

    /// Converts mirrors to ordinary streams: detaches them from their origins, records where they end, and then opens them.
    async fn open(&self, epoch: u64, streams: &[String]) -> Result<(), RegionError> {
        let (domain, records) = (&self.sites.here.domain, &self.sites.here.records);
        let ends: Vec<_> = self
            .sites
            .each(&self.sites.here, streams, |stream| async move {
                let point = mirrors::detach(domain, records, &stream).await?;
                Ok((stream, point))
            })
            .await?;
        let points = Points { streams: ends.into_iter().collect() };
        records.set_points(epoch, &points).await.map_err(RegionError::Here)?;
        let opened = (self.sites.settings.installation.as_str(), epoch);
        self.sites
            .each(&self.sites.here, streams, |stream| async move {
                mirrors::open(domain, records, opened, &stream).await
            })
            .await
    }
}

fn promoted(epoch: u64, forced: bool, begun: Instant, mirrors: Vec<MirrorView>) -> Promoted {
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    Promoted { epoch, forced, took_ms, mirrors, pair_mirrors: false }
}
