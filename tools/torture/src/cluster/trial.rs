//! What exists during the faults of a cluster: the services, the target of jobs, and the log of the clients.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::Bytes;
use drone_delivery::Addresses;
use hyper::Method;

use crate::audit::{Evidence, Findings, audit};
use crate::client::Client;
use crate::cluster::network::Network;
use crate::cluster::region::Region;
use crate::cluster::relay::relayed;
use crate::cluster::settle;
use crate::dice::Dice;
use crate::load::{Load, Pace};
use crate::posts::Posts;
use crate::process::Drones;
use crate::rig::{Rig, TOKEN};
use crate::target::Target;
use crate::trial::ledgers;
use crate::workflow;

/// Acknowledged runs that are looked up after each fault.
const SAMPLE: usize = 20;

pub struct Trial {
    pub posts: Arc<Posts>,
    pub target: Target,
    drones: Drones,
    /// Where members reach the services.
    services: Addresses,
}

impl Trial {
    pub async fn start(rig: &Rig, seed: u64, directory: &Path, network: &Network) -> anyhow::Result<Trial> {
        let drones = Drones::start(&rig.drone, directory, seed)?;
        let services = relayed(drones.addresses(), network.own_ip()).await?;
        let target = Target::start_at(network.own_ip(), seed).await?;
        Ok(Trial { posts: Arc::default(), target, drones, services })
    }

    /// Applies the workflow, at any instance.
    pub async fn apply(&self, addresses: &[SocketAddr]) -> anyhow::Result<()> {
        let source = Bytes::from(workflow::source(&self.services)?);
        let applied = settle::asked(addresses, async |client: &mut Client| {
            let sent = client.send(Method::POST, "/v1/workflows", "application/yaml", source.clone()).await?;
            sent.success().map(drop)
        });
        applied.await.context("applying the drone workflow")?;
        // The load starts when all instances know it.
        for address in addresses {
            let alone = [*address];
            let known = settle::asked(&alone, async |client: &mut Client| {
                client.get("/v1/workflows/drone-delivery").await?.success().map(drop)
            });
            known.await.with_context(|| format!("waiting for the workflow at {address}"))?;
        }
        Ok(())
    }

    pub fn load(&self, addresses: &[SocketAddr], dice: &mut Dice) -> Load {
        Load::start(addresses, TOKEN, Pace::GENTLE, &self.posts, dice)
    }

    /// Clients that begin within the first `near`.
    pub fn load_within(&self, addresses: &[SocketAddr], near: usize, pace: Pace, dice: &mut Dice) -> Load {
        Load::start_within(addresses, near, TOKEN, pace, &self.posts, dice)
    }

    /// Acknowledged runs, drawn, must be known at every instance after recovery.
    pub async fn spot_check(
        &self,
        addresses: &[SocketAddr],
        dice: &mut Dice,
        when: &str,
    ) -> anyhow::Result<()> {
        let sample = self.posts.sample(dice, SAMPLE);
        for address in addresses {
            for (id, status) in settle::statuses(&[*address], &sample).await? {
                if status.is_none() {
                    self.posts.record_wrong(&id, format!("acknowledged, and not known {when} at {address}"));
                }
            }
        }
        Ok(())
    }

    /// Waits for every run, kills everybody once more, and compares the state with the ledgers.
    pub async fn settle_and_audit(&self, region: &mut Region) -> anyhow::Result<Findings> {
        let addresses = region.addresses();
        let acknowledged = self.posts.acknowledged();
        ensure!(!acknowledged.is_empty() || !self.posts.wrong().is_empty(), "no post was ever answered");
        let settled = settle::settle(&addresses, &acknowledged).await?;
        region.kill_all()?;
        region.start_nats()?;
        region.start_instances()?;
        region.well().await?;
        self.audit(&addresses, &acknowledged, settled).await
    }

    /// Compares the state with what was acknowledged and with the ledgers.
    pub async fn audit(
        &self,
        addresses: &[SocketAddr],
        acknowledged: &[String],
        before: crate::trial::Statuses,
    ) -> anyhow::Result<Findings> {
        let endings = settle::statuses(addresses, acknowledged).await?;
        let mut seen = self.posts.wrong();
        for (id, before) in &before {
            let after = endings.get(id).copied().flatten();
            if after != *before {
                seen.insert(id.clone(), format!("ended as {before:?}, and is {after:?} after one more kill"));
            }
        }
        // Calls that are still in transit to a service must arrive before the ledgers are read.
        tokio::time::sleep(Duration::from_millis(workflow::LATE_MS + 100)).await;
        let (entries, key_changes) = ledgers(&self.drones).await?;
        let stored = settle::stored(addresses).await?.into_iter().filter(|id| !is_of_a_job(id)).collect();
        let unanswered = self.posts.unanswered();
        Ok(audit(&Evidence { endings, unanswered, seen, stored, entries, key_changes }))
    }
}

/// Occurrences of jobs are runs, too: the job's id and the time of its rule.
fn is_of_a_job(id: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    id.split_once('.').is_some_and(|(job, time)| job.len() == 32 && digits(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occurrences_are_distinguished_from_requests() {
        assert!(is_of_a_job("01a1e500482270aaa94bc6d4df7e048c.17948433680000000"));
        assert!(!is_of_a_job("t-1-10") && !is_of_a_job("p-1-2-3.4"));
    }
}
