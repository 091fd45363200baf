//! The agent of a region in one instance: it reads the records of both regions twice a second and acts on what it finds.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::decide::role::{Role, RoleChange, first_state, on_pair};
use crate::leases::Leases;
use crate::promote::{Mode, Promoted, Promoter};
use crate::record::Record;
use crate::rejoin::Rejoiner;
use crate::replication::Replication;
use crate::roles::{Observed, RoleState};
use crate::semi_sync::Reach;
use crate::sites::{NextRecord, Sites};
use crate::work::{RegionWork, WorkClaim};
use crate::{RegionError, fence, link_check};

/// How often an instance reads the records of both regions.
const READ_EVERY: Duration = Duration::from_millis(500);
/// Every so many readings, streams that are new in the active region are mirrored.
const MIRROR_EVERY: u32 = 6;
/// Every so many readings, all streams are checked: their configuration, and what was trimmed.
const CHECK_EVERY: u32 = 120;

/// The parts of the agent, one for each duty. They share the two sites, and each has the state that its duty needs.
pub(crate) struct RegionAgent {
    pub(crate) sites: Arc<Sites>,
    pub(crate) roles: RoleState,
    pub(crate) work: Arc<RegionWork>,
    /// None without a witness.
    pub(crate) leases: Option<Arc<Leases>>,
    pub(crate) replication: Arc<Replication>,
    pub(crate) reach: Arc<Reach>,
    promoter: Promoter,
    rejoiner: Rejoiner,
}

impl RegionAgent {
    pub(crate) fn new(sites: Sites) -> RegionAgent {
        let sites = Arc::new(sites);
        let work = Arc::new(RegionWork::new(sites.clone()));
        let leases = Leases::new(&sites).map(Arc::new);
        let replication = Arc::new(Replication::new(sites.clone()));
        RegionAgent {
            roles: RoleState::default(),
            reach: Reach::new(sites.there.domain.clone(), sites.settings.reach),
            promoter: Promoter {
                sites: sites.clone(),
                work: work.clone(),
                leases: leases.clone(),
                replication: replication.clone(),
            },
            rejoiner: Rejoiner { sites: sites.clone(), work: work.clone(), replication: replication.clone() },
            sites,
            work,
            leases,
            replication,
        }
    }

    /// What must be in place before the first reading: the buckets of this region, and a link that keeps the two apart.
    pub(crate) async fn prepare(&self) -> Result<(), RegionError> {
        let replicas = self.sites.settings.replicas;
        self.sites.here.records.create(replicas).await.map_err(RegionError::Here)?;
        if let Some(leases) = &self.leases {
            leases.create_consent(replicas).await?;
        }
        link_check::check(&self.sites).await?;
        self.reach.restore(&self.sites.here.records).await.map_err(RegionError::Here)
    }

    /// Whether this region has a lease, or needs none.
    pub(crate) fn is_leased(&self) -> bool {
        self.leases.as_ref().is_none_or(|leases| leases.is_held())
    }

    /// Reads the records of both regions, publishes them, and makes the change of role that follows.
    pub(crate) async fn read_roles(&self) -> Result<(), RegionError> {
        let sites = &self.sites;
        let reading = self.roles.begin_reading().await;
        let (here, pair) = tokio::join!(sites.here.records.record(), sites.there.records.record());
        let (here, revision) = here.map_err(RegionError::Here)?;
        let pair_reachable = pair.is_ok();
        let pair = pair.ok().and_then(|(record, _)| record);
        let Some(here) = here else { return self.begin(pair, pair_reachable).await };
        let change = match &pair {
            Some(pair) => on_pair(here.state(), pair.state()),
            None => RoleChange::Stay,
        };
        // Published before anything else: the instances of a region that was overtaken stop at once.
        let overtaken = change == RoleChange::Fence;
        self.publish(Observed { here: Some(here.clone()), pair: pair.clone(), pair_reachable, overtaken });
        drop(reading);
        let follows = pair.as_ref().is_some_and(|pair| pair.is_standby_of(&here));
        self.reach.record_follower(&sites.here.records, &here, follows).await.map_err(RegionError::Here)?;
        self.change_role(change, &here, revision).await
    }

    async fn change_role(&self, change: RoleChange, here: &Record, revision: u64) -> Result<(), RegionError> {
        let sites = &self.sites;
        match change {
            RoleChange::Stay => Ok(()),
            RoleChange::Fence => {
                sites.write(&sites.here, NextRecord::overtaken(here.epoch), revision).await?;
                fence::close_streams(sites, &sites.here).await
            }
            // A promotion was begun here, and then the pair was promoted instead. Some mirrors are ordinary streams by
            // now; they become mirrors again when this region rejoins, like those of any region that was overtaken.
            RoleChange::AdoptEpoch { .. } if here.opens() => {
                sites.write(&sites.here, NextRecord::overtaken(here.epoch), revision).await.map(drop)
            }
            RoleChange::AdoptEpoch { epoch } => {
                sites.write(&sites.here, NextRecord::standby(epoch), revision).await.map(drop)
            }
            RoleChange::Rejoin { epoch } => match self.rejoiner.rejoin_here(epoch).await {
                Err(RegionError::Busy { .. }) => Ok(()),
                done => done,
            },
        }
    }

    /// Gives a region without a record its first role. It waits until the pair has responded, which may have been active
    /// for long.
    async fn begin(&self, pair: Option<Record>, pair_reachable: bool) -> Result<(), RegionError> {
        let sites = &self.sites;
        if !pair_reachable {
            tracing::info!(pair = sites.settings.pair, "this region has no role yet; waiting for its pair");
            return Ok(());
        }
        let is_home = sites.settings.home == sites.settings.name;
        let first = first_state(sites.side, is_home, pair.as_ref().map(Record::state));
        let next = match first.role {
            Role::Active => NextRecord::active(first.epoch),
            Role::Standby | Role::Fenced => NextRecord::standby(first.epoch),
        };
        match sites.write(&sites.here, next, 0).await {
            // Another instance was first, with the same record.
            Ok(_) | Err(RegionError::Changed) => {}
            Err(error) => return Err(error),
        }
        let (here, _) = sites.here.records.record().await.map_err(RegionError::Here)?;
        if here.is_some() {
            self.publish(Observed { here, pair, pair_reachable, overtaken: false });
        }
        Ok(())
    }

    fn publish(&self, observed: Observed) {
        if observed.pair_reachable {
            let pair = observed.pair.as_ref();
            self.reach.set_follows(pair.is_some_and(|pair| pair.role == Role::Standby));
        }
        self.roles.publish(observed, self.is_leased());
    }

    /// Keeps the streams as the role of the region requires: a standby mirrors what is new in its pair and finds out when
    /// it has caught up; an active region reopens streams that were closed. `thoroughly`: checks every stream.
    pub(crate) async fn maintain_streams(&self, thoroughly: bool) -> Result<(), RegionError> {
        let observed = self.roles.observed();
        if thoroughly && observed.is_active_by_record() {
            // Checked without the claim: otherwise every instance would take it once a minute for nothing.
            if self.replication.closed_streams().await?.is_empty() {
                return Ok(());
            }
            return self.work.run_if_free(async |claim| self.replication.reopen_streams(claim).await).await;
        }
        let (Some(here), Some(pair)) = (observed.here, observed.pair) else { return Ok(()) };
        let mirrors = here.role == Role::Standby && !here.opens() && pair.role == Role::Active;
        let is_settled = here.level && here.promotion.is_none();
        if !mirrors || !thoroughly && is_settled && self.replication.mirrors_all().await? {
            return Ok(());
        }
        self.work.run_if_free(async |claim| self.maintain_mirrors(claim, thoroughly).await).await
    }

    async fn maintain_mirrors(&self, claim: &WorkClaim, thoroughly: bool) -> Result<(), RegionError> {
        let sites = &self.sites;
        // What was read before the claim may be old: streams of a promotion that has begun must not become mirrors again.
        let (here, revision) = sites.here.records.record().await.map_err(RegionError::Here)?;
        let Some(here) = here.filter(|here| here.role == Role::Standby && !here.opens()) else {
            return Ok(());
        };
        // A promotion holds the claim that is ours now, so this one was given up while the pair stays active.
        if here.promotion.is_some() {
            let next = NextRecord { promotion: None, ..NextRecord::of(&here) };
            sites.write(&sites.here, next, revision).await?;
        }
        self.replication.catch_up(claim).await?;
        if thoroughly { self.replication.trim_mirrors(here.epoch).await } else { Ok(()) }
    }

    /// Makes this region the active one. A promotion that was interrupted is continued.
    pub(crate) async fn promote(&self, mode: Mode) -> Result<Promoted, RegionError> {
        let mut promoted = self.promoter.promote(mode).await?;
        // The promotion is complete whatever comes of this reading; the next one is soon.
        if let Err(error) = self.read_roles().await {
            tracing::warn!(%error, "could not read the region records after a promotion");
        }
        if mode == Mode::Planned {
            promoted.pair_mirrors = self.rejoiner.rejoin_pair(promoted.epoch).await;
        }
        Ok(promoted)
    }

    /// Takes the active role from this region: its instances release their partitions, then its streams are closed.
    pub(crate) async fn demote(&self) -> Result<(), RegionError> {
        let claim = self.work.wait_for_claim().await?;
        let fenced = fence::fence(&self.sites, &self.sites.here).await;
        claim.release().await;
        fenced?;
        self.read_roles().await
    }
}

/// Runs for as long as the agent exists.
pub(crate) async fn run(agent: Weak<RegionAgent>) {
    let mut turn: u32 = 0;
    loop {
        tokio::time::sleep(READ_EVERY).await;
        let Some(agent) = agent.upgrade() else { return };
        if let Err(error) = agent.read_roles().await {
            tracing::debug!(%error, "could not read the region records");
        }
        turn = turn.wrapping_add(1);
        if turn.is_multiple_of(MIRROR_EVERY)
            && let Err(error) = agent.maintain_streams(turn.is_multiple_of(CHECK_EVERY)).await
        {
            tracing::debug!(%error, "could not maintain the streams of the region");
        }
    }
}
