//! The register of a region, and how one instance sees it: late, and not as the others do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cluster::{ClusterView, InstanceId, Member, Ownership, Register, RegisterError};
use regions::Role;
use tokio::sync::watch;
use types::PartitionId;

use super::coverage::Situation;
use super::world::{Region, Sim};

/// How long an instance counts as alive after it said so, in ms.
const LIFETIME_MS: u64 = 6000;

/// How long a question waits for its answer, in ms.
const PATIENCE_MS: u64 = 2000;

/// What the register holds.
#[derive(Default)]
pub struct RegisterState {
    members: BTreeMap<InstanceId, (Member, u64)>,
    ownerships: BTreeMap<PartitionId, Ownership>,
}

impl Region {
    fn view(&self, now: u64) -> ClusterView {
        let living = self.register.members.iter().filter(|(_, (_, until))| *until > now);
        ClusterView {
            known: true,
            members: living.map(|(id, (member, _))| (id.clone(), member.clone())).collect(),
            ownerships: self.register.ownerships.clone(),
            active: self.state.role == Role::Active,
        }
    }
}

/// The register as one instance reaches it.
pub struct RegisterClient {
    sim: Arc<Sim>,
    life: u32,
    region: usize,
    view: watch::Receiver<Arc<ClusterView>>,
}

impl RegisterClient {
    pub fn new(sim: Arc<Sim>, life: u32, region: usize) -> RegisterClient {
        let (tx, view) = watch::channel(Arc::default());
        tokio::spawn(look(sim.clone(), life, region, tx));
        RegisterClient { sim, life, region, view }
    }

    async fn ask(
        &self,
        change: impl FnOnce(&mut RegisterState, u64) + Send,
        lost: bool,
    ) -> Result<(), RegisterError> {
        self.sim.gate(self.life).await;
        let trip = self.sim.trip(self.life, "register");
        let gone = |reason: &str| Err(RegisterError(reason.to_owned()));
        tokio::time::sleep(Duration::from_millis(trip.there_ms)).await;
        self.sim.gate(self.life).await;
        if trip.request_lost || lost || self.sim.world().regions[self.region].lost {
            tokio::time::sleep(Duration::from_millis(PATIENCE_MS)).await;
            self.sim.gate(self.life).await;
            return gone("no answer");
        }
        let now = self.sim.now();
        change(&mut self.sim.world().regions[self.region].register, now);
        tokio::time::sleep(Duration::from_millis(trip.back_ms)).await;
        self.sim.gate(self.life).await;
        if trip.answer_lost { gone("the answer was lost") } else { Ok(()) }
    }
}

/// Looks at the register now and then.
async fn look(sim: Arc<Sim>, life: u32, region: usize, tx: watch::Sender<Arc<ClusterView>>) {
    loop {
        let nap_ms = {
            let mut world = sim.world();
            let most = world.network_faults().register_lag_ms;
            20 + world.draw(life, "sight") % most
        };
        tokio::time::sleep(Duration::from_millis(nap_ms)).await;
        sim.gate(life).await;
        let now = sim.now();
        let view = {
            let world = sim.world();
            let reached = world.lives[&life].cut_until <= now && !world.regions[region].lost;
            reached.then(|| world.regions[region].view(now))
        };
        if let Some(view) = view {
            tx.send_if_modified(|known| {
                let changed = **known != view;
                if changed {
                    *known = Arc::new(view);
                }
                changed
            });
        }
        if tx.is_closed() {
            return;
        }
    }
}

impl Register for RegisterClient {
    async fn heartbeat(&self, member: &Member) -> Result<(), RegisterError> {
        let lost = {
            let mut world = self.sim.world();
            let rate = u64::from(world.network_faults().heartbeat_lost);
            let lost = world.draw(self.life, "beat") % 1000 < rate;
            if lost {
                world.coverage.note(Situation::HeartbeatLost);
            }
            lost
        };
        let member = member.clone();
        self.ask(
            move |register, now| {
                register.members.insert(member.id.clone(), (member, now + LIFETIME_MS));
            },
            lost,
        )
        .await
    }

    async fn deregister(&self, id: &InstanceId) -> Result<(), RegisterError> {
        self.ask(
            |register, _| {
                register.members.remove(id);
            },
            false,
        )
        .await
    }

    async fn publish(&self, partition: PartitionId, ownership: Ownership) -> Result<(), RegisterError> {
        self.ask(
            move |register, _| {
                let known = register.ownerships.get(&partition);
                if known.is_none_or(|known| known.epoch <= ownership.epoch) {
                    let noted = ownership.replacing(known);
                    register.ownerships.insert(partition, noted);
                }
            },
            false,
        )
        .await
    }

    fn watch(&self) -> watch::Receiver<Arc<ClusterView>> {
        self.view.clone()
    }
}
