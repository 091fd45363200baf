//! The public handle of a pair of regions.

use std::sync::Arc;

use tokio::sync::watch;

use crate::agent::{self, RegionAgent};
use crate::decide::role::Role;
use crate::promote::{Mode, Promoted};
use crate::sites::Sites;
use crate::{RegionError, Settings, Status, lease_renewal};
use journal_nats::jetstream::JetStream;

/// A region and its pair, seen from an instance of the region. Cheap to clone.
#[derive(Clone)]
pub struct Regions {
    pub(crate) agent: Arc<RegionAgent>,
}

impl Regions {
    /// Joins the region: creates its buckets, checks the link to the pair, and follows both regions from then on.
    /// `jetstream` is connected to the servers of this region.
    pub async fn join(jetstream: JetStream, settings: Settings) -> Result<Regions, RegionError> {
        let agent = Arc::new(RegionAgent::new(Sites::new(jetstream, settings)));
        agent.prepare().await?;
        // The first reading comes before anything is published: a region that was overtaken never acts as active.
        agent.read_roles().await?;
        host::spawn("region agent", agent::run(Arc::downgrade(&agent)));
        host::spawn("region lease", lease_renewal::run(Arc::downgrade(&agent)));
        Ok(Regions { agent })
    }

    /// Whether this region is active: its instances own partitions only while it is.
    pub fn active(&self) -> watch::Receiver<bool> {
        self.agent.roles.active.subscribe()
    }

    /// Whether this region is active by its record as it was last read: then its streams are its own and may be created
    /// and checked. To act, a region with a witness needs a lease as well.
    pub fn has_own_streams(&self) -> bool {
        let observed = self.agent.roles.observed();
        observed.is_active_by_record() && !observed.overtaken
    }

    /// The region's epoch, for the header of outbound calls.
    pub fn epoch(&self) -> watch::Receiver<u64> {
        self.agent.roles.epoch.subscribe()
    }

    /// The name of this region.
    pub fn name(&self) -> &str {
        &self.agent.sites.settings.name
    }

    /// The name of the pair, if it was active when its record was last read.
    pub fn active_elsewhere(&self) -> Option<String> {
        let pair = self.agent.roles.observed().pair;
        let is_active = pair.is_some_and(|pair| pair.role == Role::Active);
        is_active.then(|| self.agent.sites.settings.pair.clone())
    }

    /// The state of both regions, read now.
    pub async fn status(&self) -> Result<Status, RegionError> {
        self.agent.status().await
    }

    /// Makes this region the active one. A promotion that was interrupted is continued.
    pub async fn promote(&self, mode: Mode) -> Result<Promoted, RegionError> {
        self.agent.promote(mode).await
    }

    /// Checks all streams now, as happens every minute: a standby trims its mirrors like the active region its streams.
    pub async fn maintain_streams(&self) -> Result<(), RegionError> {
        self.agent.maintain_streams(true).await
    }

    /// Takes the active role from this region, after its instances have released their partitions. Without a witness no
    /// region is active until one of the two is promoted.
    pub async fn demote(&self) -> Result<(), RegionError> {
        self.agent.demote().await
    }
}
