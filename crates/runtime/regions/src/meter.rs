//! The state of the regions for metrics.

use std::sync::{Arc, Weak};

use crate::agent::RegionAgent;
use crate::decide::role::Role;
use crate::mirrors;
use crate::{RegionError, Regions};

/// Reads the state of the regions, without keeping them alive.
#[derive(Clone)]
pub struct Meter {
    agent: Weak<RegionAgent>,
}

/// The state as it was last read; no request is sent for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionReading {
    /// Whether this region is active.
    pub active: bool,
    pub level: bool,
    pub epoch: u64,
    pub pair_reachable: bool,
    /// Whether this region has a lease of the witness or the consent of the pair; none without a witness.
    pub leased: Option<bool>,
}

impl Regions {
    pub fn meter(&self) -> Meter {
        Meter { agent: Arc::downgrade(&self.agent) }
    }
}

impl Meter {
    /// None when the regions were dropped.
    pub fn read(&self) -> Option<RegionReading> {
        let agent = self.agent.upgrade()?;
        let observed = agent.roles.observed();
        Some(RegionReading {
            active: *agent.roles.active.borrow(),
            level: observed.here.as_ref().is_some_and(|here| here.level),
            epoch: *agent.roles.epoch.borrow(),
            pair_reachable: observed.pair_reachable,
            leased: agent.leases.as_ref().map(|leases| leases.is_held()),
        })
    }

    /// How many messages the mirrors in this region lag in total, as far as they know; 0 if it is not a standby. Sends a
    /// request for each stream.
    pub async fn mirror_lag(&self) -> Result<u64, RegionError> {
        let Some(agent) = self.agent.upgrade() else { return Ok(0) };
        let (here, sites) = (agent.roles.observed().here, &agent.sites);
        if here.is_none_or(|here| here.role != Role::Standby) {
            return Ok(0);
        }
        let streams = sites.shared_streams(&sites.here).await?;
        let mirrors = mirrors::status(&sites.here.domain, None, streams).await.map_err(RegionError::Here)?;
        Ok(mirrors.iter().filter_map(|mirror| mirror.lag).sum())
    }
}
