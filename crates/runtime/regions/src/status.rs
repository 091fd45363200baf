//! The status of both regions, for people and for drills.

use api_types::{LeasesView, MirrorView, RegionView, SideView, Time};
use types::Timestamp;

use crate::RegionError;
use crate::agent::RegionAgent;
use crate::decide::role::Role;
use crate::divergent_tail::Tail;
use crate::mirrors;
use crate::record::{PromotionStep, Record};

/// The status of a pair of regions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    pub region: String,
    pub pair: String,
    pub record: Option<Record>,
    pub pair_record: Option<Record>,
    pub pair_reachable: bool,
    /// The mirrors of the standby, whichever of the two it is.
    pub mirrors: Vec<MirrorView>,
    /// With a witness, if this region is active by its record: which leases it holds.
    pub leases: Option<LeasesView>,
    /// With a witness, if this region is a standby: whether its mirrors were caught up recently. Otherwise it does not promote
    /// itself.
    pub follows: Option<bool>,
    /// The divergent tail that was kept when this region was last overtaken.
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

impl Status {
    /// The status as the API shows it.
    pub fn view(self) -> RegionView {
        RegionView {
            active: self.active().map(str::to_owned),
            here: side_view(self.region, self.record),
            pair: side_view(self.pair, self.pair_record),
            pair_reachable: self.pair_reachable,
            mirrors: self.mirrors,
            leases: self.leases,
            follows: self.follows,
            tail: self.tail.map(Tail::view),
        }
    }
}

fn side_view(region: String, record: Option<Record>) -> SideView {
    let Some(record) = record else {
        let role = "unknown".to_owned();
        return SideView { region, role, epoch: None, since: None, by: None, level: None, promotion: None };
    };
    let step = |step| match step {
        PromotionStep::Fence => "fence",
        PromotionStep::CatchUp => "catch_up",
        PromotionStep::Open => "open",
    };
    let since = Time(Timestamp(i64::try_from(record.since_ms).unwrap_or(i64::MAX)));
    SideView {
        region,
        role: record.role.to_string(),
        epoch: Some(record.epoch),
        since: Some(since),
        by: Some(record.by),
        level: (record.role == Role::Standby).then_some(record.level),
        promotion: record.promotion.map(|promotion| step(promotion.step).to_owned()),
    }
}

impl RegionAgent {
    /// The status, read now.
    pub(crate) async fn status(&self) -> Result<Status, RegionError> {
        let (record, _) = self.sites.here.records.record().await.map_err(RegionError::Here)?;
        let pair = self.sites.there.records.record().await;
        let pair_reachable = pair.is_ok();
        let pair_record = pair.ok().and_then(|(record, _)| record);
        let is = |record: &Option<Record>, role| record.as_ref().is_some_and(|record| record.role == role);
        // The mirrors of the standby are compared with the other region, whichever of the two is asked.
        let mirrored_there = is(&record, Role::Active) || is(&pair_record, Role::Standby);
        let mirrored_there = mirrored_there && !is(&record, Role::Standby);
        let leases = self.leases.as_ref().filter(|_| is(&record, Role::Active)).map(|leases| leases.held());
        let follows = self.leases.as_ref().filter(|_| is(&record, Role::Standby));
        let follows = follows.map(|leases| leases.was_caught_up_recently());
        let (standby, origin) = if mirrored_there {
            (&self.sites.there, &self.sites.here)
        } else {
            (&self.sites.here, &self.sites.there)
        };
        let mirrors = if mirrored_there && !pair_reachable {
            Vec::new()
        } else {
            let installation = &self.sites.settings.installation;
            let mut streams = mirrors::shared_streams(&standby.domain, installation)
                .await
                .map_err(|error| self.sites.site_error(standby, error))?;
            let origin = pair_reachable.then_some(&origin.domain);
            if let Some(origin) = origin {
                // Streams that are not mirrored yet are listed as well.
                streams.extend(mirrors::shared_streams(origin, installation).await.unwrap_or_default());
                streams.sort_unstable();
                streams.dedup();
            }
            let status = mirrors::status(&standby.domain, origin, streams).await;
            status.map_err(|error| self.sites.site_error(standby, error))?
        };
        let tail = self.sites.here.records.tail().await.map_err(RegionError::Here)?;
        Ok(Status {
            region: self.sites.settings.name.clone(),
            pair: self.sites.settings.pair.clone(),
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
