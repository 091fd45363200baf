//! What an instance knows of its regions, for whoever measures.

use std::sync::{Arc, Weak};

use crate::decide::role::Role;
use crate::leases::Leases;
use crate::mirrors;
use crate::{RegionAgent, RegionError, Regions};

/// Reads off the regions, and does not keep them.
#[derive(Clone)]
pub struct Meter {
    regions: Weak<RegionAgent>,
}

/// What was seen last; nobody is asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionReading {
    /// Whether the instances here hold partitions.
    pub active: bool,
    pub level: bool,
    pub epoch: u64,
    pub pair_reachable: bool,
    /// Whether the witness or the pair lets this region be active; none without a witness.
    pub leased: Option<bool>,
}

impl Regions {
    pub fn meter(&self) -> Meter {
        Meter { regions: Arc::downgrade(&self.inner) }
    }
}

impl Meter {
    /// None when the regions are gone.
    pub fn read(&self) -> Option<RegionReading> {
        let inner = self.regions.upgrade()?;
        let seen = inner.seen.borrow();
        Some(RegionReading {
            active: *inner.active.borrow(),
            level: seen.here.as_ref().is_some_and(|here| here.level),
            epoch: *inner.epoch.borrow(),
            pair_reachable: seen.pair_reachable,
            leased: inner.leases.as_ref().map(Leases::hold),
        })
    }

    /// The messages that are missing in the mirrors here, as far as they know it themselves; 0 where nothing is
    /// mirrored. Asks about each stream.
    pub async fn mirror_lag(&self) -> Result<u64, RegionError> {
        let Some(inner) = self.regions.upgrade() else { return Ok(0) };
        let here = inner.seen.borrow().here.clone();
        if here.is_none_or(|here| here.role != Role::Standby) {
            return Ok(0);
        }
        let streams = inner.shared_streams(&inner.here).await?;
        let mirrors = mirrors::status(&inner.here.domain, None, streams).await.map_err(RegionError::Here)?;
        Ok(mirrors.iter().filter_map(|mirror| mirror.lag).sum())
    }
}
