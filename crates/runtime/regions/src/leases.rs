//! The leases of a pair with a witness: the active region renews them, and a standby stands in when they have run out.

use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use crate::decide::consent::Consent;
use crate::decide::lease::{LeaseReply, Overwrite};
use crate::decide::role::Role;
use crate::decide::witness::Witness;
use crate::mirrors::{self, MirrorStatus};
use crate::promote::Mode;
use crate::record::Record;
use crate::{NextRecord, RegionAgent, RegionError, Settings};
use journal_nats::jetstream::{JetStream, JetStreamError};

const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What a region must have one of to be active.
pub(super) struct Leases {
    witness: Witness,
    consent: Consent,
    lives: Duration,
    /// When this region was last seen to follow its pair closely.
    // A lock: one moment, read and written in passing.
    followed: Mutex<Option<Instant>>,
}

/// Which of them a region has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLeases {
    /// The lease at the witness.
    pub witness: bool,
    /// The consent of the pair.
    pub pair: bool,
}

impl Leases {
    /// None without a witness.
    pub(super) fn of(settings: &Settings, here: &JetStream, there: &JetStream) -> Option<Leases> {
        let witness = Witness::at(settings.witness.clone()?, settings);
        let Settings { installation, name, lease: lives, .. } = settings;
        let consent = Consent::new(here.clone(), there.clone(), installation, name, *lives);
        Some(Leases { witness, consent, lives: *lives, followed: Mutex::default() })
    }

    /// Which of them were renewed lately enough.
    pub(super) fn held(&self) -> HeldLeases {
        HeldLeases { witness: self.witness.holds(), pair: self.consent.holds() }
    }

    /// Whether one of them was renewed lately enough.
    pub(super) fn hold(&self) -> bool {
        let HeldLeases { witness, pair } = self.held();
        witness || pair
    }

    /// Makes this region's consent, unless it is there.
    pub(super) async fn make(&self, replicas: usize) -> Result<(), JetStreamError> {
        self.consent.make(replicas).await
    }

    fn renew_every(&self) -> Duration {
        self.lives / 6
    }

    /// Whether this region had nearly everything not much longer ago than it takes until a lease has run out. Nobody
    /// would decide by itself to go on without the work of hours.
    pub(super) fn followed_lately(&self) -> bool {
        let followed = *self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.is_some_and(|followed| followed.elapsed() < self.lives * 2)
    }

    /// When a lease that nobody renews from now on has run out.
    fn run_out(&self) -> Instant {
        Instant::now() + self.lives + self.renew_every()
    }
}

/// Renews while the region is active, and stands in for the pair when its leases have run out.
pub(super) async fn run(regions: Weak<RegionAgent>) {
    if regions.upgrade().is_none_or(|inner| inner.leases.is_none()) {
        return;
    }
    // Side by side: a witness that is silent keeps nobody from asking the pair, nor from seeing that time has run out.
    tokio::join!(
        often(&regions, async |inner, leases| inner.ask_witness(leases).await),
        often(&regions, async |inner, leases| inner.ask_pair(leases).await),
        watch_leases(&regions),
    );
}

/// Does something as often as leases are renewed; what failed is done again soon, because there is little time.
async fn often(
    regions: &Weak<RegionAgent>,
    act: impl AsyncFn(&RegionAgent, &Leases) -> Result<(), RegionError>,
) {
    let mut failing = false;
    loop {
        let Some(inner) = regions.upgrade() else { return };
        let Some(leases) = &inner.leases else { return };
        let pause = match act(&inner, leases).await {
            Ok(()) => {
                failing = false;
                leases.renew_every()
            }
            Err(error) => {
                // Whoever is away may be so for hours, and one of the two is enough.
                let urgent = inner.is_active_by_record() && !leases.hold();
                if failing && !urgent {
                    tracing::debug!(%error, "asking for a lease of this region");
                } else {
                    tracing::warn!(%error, "asking for a lease of this region");
                }
                failing = true;
                LOOK_EVERY
            }
        };
        drop(inner);
        sleep(pause).await;
    }
}

/// Tells that the region is not active any more when its leases have run out.
async fn watch_leases(regions: &Weak<RegionAgent>) {
    while let Some(inner) = regions.upgrade() {
        inner.publish_active();
        drop(inner);
        sleep(LOOK_EVERY).await;
    }
}

impl RegionAgent {
    fn is_active_by_record(&self) -> bool {
        self.seen.borrow().here.as_ref().is_some_and(|here| here.role == Role::Active)
    }

    async fn ask_witness(&self, leases: &Leases) -> Result<(), RegionError> {
        let Some(here) = self.seen.borrow().here.clone() else { return Ok(()) };
        if here.role == Role::Fenced {
            return Ok(());
        }
        leases.witness.make().await.map_err(RegionError::Witness)?;
        if here.role == Role::Standby {
            return self.stand_in(leases, &here).await;
        }
        match leases.witness.ask_for(here.epoch, Overwrite::OwnOrFree).await.map_err(RegionError::Witness)? {
            LeaseReply::Granted => Ok(()),
            LeaseReply::HeldBy(by) => {
                tracing::warn!(by, "the witness holds the lease for another");
                Ok(())
            }
            LeaseReply::Superseded(epoch) => {
                tracing::warn!(epoch, "the witness has granted a higher epoch");
                self.fence_here(here.epoch).await
            }
        }
    }

    async fn ask_pair(&self, leases: &Leases) -> Result<(), RegionError> {
        let here = self.seen.borrow().here.clone();
        let Some(here) = here.filter(|here| here.role == Role::Active) else { return Ok(()) };
        let asked = leases.consent.ask_for(here.epoch, self.pair_stands_by(here.epoch)).await;
        asked.map(drop).map_err(|error| self.pair_error(error))
    }

    /// Whether the pair knows of no epoch above this one, nor is about to make one.
    async fn pair_stands_by(&self, epoch: u64) -> Result<bool, JetStreamError> {
        let (pair, _) = self.there.records.record().await?;
        Ok(pair.is_some_and(|pair| pair.role == Role::Standby && !pair.opens() && pair.epoch <= epoch))
    }

    async fn stand_in(&self, leases: &Leases, here: &Record) -> Result<(), RegionError> {
        let witness = &leases.witness;
        if witness.held_by_another().await.map_err(RegionError::Witness)?.is_some() {
            return self.note_following(leases, here).await;
        }
        let granted = witness.highest().await.map_err(RegionError::Witness)?;
        // A region that does not know of the last epoch does not have what was written under it. The next one of its
        // own carries no information: it was granted to a promotion here that was cut short.
        let begun = granted == self.side.epoch_above(here.epoch);
        if granted == 0 || granted > here.epoch && !begun {
            return Ok(());
        }
        if leases.consent.given_to().await.map_err(RegionError::Here)?.is_some() {
            return self.note_following(leases, here).await;
        }
        let pair = &self.settings.pair;
        let by_force = here.opens_by_force() || !self.seen.borrow().pair_reachable;
        // What a promotion would lose is for a person to weigh: the mirrors may be empty, or hours old.
        if !here.level {
            tracing::error!(pair, "the pair's lease has run out, and this region was never level");
            return Ok(());
        }
        if by_force && !begun && !here.opens_by_force() && !leases.followed_lately() {
            tracing::error!(pair, "the pair's lease has run out, and this region is far behind it");
            return Ok(());
        }
        tracing::warn!(pair, "the pair's lease has run out; state in for it");
        let promoted = self.promote(if by_force { Mode::Forced } else { Mode::Planned }).await?;
        let (epoch, lost_messages) = (promoted.epoch, promoted.lost());
        tracing::warn!(epoch, lost_messages, took_ms = promoted.took_ms, "this region is active now");
        Ok(())
    }

    /// Sees whether this region has nearly all that its pair has.
    async fn note_following(&self, leases: &Leases, here: &Record) -> Result<(), RegionError> {
        if !here.level || !self.seen.borrow().pair_reachable {
            return Ok(());
        }
        let begun = Instant::now();
        let streams = self.here.records.streams().await.map_err(RegionError::Here)?;
        let mirrors = mirrors::status(&self.here.domain, None, streams).await.map_err(RegionError::Here)?;
        if !mirrors.iter().any(MirrorStatus::lags_too_far) {
            *leases.followed.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
        }
        Ok(())
    }

    /// Fences this region if it still has the epoch that was overtaken.
    async fn fence_here(&self, epoch: u64) -> Result<(), RegionError> {
        let (record, revision) = self.here.records.record().await.map_err(RegionError::Here)?;
        if record.is_some_and(|record| record.role == Role::Active && record.epoch == epoch) {
            self.write(&self.here, NextRecord::overtaken(epoch), revision).await?;
        }
        self.fence_streams(&self.here).await
    }

    /// Makes sure that there is a witness to ask. Without its answer neither of the two would be active: better the pair
    /// goes on.
    pub(super) async fn require_witness(&self) -> Result<(), RegionError> {
        let Some(leases) = &self.leases else { return Ok(()) };
        leases.witness.make().await.map_err(RegionError::Witness)
    }

    /// The lease that goes with an epoch. A forced promotion waits until the pair's have run out.
    pub(super) async fn lease_for(&self, epoch: u64, mode: Mode) -> Result<(), RegionError> {
        let Some(leases) = &self.leases else { return Ok(()) };
        let deadline = leases.run_out();
        loop {
            match self.ask_to_begin(leases, epoch, mode).await? {
                LeaseReply::Granted => return Ok(()),
                LeaseReply::HeldBy(_) if Instant::now() < deadline => sleep(LOOK_EVERY).await,
                LeaseReply::HeldBy(by) => {
                    return Err(RegionError::WitnessRefuses(format!("{by} renews its lease")));
                }
                LeaseReply::Superseded(granted) => {
                    return Err(RegionError::WitnessRefuses(format!("epoch {granted} was granted already")));
                }
            }
        }
    }

    async fn ask_to_begin(&self, leases: &Leases, epoch: u64, mode: Mode) -> Result<LeaseReply, RegionError> {
        // In a planned promotion the pair has let go.
        let hold = if mode == Mode::Planned { Overwrite::Any } else { Overwrite::OwnOrFree };
        if mode.is_forced()
            && let Some(by) = leases.consent.given_to().await.map_err(RegionError::Here)?
        {
            return Ok(LeaseReply::HeldBy(by));
        }
        leases.witness.ask_for(epoch, hold).await.map_err(RegionError::Witness)
    }

    /// Waits until nobody works by this region's consent. Its promotion is noted, so that nobody renews it.
    pub(super) async fn take_back_consent(&self, epoch: u64, mode: Mode) -> Result<(), RegionError> {
        let Some(leases) = self.leases.as_ref().filter(|_| mode.is_forced()) else { return Ok(()) };
        let deadline = leases.run_out();
        loop {
            match leases.consent.take_back(epoch).await.map_err(RegionError::Here)? {
                LeaseReply::Granted => return Ok(()),
                _ if Instant::now() < deadline => sleep(LOOK_EVERY).await,
                _ => return Err(RegionError::Changed),
            }
        }
    }
}
