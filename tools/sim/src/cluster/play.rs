//! A whole simulation of a cluster: faults, then a world without any, until everything has come to rest; and the audit.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use engine::Catalogs;
use types::PartitionId;

use super::coverage::Situation;
use super::figures::Figures;
use super::instance::Instance;
use super::nats::{Damage, ReplicaDamage, SERVERS};
use super::plan::{Operation, Plan};
use super::world::{Life, Sim};
use super::{audit, clients, regions};
use crate::simulator::Report;
use crate::{panics, rng};

/// How long after the last operation the faults end, in ms.
const HEAL_AFTER_MS: u64 = 2000;

/// How often a cluster is looked at that should come to rest, in ms.
const LOOK_MS: u64 = 2000;

/// How long a healthy cluster may take until every partition has an owner, and until it has come to rest, in ms.
const HELD_MS: u64 = 120_000;
const REST_MS: u64 = 900_000;

/// A simulated cluster: its instances, its clients, and the shared world.
pub struct SimulatedCluster {
    pub sim: Arc<Sim>,
    directory: PathBuf,
    catalogs: Catalogs,
    // By slot; changed where instances come and go, read by clients.
    present: Mutex<BTreeMap<u8, Arc<Instance>>>,
    /// Clients that wait for an answer.
    waiting: Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

/// Simulates a plan. `directory` is empty, for the files of views.
pub fn play(plan: &Plan, directory: &Path, catalogs: &Catalogs, print: bool) -> Report<Figures, Situation> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime =
        builder.enable_time().start_paused(true).build().expect("a runtime without I/O needs nothing");
    let sim = runtime.block_on(async { Arc::new(Sim::new(plan.clone(), catalogs.load(), print)) });
    let played = || {
        runtime.block_on(async {
            let cluster = Arc::new(SimulatedCluster {
                sim: sim.clone(),
                directory: directory.to_owned(),
                catalogs: catalogs.clone(),
                present: Mutex::default(),
                waiting: Mutex::default(),
            });
            run(&cluster).await;
            sim.now()
        })
    };
    // A panic is noted, and is a finding.
    let simulated_ms = std::panic::catch_unwind(AssertUnwindSafe(played)).unwrap_or_default();
    drop(runtime);
    let mut world = sim.world();
    if let Some(panic) = panics::take() {
        world.checker.add_violation("P0", format!("panic: {panic}"));
    }
    world.figures.lives = world.lives.len() as u64;
    world.figures.simulated_ms = simulated_ms;
    world.figures.throughput = world.checker.histories[world.active()].throughput;
    Report {
        figures: world.figures,
        coverage: world.coverage,
        violations: world.checker.found.clone(),
        trace: world.trace(),
    }
}

async fn run(cluster: &Arc<SimulatedCluster>) {
    let plan = cluster.sim.world().plan.clone();
    for slot in 0..plan.slots() {
        cluster.start(slot);
    }
    if plan.paired > 0 {
        regions::begin(cluster);
    }
    for timed in plan.operations {
        cluster.sim.until(timed.at).await;
        if cluster.has_failed() {
            return;
        }
        cluster.sim.say(|| format!("-- {:?}", timed.operation));
        act(cluster, timed.operation);
    }
    let last = cluster.sim.now();
    cluster.sim.until(last + HEAL_AFTER_MS).await;
    cluster.heal().await;
    if rest(cluster).await && !cluster.has_failed() {
        audit::audit(cluster).await;
    }
}

impl SimulatedCluster {
    pub fn partitions(&self) -> u16 {
        self.sim.world().plan.partitions
    }

    pub fn seed(&self) -> u64 {
        self.sim.world().plan.seed
    }

    fn has_failed(&self) -> bool {
        !self.sim.world().checker.found.is_empty()
    }

    /// The instances that run, or seem to.
    pub fn instances(&self) -> Vec<Arc<Instance>> {
        self.present.lock().expect("nobody panics while holding the stage").values().cloned().collect()
    }

    /// The owner of a partition in the active region. One that was overtaken by somebody who wrote nothing may go on holding
    /// it: it learns of it with its next frame.
    pub fn owner(&self, partition: PartitionId) -> Option<Arc<Instance>> {
        let active = self.sim.world().active();
        let here = self.instances().into_iter().filter(|one| one.region == active);
        let held =
            here.filter_map(|one| one.engine.held().get(&partition).map(|epoch| (epoch.0, one.clone())));
        let newest = held.max_by_key(|(epoch, _)| *epoch);
        let written = self.sim.world().checker.chain(active, partition).written_in();
        newest.filter(|(epoch, _)| *epoch >= written).map(|(_, one)| one)
    }

    pub fn slot_of(&self, life: u32) -> u8 {
        self.sim.world().lives[&life].slot
    }

    fn present(&self, slot: u8) -> Option<Arc<Instance>> {
        self.present.lock().expect("nobody panics while holding the stage").get(&slot).cloned()
    }

    /// An instance starts in a slot, as soon as NATS answers.
    pub fn start(self: &Arc<Self>, slot: u8) {
        let life = {
            let mut world = self.sim.world();
            let life = world.lives.len() as u32 + 1;
            let region = world.plan.region_of(slot);
            world.lives.insert(life, Life::new(slot, region));
            life
        };
        self.sim.say(|| format!("instance {life} starts in slot {slot}"));
        let directory = self.directory.join(format!("{life}"));
        let cluster = self.clone();
        tokio::spawn(async move {
            loop {
                match Instance::start(&cluster.sim, life, &directory, cluster.catalogs.clone()).await {
                    Ok(instance) => {
                        let mut present =
                            cluster.present.lock().expect("nobody panics while holding the stage");
                        present.insert(slot, Arc::new(instance));
                        return;
                    }
                    Err(error) => cluster.sim.say(|| format!("instance {life} does not start: {error:#}")),
                }
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            }
        });
    }

    /// The instance in a slot dies; another one starts there later.
    pub fn kill(self: &Arc<Self>, slot: u8, down_ms: u64) {
        let gone = self.present.lock().expect("nobody panics while holding the stage").remove(&slot);
        let Some(gone) = gone else { return };
        self.sim.world().lives.get_mut(&gone.life).expect("it lived").dead = true;
        self.start_later(slot, down_ms);
    }

    fn start_later(self: &Arc<Self>, slot: u8, down_ms: u64) {
        let cluster = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(down_ms)).await;
            let lost = {
                let world = cluster.sim.world();
                world.regions[world.plan.region_of(slot)].lost
            };
            if !lost && cluster.present(slot).is_none() {
                cluster.start(slot);
            }
        });
    }

    /// Applies a fault to the instance in a slot.
    fn affect(&self, slot: u8, how: impl FnOnce(&mut Life, u64)) {
        let now = self.sim.now();
        if let Some(instance) = self.present(slot) {
            how(self.sim.world().lives.get_mut(&instance.life).expect("it lives"), now);
        }
    }

    /// Ends all faults.
    async fn heal(self: &Arc<Self>) {
        self.sim.say(|| "-- healed".to_owned());
        let now = self.sim.now();
        let thawed = {
            let mut world = self.sim.world();
            world.healed = true;
            world.link_cut_until = 0;
            for region in &mut world.regions {
                region.lost = false;
                region.streams.values_mut().for_each(super::nats::Stream::heal);
            }
            for life in world.lives.values_mut() {
                (life.cut_until, life.slow) = (0, (0, 0));
            }
            world.lives.values().map(|life| life.frozen_until).max().unwrap_or(0).max(now)
        };
        // A frozen instance continues by itself.
        self.sim.until(thawed).await;
        for slot in 0..self.sim.world().plan.slots() {
            if self.present(slot).is_none() {
                self.start_later(slot, 0);
            }
        }
    }
}

fn act(cluster: &Arc<SimulatedCluster>, operation: Operation) {
    match operation {
        Operation::Request { n, workflow } => {
            cluster.wait_for(clients::request(cluster.clone(), n, workflow))
        }
        Operation::Again { n } => {
            let asked = cluster.sim.world().plan.operations.iter().find_map(|timed| match timed.operation {
                Operation::Request { n: asked, workflow } if asked == n => Some(workflow),
                _ => None,
            });
            if let Some(workflow) = asked {
                cluster.wait_for(clients::request(cluster.clone(), n, workflow));
            }
        }
        Operation::Job { n, every_s, count } => {
            cluster.wait_for(clients::job(cluster.clone(), n, every_s, count))
        }
        Operation::Kill { slot, down_ms } => cluster.kill(slot, down_ms),
        Operation::KillAll { down_ms } => {
            cluster.sim.world().coverage.note(Situation::AllKilled);
            let slots = cluster.sim.world().plan.slots();
            (0..slots).for_each(|slot| cluster.kill(slot, down_ms));
        }
        Operation::Leave { slot, down_ms } => leave(cluster, slot, down_ms),
        Operation::Freeze { slot, for_ms } => {
            cluster.affect(slot, |life, now| life.frozen_until = now + for_ms)
        }
        Operation::Cut { slot, for_ms } => cluster.affect(slot, |life, now| life.cut_until = now + for_ms),
        Operation::Slow { slot, latency_ms, for_ms } => {
            cluster.affect(slot, |life, now| life.slow = (now + for_ms, latency_ms))
        }
        Operation::SetClock { slot, by_ms } => cluster.affect(slot, |life, _| {
            life.set_ms.fetch_add(by_ms, Ordering::Relaxed);
        }),
        Operation::Snapshot { slot } => {
            if let Some(instance) = cluster.present(slot) {
                instance.engine.ask_snapshots();
            }
        }
        Operation::LeaderGone { region, server, for_ms } => leader_gone(cluster, region, server, for_ms),
        Operation::DamageReplica { region, draw } => damage_replica(cluster, region, draw),
        Operation::Fill { region, for_ms } => fill(cluster, region, for_ms),
        Operation::CutLink { for_ms } => {
            let until = cluster.sim.now() + for_ms;
            cluster.sim.world().link_cut_until = until;
        }
        Operation::SwitchRegions | Operation::LoseRegion { .. } | Operation::ForcePromotion { .. } => {
            regions::act(cluster, &operation)
        }
    }
}

impl SimulatedCluster {
    fn wait_for(&self, client: impl Future<Output = ()> + Send + 'static) {
        self.waiting.lock().expect("nobody panics while holding the clients").push(tokio::spawn(client));
    }

    fn is_waited_for(&self) -> bool {
        let waiting = self.waiting.lock().expect("nobody panics while holding the clients");
        waiting.iter().any(|client| !client.is_finished())
    }
}

/// An instance leaves as it should; when it cannot, it is killed in the end.
fn leave(cluster: &Arc<SimulatedCluster>, slot: u8, down_ms: u64) {
    let Some(instance) = cluster.present(slot) else { return };
    let cluster = cluster.clone();
    tokio::spawn(async move {
        instance.leave().await;
        let present = cluster.present(slot).is_some_and(|present| present.life == instance.life);
        if present {
            cluster.kill(slot, down_ms);
        }
    });
}

fn leader_gone(cluster: &Arc<SimulatedCluster>, region: u8, server: u8, for_ms: u64) {
    let until = cluster.sim.now() + for_ms;
    let mut world = cluster.sim.world();
    let seed = world.plan.seed;
    for (name, stream) in &mut world.regions[usize::from(region)].streams {
        if stream.leader == server {
            stream.leaderless_until = until;
            stream.leader = (server + 1 + (rng::hash(&(seed, name, until)) % 2) as u8) % SERVERS;
        }
    }
}

/// Damages one replica of one stream; the others stay as they are, so that nothing is gone for good.
fn damage_replica(cluster: &Arc<SimulatedCluster>, region: u8, draw: u64) {
    let mut world = cluster.sim.world();
    let streams = &mut world.regions[usize::from(region)].streams;
    let nth = draw as usize % streams.len();
    let stream = streams.values_mut().nth(nth).expect("counted");
    let last = stream.last();
    if stream.is_damaged() || last < 2 {
        return;
    }
    let sequence = 1 + (draw >> 16) % (last - 1);
    let damage = match (draw >> 8) % 3 {
        0 => Damage::Short { last: sequence },
        1 => Damage::Gap { from: sequence, through: (sequence + (draw >> 24) % 3).min(last - 1) },
        _ => Damage::Flipped { sequence },
    };
    stream.damage_replica(ReplicaDamage { server: ((draw >> 4) % u64::from(SERVERS)) as u8, damage });
    world.coverage.note(Situation::ReplicaDamaged);
}

fn fill(cluster: &Arc<SimulatedCluster>, region: u8, for_ms: u64) {
    let set = move |cluster: &SimulatedCluster, full: bool| {
        let mut world = cluster.sim.world();
        world.regions[usize::from(region)].streams.values_mut().for_each(|stream| stream.full = full);
    };
    set(cluster, true);
    let cluster = cluster.clone();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(for_ms)).await;
        set(&cluster, false);
    });
}

/// Continues without faults until nothing moves. True when it has come to rest.
async fn rest(cluster: &Arc<SimulatedCluster>) -> bool {
    let healed = cluster.sim.now();
    let mut held = false;
    loop {
        let now = cluster.sim.now();
        cluster.sim.until(now + LOOK_MS).await;
        if cluster.has_failed() {
            return false;
        }
        let unowned = audit::unowned(cluster);
        held |= unowned.is_empty();
        if !held && now > healed + HELD_MS {
            let world_says = audit::who_holds(cluster);
            cluster.sim.add_violation("L3", format!("partitions {unowned:?} have no owner: {world_says}"));
            return false;
        }
        clients::retry_all(cluster).await;
        // Asked in this order: what ends may set something else in motion.
        let outside = cluster.is_waited_for() || cluster.sim.world().figures.on_the_wire > 0;
        let moving = audit::moving(cluster).await;
        if unowned.is_empty() && moving.is_none() && !outside {
            return true;
        }
        if now > healed + REST_MS {
            let waits = cluster.is_waited_for();
            let what =
                format!("the cluster does not come to rest: {moving:?}, {unowned:?}, clients wait: {waits}");
            cluster.sim.add_violation("L1", what);
            return false;
        }
    }
}
