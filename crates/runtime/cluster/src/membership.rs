//! The membership of one instance in a cluster: its heartbeats, and the rebalancing of its partitions.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::{info, warn};

use crate::heartbeat::{Heartbeat, Phase};
use crate::rebalancer::Rebalancer;
use crate::{ClusterMetrics, InstanceId, Member, PartitionOwner, Register, Settings};

/// What releasing everything takes on top of the drain timeout: snapshots, updates of the register, acquisitions in flight.
const STOP_MARGIN: Duration = Duration::from_secs(20);
const DEREGISTER_TIMEOUT: Duration = Duration::from_secs(10);

/// A member of a cluster until it is stopped. Dropping it is like killing the process: the others notice when its
/// heartbeats stop.
pub struct Membership {
    id: InstanceId,
    phase: watch::Sender<Phase>,
    heartbeat: JoinHandle<()>,
    rebalancer: JoinHandle<()>,
    stop_timeout: Duration,
}

impl Membership {
    pub fn start<R: Register, H: PartitionOwner>(
        register: Arc<R>,
        owner: Arc<H>,
        member: Member,
        settings: Settings,
        metrics: ClusterMetrics,
    ) -> Membership {
        let (phase, phases) = watch::channel(Phase::Running);
        let (trust_from, trusted) = watch::channel(None);
        let rebalancer = Rebalancer::new(
            Arc::clone(&register),
            Arc::clone(&owner),
            member.clone(),
            settings.clone(),
            metrics.clone(),
            phases.clone(),
            trusted,
        );
        let (id, stop_timeout) = (member.id.clone(), settings.drain_timeout + STOP_MARGIN);
        let heartbeat = Heartbeat { register, owner, member, settings, metrics, phase: phases, trust_from };
        Membership {
            id,
            phase,
            heartbeat: host::spawn("cluster heartbeat", heartbeat.run()),
            rebalancer: host::spawn("partition rebalancer", rebalancer.run()),
            stop_timeout,
        }
    }

    /// Releases all partitions, then deregisters the instance.
    pub async fn stop(mut self) {
        info!(instance = %self.id, "leaving the cluster");
        self.phase.send_replace(Phase::Leaving);
        if timeout(self.stop_timeout, &mut self.rebalancer).await.is_err() {
            warn!(instance = %self.id, "partitions were not released in time; other instances will claim them");
            self.rebalancer.abort();
        }
        self.phase.send_replace(Phase::Gone);
        if timeout(DEREGISTER_TIMEOUT, &mut self.heartbeat).await.is_err() {
            warn!(instance = %self.id, "deregistering timed out; the entry of this instance will expire");
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.heartbeat.abort();
        self.rebalancer.abort();
    }
}

#[cfg(test)]
mod tests;
