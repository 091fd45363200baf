//! Where the two regions stand, for people and for drills.

use serde::{Deserialize, Serialize};

use crate::decide::role::Role;
use crate::divergent_tail::Tail;
use crate::leases::{HeldLeases, Leases};
use crate::mirrors::{self, MirrorStatus};
use crate::record::Record;
use crate::{RegionAgent, RegionError};

/// Where a pair of regions stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub region: String,
    pub pair: String,
    pub record: Option<Record>,
    pub pair_record: Option<Record>,
    pub pair_reachable: bool,
    /// The mirrors of whichever of the two is the standby.
    pub mirrors: Vec<MirrorStatus>,
    /// With a witness, and while its record says that this region is active: what it has to be so.
    pub leases: Option<HeldLeases>,
    /// With a witness, and while this region stands by: whether it has had nearly everything of late, without which it
    /// does not take over by itself.
    pub follows: Option<bool>,
    /// What was kept when this region was last overtaken.
    pub tail: Option<Tail>,
}

impl Status {
    /// The region that is active, as far as is known here.
    pub fn active(&self) -> Option<&str> {
        let is_active = |record: &Option<Record>| {
            record.as_ref().filter(|record| record.role == Role::Active).map(|record| record.epoch)
        };
        let leased = self.leases.is_none_or(|held| held.witness || held.pair);
        match (is_active(&self.record).filter(|_| leased), is_active(&self.pair_record)) {
            (None, None) => None,
            (Some(here), pair) if pair.is_none_or(|pair| pair < here) => Some(&self.region),
            _ => Some(&self.pair),
        }
    }
}

impl RegionAgent {
    /// Where the two stand, asked now.
    pub(super) async fn status(&self) -> Result<Status, RegionError> {
        let (record, _) = self.here.records.record().await.map_err(RegionError::Here)?;
        let pair = self.there.records.record().await;
        let pair_reachable = pair.is_ok();
        let pair_record = pair.ok().and_then(|(record, _)| record);
        let is = |record: &Option<Record>, role| record.as_ref().is_some_and(|record| record.role == role);
        // The standby's mirrors are counted against the other one, whoever of the two asks.
        let mirrored_there = is(&record, Role::Active) || is(&pair_record, Role::Standby);
        let mirrored_there = mirrored_there && !is(&record, Role::Standby);
        let leases = self.leases.as_ref().filter(|_| is(&record, Role::Active)).map(Leases::held);
        let follows = self.leases.as_ref().filter(|_| is(&record, Role::Standby));
        let follows = follows.map(Leases::followed_lately);
        let (standby, origin) =
            if mirrored_there { (&self.there, &self.here) } else { (&self.here, &self.there) };
        let mirrors = if mirrored_there && !pair_reachable {
            Vec::new()
        } else {
            let installation = &self.settings.installation;
            let mut streams = mirrors::shared_streams(&standby.domain, installation)
                .await
                .map_err(|error| self.site_error(standby, error))?;
            let origin = pair_reachable.then_some(&origin.domain);
            if let Some(origin) = origin {
                // Those that are not mirrored yet count, too.
                streams.extend(mirrors::shared_streams(origin, installation).await.unwrap_or_default());
                streams.sort_unstable();
                streams.dedup();
            }
            let status = mirrors::status(&standby.domain, origin, streams).await;
            status.map_err(|error| self.site_error(standby, error))?
        };
        let tail = self.here.records.tail().await.map_err(RegionError::Here)?;
        Ok(Status {
            region: self.settings.name.clone(),
            pair: self.settings.pair.clone(),
            record,
            pair_record,
            pair_reachable,
            mirrors,
            leases,
            follows,
            tail,
        })
    }
}
