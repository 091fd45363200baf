//! The claim on a region's work: promotion, rejoining and repairs are done by one instance at a time.
//!
//! The claim is an entry with an expiry time in the region's bucket. Its holder renews it, and checks it by compare-and-set
//! before each step that cannot be undone.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout_at};

use crate::RegionError;
use crate::record::RecordStore;
use crate::sites::{RegionSite, Sites, now_ms};
use journal_nats::jetstream::JetStreamError;

const WORK: &str = "work";
/// How often an instance that waits for the claim tries to take it.
const TRY_EVERY: Duration = Duration::from_millis(100);

/// Takes claims for this instance. Its tasks share the instance's name in the entry, so they take turns here first.
pub(crate) struct RegionWork {
    sites: Arc<Sites>,
    turn: Arc<Mutex<()>>,
}

impl RegionWork {
    pub(crate) fn new(sites: Arc<Sites>) -> RegionWork {
        RegionWork { sites, turn: Arc::default() }
    }

    /// Claims the work of this region; waits while another task or instance has it.
    pub(crate) async fn wait_for_claim(&self) -> Result<WorkClaim, RegionError> {
        let (site, deadline) = (&self.sites.here, Instant::now() + self.sites.settings.patience);
        loop {
            let claimed = match timeout_at(deadline, self.turn.clone().lock_owned()).await {
                Ok(turn) => self.claim_in(turn, site).await,
                Err(_) => Err(self.busy(site)),
            };
            match claimed {
                Err(RegionError::Busy { .. }) if Instant::now() < deadline => sleep(TRY_EVERY).await,
                claimed => return claimed,
            }
        }
    }

    /// Claims the work of a region, or fails with [`RegionError::Busy`].
    pub(crate) async fn claim(&self, site: &RegionSite) -> Result<WorkClaim, RegionError> {
        match self.turn.clone().try_lock_owned() {
            Ok(turn) => self.claim_in(turn, site).await,
            Err(_) => Err(self.busy(site)),
        }
    }

    /// Claims the work of the pair in addition to that of this region. Only a planned promotion does: while the pair
    /// releases its partitions, no other instance may promote it.
    pub(crate) async fn wait_for_pair_claim(&self) -> Result<WorkClaim, RegionError> {
        let (site, deadline) = (&self.sites.there, Instant::now() + self.sites.settings.patience);
        loop {
            match WorkClaim::take(site, &self.sites, None).await {
                Err(RegionError::Busy { .. }) if Instant::now() < deadline => sleep(TRY_EVERY).await,
                claimed => return claimed,
            }
        }
    }

    /// Runs an operation under the claim on this region's work, or does nothing if another instance has it.
    pub(crate) async fn run_if_free(
        &self,
        operation: impl AsyncFnOnce(&WorkClaim) -> Result<(), RegionError>,
    ) -> Result<(), RegionError> {
        let claim = match self.claim(&self.sites.here).await {
            Err(RegionError::Busy { .. }) => return Ok(()),
            claim => claim?,
        };
        let done = operation(&claim).await;
        claim.release().await;
        done
    }

    async fn claim_in(&self, turn: OwnedMutexGuard<()>, site: &RegionSite) -> Result<WorkClaim, RegionError> {
        WorkClaim::take(site, &self.sites, Some(turn)).await
    }

    fn busy(&self, site: &RegionSite) -> RegionError {
        RegionError::Busy { region: site.name.clone(), by: self.sites.author() }
    }
}

/// The claim on a region's work. It is renewed until this is dropped or another instance has taken it.
pub(crate) struct WorkClaim {
    lease: Arc<WorkLease>,
    renewing: AbortHandle,
    _turn: Option<OwnedMutexGuard<()>>,
}

/// The entry in the bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct WorkEntry {
    by: Option<String>,
    until_ms: u64,
}

struct WorkLease {
    sites: Arc<Sites>,
    site: RegionSite,
    /// Held while the entry is written: one renewal after the other.
    revision: Mutex<u64>,
}

impl WorkClaim {
    async fn take(
        site: &RegionSite,
        sites: &Arc<Sites>,
        turn: Option<OwnedMutexGuard<()>>,
    ) -> Result<WorkClaim, RegionError> {
        let read: Result<(Option<WorkEntry>, u64), _> = site.records.read(WORK).await;
        let (entry, revision) = read.map_err(|error| sites.site_error(site, error))?;
        if let Some(WorkEntry { by: Some(other), until_ms }) = entry
            && other != sites.author()
            && now_ms() < until_ms
        {
            return Err(RegionError::Busy { region: site.name.clone(), by: other });
        }
        let lease = WorkLease { sites: sites.clone(), site: site.clone(), revision: Mutex::new(revision) };
        let lease = Arc::new(lease);
        lease.renew().await?;
        let renewing = host::spawn("region work claim", keep_renewing(lease.clone())).abort_handle();
        Ok(WorkClaim { lease, renewing, _turn: turn })
    }

    /// Renews the claim, or fails because another instance has it. To be called before each step that cannot be undone.
    pub(crate) async fn confirm(&self) -> Result<(), RegionError> {
        self.lease.renew().await
    }

    pub(crate) async fn release(self) {
        // A renewal in flight ends first: without its result the revision is not known.
        let revision = self.lease.revision.lock().await;
        let entry = WorkEntry { by: None, until_ms: 0 };
        // If this fails, the claim expires.
        let _ = self.lease.records().write(WORK, &entry, Some(*revision)).await;
    }
}

impl Drop for WorkClaim {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

impl WorkLease {
    fn records(&self) -> &RecordStore {
        &self.site.records
    }

    async fn renew(&self) -> Result<(), RegionError> {
        let mut revision = self.revision.lock().await;
        let lives_ms = u64::try_from(self.sites.settings.work.as_millis()).unwrap_or(u64::MAX);
        let until_ms = now_ms().saturating_add(lives_ms);
        let entry = WorkEntry { by: Some(self.sites.author()), until_ms };
        match self.records().write(WORK, &entry, Some(*revision)).await {
            Ok(written) => {
                *revision = written;
                Ok(())
            }
            Err(JetStreamError::Changed) => {
                let region = self.site.name.clone();
                Err(RegionError::Busy { region, by: "another instance".to_owned() })
            }
            Err(error) => Err(self.sites.site_error(&self.site, error)),
        }
    }
}

async fn keep_renewing(lease: Arc<WorkLease>) {
    loop {
        sleep(lease.sites.settings.work / 3).await;
        // The holder finds out by itself, at its next confirmation.
        if let Err(RegionError::Busy { .. }) = lease.renew().await {
            return;
        }
    }
}
