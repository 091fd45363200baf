//! Renewing the leases while the region is active, and the promotion of a standby once the leases of its pair have expired.

use std::sync::Weak;
use std::time::Duration;

use tokio::time::sleep;

use crate::RegionError;
use crate::agent::RegionAgent;
use crate::decide::lease::{LeaseReply, Overwrite};
use crate::decide::role::Role;
use crate::fence;
use crate::leases::Leases;
use crate::promote::Mode;
use crate::record::Record;
use crate::sites::NextRecord;

/// How soon a failed renewal is repeated, and how often leases are checked for their expiry.
const CHECK_EVERY: Duration = Duration::from_millis(500);

/// Runs for as long as the agent exists. Without a witness there is nothing to renew.
pub(crate) async fn run(agent: Weak<RegionAgent>) {
    if agent.upgrade().is_none_or(|agent| agent.leases.is_none()) {
        return;
    }
    // Concurrently: a witness that does not respond delays neither the consent of the pair nor the check for expiry.
    tokio::join!(
        renew_repeatedly(&agent, async |agent, leases| agent.renew_at_witness(leases).await),
        renew_repeatedly(&agent, async |agent, leases| agent.renew_consent(leases).await),
        publish_expiry(&agent),
    );
}

/// Repeats a renewal; after a failure soon, because there is little time.
async fn renew_repeatedly(
    agent: &Weak<RegionAgent>,
    renew: impl AsyncFn(&RegionAgent, &Leases) -> Result<(), RegionError>,
) {
    let mut was_failing = false;
    loop {
        let Some(agent) = agent.upgrade() else { return };
        let Some(leases) = &agent.leases else { return };
        let pause = match renew(&agent, leases).await {
            Ok(()) => {
                was_failing = false;
                leases.renew_every()
            }
            Err(error) => {
                // A place may be down for hours, and one of the two leases is enough: then one warning is enough, too.
                let is_urgent = agent.roles.observed().is_active_by_record() && !leases.is_held();
                if was_failing && !is_urgent {
                    tracing::debug!(%error, "could not renew a region lease");
                } else {
                    tracing::warn!(%error, "could not renew a region lease");
                }
                was_failing = true;
                CHECK_EVERY
            }
        };
        drop(agent);
        sleep(pause).await;
    }
}

/// Publishes that the region is not active any more once its leases have expired.
async fn publish_expiry(agent: &Weak<RegionAgent>) {
    while let Some(agent) = agent.upgrade() {
        agent.roles.publish_active(agent.is_leased());
        drop(agent);
        sleep(CHECK_EVERY).await;
    }
}

impl RegionAgent {
    /// Renews the lease at the witness if this region is active; if it is a standby, takes over from a pair whose leases have
    /// expired.
    async fn renew_at_witness(&self, leases: &Leases) -> Result<(), RegionError> {
        let Some(here) = self.roles.observed().here else { return Ok(()) };
        if here.role == Role::Fenced {
            return Ok(());
        }
        leases.require_witness().await?;
        if here.role == Role::Standby {
            return self.take_over(leases, &here).await;
        }
        let renewed = leases.witness.renew(here.epoch, Overwrite::OwnOrFree).await;
        match renewed.map_err(RegionError::Witness)? {
            LeaseReply::Granted => Ok(()),
            LeaseReply::HeldBy(by) => {
                tracing::warn!(by, "the witness has given the lease to the other region");
                Ok(())
            }
            LeaseReply::Superseded(epoch) => {
                tracing::warn!(epoch, "the witness has granted a higher epoch; fencing this region");
                self.fence_overtaken(here.epoch).await
            }
        }
    }

    async fn renew_consent(&self, leases: &Leases) -> Result<(), RegionError> {
        match self.roles.observed().here {
            Some(here) if here.role == Role::Active => leases.renew_consent(here.epoch).await,
            _ => Ok(()),
        }
    }

    /// Promotes this standby if both leases of its pair have expired, and nothing is lost beyond what was in flight.
    async fn take_over(&self, leases: &Leases, here: &Record) -> Result<(), RegionError> {
        let witness = &leases.witness;
        let pair_reachable = self.roles.is_pair_reachable();
        let note = async || if pair_reachable { leases.note_caught_up(here).await } else { Ok(()) };
        if witness.held_by_another().await.map_err(RegionError::Witness)?.is_some() {
            return note().await;
        }
        let granted = witness.highest().await.map_err(RegionError::Witness)?;
        // A region that does not know the last granted epoch lacks what was written under it. The next epoch of its own
        // is an exception: it was granted to a promotion of this region that was interrupted.
        let was_begun = granted == self.sites.side.epoch_above(here.epoch);
        if granted == 0 || granted > here.epoch && !was_begun {
            return Ok(());
        }
        if leases.consent.given_to().await.map_err(RegionError::Here)?.is_some() {
            return note().await;
        }
        let pair = &self.sites.settings.pair;
        let is_forced = here.opens_by_force() || !pair_reachable;
        // Mirrors may be empty, or hours old: whether to lose that much is for an operator to decide.
        if !here.level {
            tracing::error!(
                pair,
                "not promoting this standby: its pair's leases expired, but it never caught up"
            );
            return Ok(());
        }
        if is_forced && !was_begun && !here.opens_by_force() && !leases.was_caught_up_recently() {
            tracing::error!(
                pair,
                "not promoting this standby: its pair's leases expired, but its mirrors lag"
            );
            return Ok(());
        }
        tracing::warn!(pair, "promoting this standby: the leases of its pair have expired");
        let promoted = self.promote(if is_forced { Mode::Forced } else { Mode::Planned }).await?;
        let (epoch, lost_messages) = (promoted.epoch, promoted.lost());
        tracing::warn!(epoch, lost_messages, took_ms = promoted.took_ms, "this region is active now");
        Ok(())
    }

    /// Fences this region if it still has the epoch that was overtaken.
    async fn fence_overtaken(&self, epoch: u64) -> Result<(), RegionError> {
        let sites = &self.sites;
        let (record, revision) = sites.here.records.record().await.map_err(RegionError::Here)?;
        if record.is_some_and(|record| record.role == Role::Active && record.epoch == epoch) {
            sites.write(&sites.here, NextRecord::overtaken(epoch), revision).await?;
        }
        fence::close_streams(sites, &sites.here).await
    }
}
