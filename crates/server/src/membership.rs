//! Membership in a cluster: heartbeats, partitions, and the workflows that other instances change.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cluster::NatsRegister;
use cluster::{Directory, InstanceId, Member, PartitionLocation, Register};
use engine::{Control, Engine};
use prometheus_client::registry::Registry;
use regions::Regions;
use rest::PeerSecret;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::{Config, ConfigError};
use crate::journals::AnyJournal;
use crate::owner::Owner;
use crate::peers::Peers;

/// How often an instance looks for workflows that other instances have changed.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// The state of the region, as an instance follows it.
pub(crate) struct RegionState {
    /// Whether partitions run in this region.
    pub active: watch::Receiver<bool>,
    pub epoch: watch::Receiver<u64>,
}

impl RegionState {
    /// Without regions, the installation is always active.
    pub fn of(regions: Option<&Regions>) -> RegionState {
        RegionState {
            active: regions.map_or_else(|| watch::channel(true).1, Regions::active),
            epoch: regions.map_or_else(|| watch::channel(0).1, Regions::epoch),
        }
    }
}

/// An instance that is about to join its cluster.
pub(crate) struct Membership {
    register: Arc<NatsRegister>,
    member: Member,
    peer: PeerSecret,
    settings: cluster::Settings,
    metrics: cluster::ClusterMetrics,
}

/// An instance that has joined its cluster.
pub(crate) struct Joined {
    membership: cluster::Membership,
    following: JoinHandle<()>,
}

impl Membership {
    pub fn new(
        config: &Config,
        register: NatsRegister,
        address: SocketAddr,
        metrics: &mut Registry,
    ) -> Result<Membership, ConfigError> {
        let cluster = &config.cluster;
        let (ordinal, peer) = (cluster.checked_ordinal()?, cluster.peer()?);
        let member = Member {
            id: InstanceId(host::new_run_id().to_string()),
            address: cluster.advertise.clone().unwrap_or_else(|| format!("http://{address}")),
            roles: cluster.roles(),
            ordinal,
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        };
        let settings =
            cluster::Settings { ordinals: cluster.ordinals, ..cluster::Settings::new(config.partitions) };
        let metrics = cluster::ClusterMetrics::register(metrics);
        Ok(Membership { register: Arc::new(register), member, peer, settings, metrics })
    }

    fn directory(&self) -> Directory {
        Directory::new(self.member.id.clone(), self.register.watch())
    }

    /// The other instances, and the client to reach them with.
    pub fn peers(&self) -> Peers {
        Peers::over_http(self.directory(), self.peer.clone(), self.member.roles)
    }

    /// Announces this instance to the others, which then assign partitions to it.
    pub fn join(
        self,
        engine: Engine,
        control: Control,
        journal: Arc<AnyJournal>,
        region: RegionState,
    ) -> Joined {
        let RegionState { active, epoch } = region;
        let directory = self.directory();
        let Membership { register, member, settings, metrics, .. } = self;
        let follower = Follower { control: control.clone(), engine: engine.clone(), directory, active };
        let following = host::spawn("follow workflows", follower.run());
        let owner = Arc::new(Owner::new(engine, control, journal, epoch));
        let membership = cluster::Membership::start(register, owner, member, settings, metrics);
        Joined { membership, following }
    }
}

impl Joined {
    /// Releases all partitions and leaves the cluster.
    pub async fn leave(self) {
        self.membership.stop().await;
        self.following.abort();
    }
}

/// Follows the changes that other instances make.
struct Follower {
    control: Control,
    engine: Engine,
    directory: Directory,
    /// Whether this region is active.
    active: watch::Receiver<bool>,
}

impl Follower {
    async fn run(mut self) {
        let mut failed = false;
        loop {
            // What was read may belong to a history that the other region has replaced.
            if self.active.has_changed().unwrap_or(false) {
                self.active.mark_unchanged();
                self.control.forget().await;
            }
            match self.control.look().await {
                Ok(()) => failed = false,
                Err(error) if failed => tracing::debug!(%error, "still cannot read the workflows"),
                Err(error) => {
                    tracing::warn!(%error, "cannot read the workflows; keeping those that are known");
                    failed = true;
                }
            }
            self.forget_stopped().await;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Forgets partitions whose recovery failed here once another instance runs them.
    async fn forget_stopped(&self) {
        for info in self.engine.partitions().into_iter().filter(|info| info.stopped.is_some()) {
            if let PartitionLocation::Remote(_) = self.directory.location_of(info.id) {
                self.engine.release(info.id, Duration::ZERO).await;
            }
        }
    }
}
