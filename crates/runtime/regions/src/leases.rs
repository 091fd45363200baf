//! The leases of a region that has a witness: the lease at the witness and the consent of the pair. An active region needs
//! one of the two; a promotion needs the lease of the witness and its own consent back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api_types::LeasesView;
use tokio::time::{Instant, sleep};

use crate::decide::consent::Consent;
use crate::decide::lease::{LeaseReply, Overwrite};
use crate::decide::role::Role;
use crate::decide::witness::Witness;
use crate::mirrors::{self, lags};
use crate::promote::Mode;
use crate::record::Record;
use crate::sites::Sites;
use crate::{RegionError, Settings};
use journal_nats::jetstream::JetStreamError;

/// How often a promotion looks whether a lease has expired.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) struct Leases {
    sites: Arc<Sites>,
    pub(crate) witness: Witness,
    pub(crate) consent: Consent,
    lives: Duration,
    /// When the mirrors of this region were last seen without a lag.
    // A lock: one moment, read and written in passing.
    caught_up: Mutex<Option<Instant>>,
}

impl Leases {
    /// None without a witness.
    pub(crate) fn new(sites: &Arc<Sites>) -> Option<Leases> {
        let Settings { installation, name, lease: lives, witness, .. } = &sites.settings;
        let (here, there) = (sites.here.domain.clone(), sites.there.domain.clone());
        Some(Leases {
            witness: Witness::at(witness.clone()?, &sites.settings),
            consent: Consent::new(here, there, installation, name, *lives),
            sites: sites.clone(),
            lives: *lives,
            caught_up: Mutex::default(),
        })
    }

    /// Which of the two were renewed recently enough.
    pub(crate) fn held(&self) -> LeasesView {
        LeasesView { witness: self.witness.is_held(), pair: self.consent.is_held() }
    }

    /// Whether one of the two was renewed recently enough.
    pub(crate) fn is_held(&self) -> bool {
        let LeasesView { witness, pair } = self.held();
        witness || pair
    }

    /// Creates the bucket of this region's consent, if it does not exist.
    pub(crate) async fn create_consent(&self, replicas: usize) -> Result<(), RegionError> {
        self.consent.create(replicas).await.map_err(RegionError::Here)
    }

    pub(crate) fn renew_every(&self) -> Duration {
        self.lives / 6
    }

    /// Renews the consent of the pair, if its record allows it.
    pub(crate) async fn renew_consent(&self, epoch: u64) -> Result<(), RegionError> {
        let renewed = self.consent.renew(epoch, self.pair_may_consent(epoch)).await;
        renewed.map(drop).map_err(|error| self.sites.pair_error(error))
    }

    /// Whether the pair knows of no epoch above this one and is not opening its streams.
    async fn pair_may_consent(&self, epoch: u64) -> Result<bool, JetStreamError> {
        let (pair, _) = self.sites.there.records.record().await?;
        Ok(pair.is_some_and(|pair| pair.role == Role::Standby && !pair.opens() && pair.epoch <= epoch))
    }

    /// Whether this standby was caught up not much longer ago than a lease takes to expire. If not, a promotion would lose
    /// more than what was in flight, and an operator has to decide.
    pub(crate) fn was_caught_up_recently(&self) -> bool {
        let caught_up = *self.caught_up.lock().unwrap_or_else(PoisonError::into_inner);
        caught_up.is_some_and(|caught_up| caught_up.elapsed() < self.lives * 2)
    }

    /// Notes when this standby has nearly everything that its pair has.
    pub(crate) async fn note_caught_up(&self, here: &Record) -> Result<(), RegionError> {
        if !here.level {
            return Ok(());
        }
        let begun = Instant::now();
        let site = &self.sites.here;
        let streams = site.records.streams().await.map_err(RegionError::Here)?;
        let mirrors = mirrors::status(&site.domain, None, streams).await.map_err(RegionError::Here)?;
        if !mirrors.iter().any(lags) {
            *self.caught_up.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
        }
        Ok(())
    }

    /// Fails if the witness does not respond. Without it, a promoted region could not become active: it is better that the
    /// pair stays active.
    pub(crate) async fn require_witness(&self) -> Result<(), RegionError> {
        self.witness.create().await.map_err(RegionError::Witness)
    }

    /// Takes the lease at the witness for a promotion to this epoch. A forced promotion waits until the leases of the pair
    /// have expired.
    pub(crate) async fn take(&self, epoch: u64, mode: Mode) -> Result<(), RegionError> {
        let deadline = self.expiry();
        loop {
            match self.try_take(epoch, mode).await? {
                LeaseReply::Granted => return Ok(()),
                LeaseReply::HeldBy(_) if Instant::now() < deadline => sleep(LOOK_EVERY).await,
                LeaseReply::HeldBy(by) => {
                    return Err(RegionError::WitnessRefuses(format!("{by} renews its lease")));
                }
                LeaseReply::Superseded(granted) => {
                    return Err(RegionError::WitnessRefuses(format!("it has granted epoch {granted}")));
                }
            }
        }
    }

    async fn try_take(&self, epoch: u64, mode: Mode) -> Result<LeaseReply, RegionError> {
        // In a planned promotion the pair is fenced, so its lease may be overwritten.
        let overwrite = if mode == Mode::Planned { Overwrite::Any } else { Overwrite::OwnOrFree };
        if mode.is_forced()
            && let Some(by) = self.consent.given_to().await.map_err(RegionError::Here)?
        {
            return Ok(LeaseReply::HeldBy(by));
        }
        self.witness.renew(epoch, overwrite).await.map_err(RegionError::Witness)
    }

    /// Waits until the consent that this region has given has expired, and takes it back. The promotion must be recorded in
    /// the step `open`, so that the pair does not renew it.
    pub(crate) async fn take_back_consent(&self, epoch: u64, mode: Mode) -> Result<(), RegionError> {
        if !mode.is_forced() {
            return Ok(());
        }
        let deadline = self.expiry();
        loop {
            match self.consent.take_back(epoch).await.map_err(RegionError::Here)? {
                LeaseReply::Granted => return Ok(()),
                _ if Instant::now() < deadline => sleep(LOOK_EVERY).await,
                _ => return Err(RegionError::Changed),
            }
        }
    }

    /// When a lease that is not renewed from now on has certainly expired.
    fn expiry(&self) -> Instant {
        Instant::now() + self.lives + self.renew_every()
    }
}
