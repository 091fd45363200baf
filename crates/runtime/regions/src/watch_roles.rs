//! What every instance does all the time: look at both sides, and do what follows.

use std::sync::Weak;
use std::time::Duration;

use crate::decide::role::{Role, RoleChange, first_state, on_pair};
use crate::leases::Leases;
use crate::record::{Record, WorkClaim};
use crate::{NextRecord, Observed, RegionAgent, RegionError};

/// How soon an instance notices that its region has another role.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Every so many looks, streams that are new at the active region are mirrored.
const MIRROR_EVERY: u32 = 6;
/// Every so many looks, all streams are gone through: how they are configured, and what was trimmed.
const TIDY_EVERY: u32 = 120;

pub(super) async fn run(regions: Weak<RegionAgent>) {
    let mut turn: u32 = 0;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(inner) = regions.upgrade() else { return };
        if let Err(error) = inner.look().await {
            tracing::debug!(%error, "looking at the regions");
        }
        turn = turn.wrapping_add(1);
        if turn.is_multiple_of(MIRROR_EVERY)
            && let Err(error) = inner.upkeep(turn.is_multiple_of(TIDY_EVERY)).await
        {
            tracing::debug!(%error, "keeping mirrors");
        }
    }
}

impl RegionAgent {
    /// Reads what both sides are, and does what follows from it.
    pub(super) async fn look(&self) -> Result<(), RegionError> {
        // One observation at a time: an older reading must not be published after a newer one.
        let looking = self.looking.lock().await;
        let (here, pair) = tokio::join!(self.here.records.record(), self.there.records.record());
        let (here, revision) = here.map_err(RegionError::Here)?;
        let pair_reachable = pair.is_ok();
        let pair = pair.ok().and_then(|(record, _)| record);
        let Some(here) = here else { return self.begin(pair, pair_reachable).await };
        let next = match &pair {
            Some(pair) => on_pair(here.state(), pair.state()),
            None => RoleChange::Stay,
        };
        // Told before anything is done about it: what was overtaken lets go at once.
        let overtaken = next == RoleChange::Fence;
        self.publish(here.clone(), pair.clone(), pair_reachable, overtaken);
        drop(looking);
        self.note_followed(&here, pair.as_ref()).await.map_err(RegionError::Here)?;
        match next {
            RoleChange::Stay => Ok(()),
            RoleChange::Fence => {
                self.write(&self.here, NextRecord::overtaken(here.epoch), revision).await?;
                self.fence_streams(&self.here).await
            }
            // A promotion was begun here, and then the pair was promoted instead: some mirrors are streams by now,
            // and become mirrors again as those of any region that was overtaken.
            RoleChange::AdoptEpoch { .. } if here.opens() => {
                self.write(&self.here, NextRecord::overtaken(here.epoch), revision).await.map(drop)
            }
            RoleChange::AdoptEpoch { epoch } => {
                self.write(&self.here, NextRecord::standby(epoch), revision).await.map(drop)
            }
            RoleChange::Rejoin { epoch } => match self.rejoin_here(epoch).await {
                Err(RegionError::Busy { .. }) => Ok(()),
                done => done,
            },
        }
    }

    /// A region that has never been anything waits for a word of its pair: it may have been active for long.
    async fn begin(&self, pair: Option<Record>, pair_reachable: bool) -> Result<(), RegionError> {
        if !pair_reachable {
            tracing::info!(pair = self.settings.pair, "waiting for a first word of the pair");
            return Ok(());
        }
        let home = self.settings.home == self.settings.name;
        let first = first_state(self.side, home, pair.as_ref().map(Record::state));
        let next = match first.role {
            Role::Active => NextRecord::active(first.epoch),
            Role::Standby | Role::Fenced => NextRecord::standby(first.epoch),
        };
        match self.write(&self.here, next, 0).await {
            // Another instance was first, with the same.
            Ok(_) | Err(RegionError::Changed) => {}
            Err(error) => return Err(error),
        }
        let (here, _) = self.here.records.record().await.map_err(RegionError::Here)?;
        if let Some(here) = here {
            self.publish(here, pair, pair_reachable, false);
        }
        Ok(())
    }

    fn publish(&self, here: Record, pair: Option<Record>, pair_reachable: bool, overtaken: bool) {
        if pair_reachable {
            self.reach.note_follower(pair.as_ref().is_some_and(|pair| pair.role == Role::Standby));
        }
        self.epoch.send_if_modified(|epoch| std::mem::replace(epoch, here.epoch) != here.epoch);
        self.seen.send_replace(Observed { here: Some(here), pair, pair_reachable, overtaken });
        self.publish_active();
    }

    /// Says whether this region is active, by what was seen last and what leases it has.
    pub(super) fn publish_active(&self) {
        let seen = self.seen.borrow();
        let role = seen.here.as_ref().map(|here| here.role);
        let leased = self.leases.as_ref().is_none_or(Leases::hold);
        let active = role == Some(Role::Active) && !seen.overtaken && leased;
        self.active.send_if_modified(|known| std::mem::replace(known, active) != active);
    }

    /// A standby mirrors what is new at its pair, and sees when it has had everything; an active region has all its streams
    /// open.
    pub(super) async fn upkeep(&self, thoroughly: bool) -> Result<(), RegionError> {
        let seen = self.seen.borrow().clone();
        if thoroughly && seen.here.as_ref().is_some_and(|here| here.role == Role::Active) {
            // Looked at before the work is taken, which every instance would take once a minute for nothing.
            if self.closed_streams().await?.is_empty() {
                return Ok(());
            }
            return self.at_work(async |claim| self.open_closed_streams(claim).await).await;
        }
        let (Some(here), Some(pair)) = (seen.here, seen.pair) else { return Ok(()) };
        let mirrors = here.role == Role::Standby && !here.opens() && pair.role == Role::Active;
        let given_up = here.promotion.is_some();
        if !mirrors || !thoroughly && !given_up && here.level && self.all_mirrored().await? {
            return Ok(());
        }
        self.at_work(async |claim| self.care(claim, thoroughly).await).await
    }

    /// Does this, unless somebody else is at the region's work.
    async fn at_work(
        &self,
        work: impl AsyncFnOnce(&WorkClaim) -> Result<(), RegionError>,
    ) -> Result<(), RegionError> {
        let claim = match self.take_work(&self.here).await {
            Err(RegionError::Busy { .. }) => return Ok(()),
            claim => claim?,
        };
        let done = work(&claim).await;
        claim.release().await;
        done
    }

    /// What upkeep does once nobody else is at it.
    async fn care(&self, claim: &WorkClaim, thoroughly: bool) -> Result<(), RegionError> {
        // What was seen may be old: streams of a promotion that has begun must not become mirrors again.
        let (here, revision) = self.here.records.record().await.map_err(RegionError::Here)?;
        let Some(here) = here.filter(|here| here.role == Role::Standby && !here.opens()) else {
            return Ok(());
        };
        // Whoever promotes has the work that is ours now, so nobody does: it was given up while the pair works on.
        if here.promotion.is_some() {
            self.write(&self.here, NextRecord { promotion: None, ..NextRecord::of(&here) }, revision).await?;
        }
        self.keep_level(claim).await?;
        if thoroughly { self.trim_mirrors(here.epoch).await } else { Ok(()) }
    }

    /// Whether there is a noted stream here for each that the pair has.
    async fn all_mirrored(&self) -> Result<bool, RegionError> {
        let there = self.shared_streams(&self.there).await?;
        let here = self.shared_streams(&self.here).await?;
        let noted = self.here.records.streams().await.map_err(RegionError::Here)?;
        Ok(there.iter().all(|stream| here.contains(stream) && noted.contains(stream)))
    }
}
