//! The register of a region, and how one instance sees it: late, and not as the others do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cluster::{Holding, InstanceId, Member, Register, RegisterError, Sight};
use journal_nats::regions::Role;
use tokio::sync::watch;
use types::PartitionId;

use super::coverage::Sometimes;
use super::world::{Region, Sim};

/// How long an instance counts as alive after it said so, in ms.
const LIFETIME_MS: u64 = 6000;

/// How long a question waits for its answer, in ms.
const PATIENCE_MS: u64 = 2000;

/// What the register holds.
#[derive(Default)]
pub struct Rolls {
    members: BTreeMap<InstanceId, (Member, u64)>,
    holdings: BTreeMap<PartitionId, Holding>,
}

impl Region {
    fn sight(&self, now: u64) -> Sight {
        let living = self.rolls.members.iter().filter(|(_, (_, until))| *until > now);
        Sight {
            known: true,
            members: living.map(|(id, (member, _))| (id.clone(), member.clone())).collect(),
            holdings: self.rolls.holdings.clone(),
            active: self.standing.role == Role::Active,
        }
    }
}

/// The register as one instance reaches it.
pub struct Desk {
    sim: Arc<Sim>,
    life: u32,
    region: usize,
    sight: watch::Receiver<Arc<Sight>>,
}

impl Desk {
    pub fn new(sim: Arc<Sim>, life: u32, region: usize) -> Desk {
        let (tx, sight) = watch::channel(Arc::default());
        tokio::spawn(look(sim.clone(), life, region, tx));
        Desk { sim, life, region, sight }
    }

    async fn ask(
        &self,
        change: impl FnOnce(&mut Rolls, u64) + Send,
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
        change(&mut self.sim.world().regions[self.region].rolls, now);
        tokio::time::sleep(Duration::from_millis(trip.back_ms)).await;
        self.sim.gate(self.life).await;
        if trip.answer_lost { gone("the answer was lost") } else { Ok(()) }
    }
}

/// Looks at the register now and then.
async fn look(sim: Arc<Sim>, life: u32, region: usize, tx: watch::Sender<Arc<Sight>>) {
    loop {
        let nap_ms = {
            let mut world = sim.world();
            let most = world.weather().sight_ms;
            20 + world.draw(life, "sight") % most
        };
        tokio::time::sleep(Duration::from_millis(nap_ms)).await;
        sim.gate(life).await;
        let now = sim.now();
        let sight = {
            let world = sim.world();
            let reached = world.lives[&life].cut_until <= now && !world.regions[region].lost;
            reached.then(|| world.regions[region].sight(now))
        };
        if let Some(sight) = sight {
            tx.send_if_modified(|known| {
                let changed = **known != sight;
                if changed {
                    *known = Arc::new(sight);
                }
                changed
            });
        }
        if tx.is_closed() {
            return;
        }
    }
}

impl Register for Desk {
    async fn beat(&self, member: &Member) -> Result<(), RegisterError> {
        let lost = {
            let mut world = self.sim.world();
            let rate = u64::from(world.weather().beat_lost);
            let lost = world.draw(self.life, "beat") % 1000 < rate;
            if lost {
                world.coverage.note(Sometimes::BeatLost);
            }
            lost
        };
        let member = member.clone();
        self.ask(
            move |rolls, now| {
                rolls.members.insert(member.id.clone(), (member, now + LIFETIME_MS));
            },
            lost,
        )
        .await
    }

    async fn leave(&self, id: &InstanceId) -> Result<(), RegisterError> {
        self.ask(
            |rolls, _| {
                rolls.members.remove(id);
            },
            false,
        )
        .await
    }

    async fn note(&self, partition: PartitionId, holding: Holding) -> Result<(), RegisterError> {
        self.ask(
            move |rolls, _| {
                let known = rolls.holdings.get(&partition);
                if known.is_none_or(|known| known.epoch <= holding.epoch) {
                    let noted = holding.in_place_of(known);
                    rolls.holdings.insert(partition, noted);
                }
            },
            false,
        )
        .await
    }

    fn watch(&self) -> watch::Receiver<Arc<Sight>> {
        self.sight.clone()
    }
}
