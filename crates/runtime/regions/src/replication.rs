//! Replication of the streams from the active region to the standby: mirrors, when they have caught up, repairs, trimming.

mod level;
mod repair;
mod trim;

use std::sync::{Arc, Mutex};

use crate::RegionError;
use crate::mirrors;
use crate::sites::{RegionSite, Sites};
use trim::Trim;

/// Keeps the streams of this region as its role requires.
pub(crate) struct Replication {
    sites: Arc<Sites>,
    /// What is trimmed once the mirrors have come far enough.
    // A lock: taken out and put back, never held.
    trim: Mutex<Option<Trim>>,
}

impl Replication {
    pub(crate) fn new(sites: Arc<Sites>) -> Replication {
        Replication { sites, trim: Mutex::default() }
    }

    /// Mirrors all streams of the pair that are not mirrored yet.
    pub(crate) async fn mirror_pair(&self) -> Result<(), RegionError> {
        self.mirror_all(&self.sites.here, &self.sites.there).await
    }

    /// Creates the missing mirrors in one region of the streams of the other.
    pub(crate) async fn mirror_all(&self, site: &RegionSite, origin: &RegionSite) -> Result<(), RegionError> {
        let streams = self.sites.shared_streams(origin).await?;
        let replicas = self.sites.settings.replicas;
        let (here, there) = (&site.domain, &origin.domain);
        self.sites
            .each(site, &streams, |stream| async move {
                mirrors::keep_mirror(here, &site.records, there, &origin.api, &stream, replicas).await
            })
            .await
    }

    /// Whether each stream of the pair exists here and is recorded.
    pub(crate) async fn mirrors_all(&self) -> Result<bool, RegionError> {
        let there = self.sites.shared_streams(&self.sites.there).await?;
        let here = self.sites.shared_streams(&self.sites.here).await?;
        let recorded = self.sites.here.records.streams().await.map_err(RegionError::Here)?;
        Ok(there.iter().all(|stream| here.contains(stream) && recorded.contains(stream)))
    }
}
