//! A whole simulation of a cluster: faults, then a world without any, until everything has come to rest; and the audit.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use engine::Catalogs;
use types::PartitionId;

use super::coverage::Sometimes;
use super::instance::Instance;
use super::nats::{Harm, Injury, SERVERS};
use super::plan::{Deed, Plan};
use super::report::Report;
use super::world::{Life, Sim};
use super::{audit, clients, regions};
use crate::{dice, panics};

/// How long after the last deed the faults are over, in ms.
const HEAL_AFTER_MS: u64 = 2000;

/// How often a cluster is looked at that should come to rest, in ms.
const LOOK_MS: u64 = 2000;

/// How long a healthy cluster may take until every partition has an owner, and until it has come to rest, in ms.
const HELD_MS: u64 = 120_000;
const REST_MS: u64 = 900_000;

/// The stage of a simulation: who is on it.
pub struct Stage {
    pub sim: Arc<Sim>,
    directory: PathBuf,
    catalogs: Catalogs,
    // By slot; changed where instances come and go, read by clients.
    present: Mutex<BTreeMap<u8, Arc<Instance>>>,
    /// Clients that wait for an answer.
    waiting: Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

/// Plays a plan. `directory` is empty, for the files of views.
pub fn play(plan: &Plan, directory: &Path, catalogs: &Catalogs, print: bool) -> Report {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime =
        builder.enable_time().start_paused(true).build().expect("a runtime without I/O needs nothing");
    let sim = runtime.block_on(async { Arc::new(Sim::new(plan.clone(), catalogs.load(), print)) });
    let played = || {
        runtime.block_on(async {
            let stage = Arc::new(Stage {
                sim: sim.clone(),
                directory: directory.to_owned(),
                catalogs: catalogs.clone(),
                present: Mutex::default(),
                waiting: Mutex::default(),
            });
            run(&stage).await;
            sim.now()
        })
    };
    // A panic is noted, and is a finding.
    let simulated_ms = std::panic::catch_unwind(AssertUnwindSafe(played)).unwrap_or_default();
    drop(runtime);
    let mut world = sim.world();
    if let Some(panic) = panics::take() {
        world.judge.accuse("P0", format!("panic: {panic}"));
    }
    world.figures.lives = world.lives.len() as u64;
    world.figures.simulated_ms = simulated_ms;
    Report {
        figures: world.figures,
        coverage: world.coverage,
        tempo: world.judge.pasts[world.active()].tempo,
        violations: world.judge.found.clone(),
        trace: world.trace(),
    }
}

async fn run(stage: &Arc<Stage>) {
    let plan = stage.sim.world().plan.clone();
    for slot in 0..plan.slots() {
        stage.start(slot);
    }
    if plan.paired > 0 {
        regions::begin(stage);
    }
    for timed in plan.deeds {
        stage.sim.until(timed.at).await;
        if stage.has_failed() {
            return;
        }
        stage.sim.say(|| format!("-- {:?}", timed.deed));
        act(stage, timed.deed);
    }
    let last = stage.sim.now();
    stage.sim.until(last + HEAL_AFTER_MS).await;
    stage.heal().await;
    if rest(stage).await && !stage.has_failed() {
        audit::audit(stage).await;
    }
}

impl Stage {
    pub fn partitions(&self) -> u16 {
        self.sim.world().plan.partitions
    }

    pub fn seed(&self) -> u64 {
        self.sim.world().plan.seed
    }

    fn has_failed(&self) -> bool {
        !self.sim.world().judge.found.is_empty()
    }

    /// Those who run, or seem to.
    pub fn instances(&self) -> Vec<Arc<Instance>> {
        self.present.lock().expect("nobody panics while holding the stage").values().cloned().collect()
    }

    /// Who holds a partition in the active region. One that was overtaken by somebody who wrote nothing may go on holding
    /// it: it learns of it with its next frame.
    pub fn owner(&self, partition: PartitionId) -> Option<Arc<Instance>> {
        let active = self.sim.world().active();
        let here = self.instances().into_iter().filter(|one| one.region == active);
        let held =
            here.filter_map(|one| one.engine.held().get(&partition).map(|epoch| (epoch.0, one.clone())));
        let newest = held.max_by_key(|(epoch, _)| *epoch);
        let written = self.sim.world().judge.chain(active, partition).written_in();
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
        let stage = self.clone();
        tokio::spawn(async move {
            loop {
                match Instance::start(&stage.sim, life, &directory, stage.catalogs.clone()).await {
                    Ok(instance) => {
                        let mut present =
                            stage.present.lock().expect("nobody panics while holding the stage");
                        present.insert(slot, Arc::new(instance));
                        return;
                    }
                    Err(error) => stage.sim.say(|| format!("instance {life} does not start: {error:#}")),
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
        let stage = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(down_ms)).await;
            let lost = {
                let world = stage.sim.world();
                world.regions[world.plan.region_of(slot)].lost
            };
            if !lost && stage.present(slot).is_none() {
                stage.start(slot);
            }
        });
    }

    /// Whatever happens to the instance in a slot.
    fn strike(&self, slot: u8, how: impl FnOnce(&mut Life, u64)) {
        let now = self.sim.now();
        if let Some(instance) = self.present(slot) {
            how(self.sim.world().lives.get_mut(&instance.life).expect("it lives"), now);
        }
    }

    /// From now on nothing fails any more.
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
        // Whoever stands still goes on by itself.
        self.sim.until(thawed).await;
        for slot in 0..self.sim.world().plan.slots() {
            if self.present(slot).is_none() {
                self.start_later(slot, 0);
            }
        }
    }
}

fn act(stage: &Arc<Stage>, deed: Deed) {
    match deed {
        Deed::Request { n, workflow } => stage.wait_for(clients::request(stage.clone(), n, workflow)),
        Deed::Again { n } => {
            let asked = stage.sim.world().plan.deeds.iter().find_map(|timed| match timed.deed {
                Deed::Request { n: asked, workflow } if asked == n => Some(workflow),
                _ => None,
            });
            if let Some(workflow) = asked {
                stage.wait_for(clients::request(stage.clone(), n, workflow));
            }
        }
        Deed::Job { n, every_s, count } => stage.wait_for(clients::job(stage.clone(), n, every_s, count)),
        Deed::Kill { slot, down_ms } => stage.kill(slot, down_ms),
        Deed::KillAll { down_ms } => {
            stage.sim.world().coverage.note(Sometimes::AllKilled);
            let slots = stage.sim.world().plan.slots();
            (0..slots).for_each(|slot| stage.kill(slot, down_ms));
        }
        Deed::Leave { slot, down_ms } => leave(stage, slot, down_ms),
        Deed::Freeze { slot, for_ms } => stage.strike(slot, |life, now| life.frozen_until = now + for_ms),
        Deed::Cut { slot, for_ms } => stage.strike(slot, |life, now| life.cut_until = now + for_ms),
        Deed::Slow { slot, way_ms, for_ms } => {
            stage.strike(slot, |life, now| life.slow = (now + for_ms, way_ms))
        }
        Deed::SetClock { slot, by_ms } => stage.strike(slot, |life, _| {
            life.set_ms.fetch_add(by_ms, Ordering::Relaxed);
        }),
        Deed::Snapshot { slot } => {
            if let Some(instance) = stage.present(slot) {
                instance.engine.ask_snapshots();
            }
        }
        Deed::LeaderGone { region, server, for_ms } => leader_gone(stage, region, server, for_ms),
        Deed::Injure { region, draw } => injure(stage, region, draw),
        Deed::Fill { region, for_ms } => fill(stage, region, for_ms),
        Deed::CutLink { for_ms } => {
            let until = stage.sim.now() + for_ms;
            stage.sim.world().link_cut_until = until;
        }
        Deed::Switch | Deed::Lose { .. } | Deed::Usurp { .. } => regions::act(stage, &deed),
    }
}

impl Stage {
    fn wait_for(&self, client: impl Future<Output = ()> + Send + 'static) {
        self.waiting.lock().expect("nobody panics while holding the clients").push(tokio::spawn(client));
    }

    fn is_waited_for(&self) -> bool {
        let waiting = self.waiting.lock().expect("nobody panics while holding the clients");
        waiting.iter().any(|client| !client.is_finished())
    }
}

/// An instance leaves as it should; when it cannot, it is killed in the end.
fn leave(stage: &Arc<Stage>, slot: u8, down_ms: u64) {
    let Some(instance) = stage.present(slot) else { return };
    let stage = stage.clone();
    tokio::spawn(async move {
        instance.leave().await;
        let still = stage.present(slot).is_some_and(|present| present.life == instance.life);
        if still {
            stage.kill(slot, down_ms);
        }
    });
}

fn leader_gone(stage: &Arc<Stage>, region: u8, server: u8, for_ms: u64) {
    let until = stage.sim.now() + for_ms;
    let mut world = stage.sim.world();
    let seed = world.plan.seed;
    for (name, stream) in &mut world.regions[usize::from(region)].streams {
        if stream.leader == server {
            stream.leaderless_until = until;
            stream.leader = (server + 1 + (dice::hash(&(seed, name, until)) % 2) as u8) % SERVERS;
        }
    }
}

/// Harms one replica of one stream; the others stay as they are, so that nothing is gone for good.
fn injure(stage: &Arc<Stage>, region: u8, draw: u64) {
    let mut world = stage.sim.world();
    let streams = &mut world.regions[usize::from(region)].streams;
    let nth = draw as usize % streams.len();
    let stream = streams.values_mut().nth(nth).expect("counted");
    let last = stream.last();
    if stream.is_injured() || last < 2 {
        return;
    }
    let sequence = 1 + (draw >> 16) % (last - 1);
    let harm = match (draw >> 8) % 3 {
        0 => Harm::Short { last: sequence },
        1 => Harm::Gap { from: sequence, through: (sequence + (draw >> 24) % 3).min(last - 1) },
        _ => Harm::Flipped { sequence },
    };
    stream.injure(Injury { server: ((draw >> 4) % u64::from(SERVERS)) as u8, harm });
    world.coverage.note(Sometimes::ReplicaDamaged);
}

fn fill(stage: &Arc<Stage>, region: u8, for_ms: u64) {
    let set = move |stage: &Stage, full: bool| {
        let mut world = stage.sim.world();
        world.regions[usize::from(region)].streams.values_mut().for_each(|stream| stream.full = full);
    };
    set(stage, true);
    let stage = stage.clone();
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_millis(for_ms)).await;
        set(&stage, false);
    });
}

/// Lets the world go on without faults until nothing moves. True when it has come to rest.
async fn rest(stage: &Arc<Stage>) -> bool {
    let healed = stage.sim.now();
    let mut held = false;
    loop {
        let now = stage.sim.now();
        stage.sim.until(now + LOOK_MS).await;
        if stage.has_failed() {
            return false;
        }
        let homeless = audit::homeless(stage);
        held |= homeless.is_empty();
        if !held && now > healed + HELD_MS {
            let world_says = audit::who_holds(stage);
            stage.sim.accuse("L3", format!("partitions {homeless:?} have no owner: {world_says}"));
            return false;
        }
        clients::retry_all(stage).await;
        // Asked in this order: what ends may set something else in motion.
        let outside = stage.is_waited_for() || stage.sim.world().figures.on_the_wire > 0;
        let moving = audit::moving(stage).await;
        if homeless.is_empty() && moving.is_none() && !outside {
            return true;
        }
        if now > healed + REST_MS {
            let waits = stage.is_waited_for();
            let what =
                format!("the cluster does not come to rest: {moving:?}, {homeless:?}, clients wait: {waits}");
            stage.sim.accuse("L1", what);
            return false;
        }
    }
}
