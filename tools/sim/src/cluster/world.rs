//! What all instances of a simulated cluster share: time, NATS, the register, the services, and the checker.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::Catalog;
use regions::{RegionState, Role};
use tokio::time::Instant;
use types::Timestamp;

use super::checker::ClusterChecker;
use super::coverage::{Coverage, Situation};
use super::figures::Figures;
use super::nats::Stream;
use super::plan::{NetworkFaults, Plan};
use super::register::RegisterState;
use super::services::Ledger;
use super::snapshot_store::StoredSnapshots;
use crate::plan::ServiceFaults;
use crate::rng;

/// A simulation of a cluster, shared by everything that takes part in it.
pub struct Sim {
    world: Mutex<World>,
    began: Instant,
}

/// The state of a simulation.
pub struct World {
    pub plan: Plan,
    pub regions: Vec<Region>,
    pub lives: BTreeMap<u32, Life>,
    pub ledger: Ledger,
    pub checker: ClusterChecker,
    pub coverage: Coverage,
    pub figures: Figures,
    pub healed: bool,
    /// Nothing gets from one region to the other until then.
    pub link_cut_until: u64,
    /// The epochs under which a region was active, and those that began with a planned switch.
    pub active_epochs: BTreeSet<u64>,
    pub planned: BTreeSet<u64>,
    /// How often each life has drawn for each thing. Those who wait for one thing are woken in any order, so what one of
    /// them draws must not depend on the others.
    draws: BTreeMap<(u32, String), u64>,
    trace: DefaultHasher,
    print: bool,
}

/// One region: a NATS of its own.
pub struct Region {
    pub streams: BTreeMap<String, Stream>,
    pub register: RegisterState,
    pub snapshots: StoredSnapshots,
    pub state: RegionState,
    /// Since it became a mirror it has once had everything; who was active has.
    pub level: bool,
    /// Nobody there answers.
    pub lost: bool,
    /// How often it began again as a mirror.
    pub term: u32,
    /// Where its streams ended when it became active.
    pub points: BTreeMap<String, u64>,
}

/// One life of an instance.
#[derive(Debug, Clone)]
pub struct Life {
    pub slot: u8,
    pub region: usize,
    pub dead: bool,
    pub frozen_until: u64,
    pub cut_until: u64,
    pub slow: (u64, u64),
    /// How far its wall clock was set.
    pub set_ms: Arc<AtomicI64>,
}

impl Life {
    pub fn new(slot: u8, region: usize) -> Life {
        Life {
            slot,
            region,
            dead: false,
            frozen_until: 0,
            cut_until: 0,
            slow: (0, 0),
            set_ms: Arc::default(),
        }
    }
}

/// The latencies and losses of a request to NATS and its response.
#[derive(Debug, Clone, Copy)]
pub struct RoundTrip {
    pub there_ms: u64,
    pub back_ms: u64,
    pub request_lost: bool,
    pub answer_lost: bool,
    /// A number for whatever else is open.
    pub draw: u64,
}

impl Sim {
    pub fn new(plan: Plan, catalog: Arc<Catalog>, print: bool) -> Sim {
        let regions = (0..plan.regions()).map(|region| Region::new(&plan, region)).collect();
        let world = World {
            regions,
            lives: BTreeMap::new(),
            ledger: Ledger::default(),
            checker: ClusterChecker::new(plan.regions(), catalog),
            coverage: Coverage::default(),
            figures: Figures::default(),
            healed: false,
            link_cut_until: 0,
            active_epochs: BTreeSet::from([1]),
            planned: BTreeSet::new(),
            draws: BTreeMap::new(),
            trace: DefaultHasher::new(),
            print,
            plan,
        };
        Sim { world: Mutex::new(world), began: Instant::now() }
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        // A panic while it was held is recorded; the rest is only read.
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds since the beginning.
    pub fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    pub async fn until(&self, at: u64) {
        tokio::time::sleep_until(self.began + Duration::from_millis(at)).await;
    }

    /// Lets an instance go on, when it may: never again when it is dead.
    pub async fn gate(&self, life: u32) {
        loop {
            let until = {
                let world = self.world();
                let body = &world.lives[&life];
                if body.dead { None } else { Some(body.frozen_until) }
            };
            match until {
                None => std::future::pending().await,
                Some(until) if until > self.now() => self.until(until).await,
                Some(_) => return,
            }
        }
    }

    /// The clock of an instance that starts.
    pub fn clock(&self, life: u32) -> host::Clock {
        let world = self.world();
        let time = world.plan.wall_ms + self.now() as i64;
        host::Clock::start_beside(Timestamp(time), world.lives[&life].set_ms.clone())
    }

    /// What the wall clock of an instance shows.
    pub fn wall(&self, life: u32) -> Timestamp {
        let world = self.world();
        let set_ms = world.lives[&life].set_ms.load(Ordering::Relaxed);
        Timestamp(world.plan.wall_ms + self.now() as i64 + set_ms)
    }

    /// Draws the latencies and losses of a request. Tasks that run in the same moment have no order; so what goes elsewhere has no say.
    pub fn trip(&self, life: u32, to: &str) -> RoundTrip {
        let now = self.now();
        let mut world = self.world();
        let draw = world.draw(life, to);
        let network_faults = world.network_faults();
        let body = &world.lives[&life];
        let slow = if body.slow.0 > now { body.slow.1 } else { 0 };
        let way = |salt: u64| rng::hash(&(draw, salt)) % (network_faults.latency_ms + 1) + slow;
        let mut left = (draw % 1000) as u16;
        let mut hit = |rate: u16| {
            let hit = left < rate;
            left = left.saturating_sub(rate);
            if hit {
                left = u16::MAX;
            }
            hit
        };
        let mut trip =
            RoundTrip { there_ms: way(1), back_ms: way(2), request_lost: false, answer_lost: false, draw };
        trip.request_lost = hit(network_faults.request_lost) || body.cut_until > now;
        trip.answer_lost = hit(network_faults.answer_lost);
        if hit(network_faults.answer_late) {
            trip.back_ms += 1500 + rng::hash(&(draw, 3_u64)) % 4000;
        }
        if hit(network_faults.stored_late) {
            trip.there_ms += 1500 + rng::hash(&(draw, 4_u64)) % 8000;
            world.coverage.note(Situation::StoredLate);
        }
        trip
    }

    pub fn add_violation(&self, id: &'static str, what: String) {
        self.world().checker.add_violation(id, what);
    }

    pub fn say(&self, what: impl FnOnce() -> String) {
        let now = self.now();
        self.world().say(now, what);
    }
}

impl World {
    /// A number that follows from the seed, and from who has drawn for the same before. Nobody is life 0.
    pub fn draw(&mut self, life: u32, what: &str) -> u64 {
        let draws = self.draws.entry((life, what.to_owned())).or_default();
        *draws += 1;
        rng::hash(&(self.plan.seed, life, *draws, what))
    }

    /// The way to NATS at the moment.
    pub fn network_faults(&self) -> NetworkFaults {
        if self.healed {
            NetworkFaults {
                latency_ms: 1,
                register_lag_ms: 50,
                mirror_ms: 5,
                told_ms: 5,
                ..NetworkFaults::default()
            }
        } else {
            self.plan.network_faults
        }
    }

    /// The current fault rates of services.
    pub fn service_faults(&self) -> ServiceFaults {
        if self.healed {
            ServiceFaults { latency_ms: 2, ..ServiceFaults::default() }
        } else {
            self.plan.service_faults
        }
    }

    /// Something that happened, as two equal simulations must have it.
    pub fn observe(&mut self, now: u64, what: &impl Hash) {
        self.figures.events += 1;
        now.hash(&mut self.trace);
        what.hash(&mut self.trace);
    }

    pub fn say(&mut self, now: u64, what: impl FnOnce() -> String) {
        self.figures.events += 1;
        if self.print {
            println!("{now:>8} {}", what());
        }
    }

    pub fn trace(&self) -> u64 {
        self.trace.finish()
    }

    /// The region that is active, by the highest epoch.
    pub fn active(&self) -> usize {
        let active = |(_, region): &(usize, &Region)| region.state.role == Role::Active;
        let newest = self.regions.iter().enumerate().filter(active);
        let newest = newest.max_by_key(|(_, region)| region.state.epoch);
        newest.map_or(0, |(region, _)| region)
    }
}

impl Region {
    pub fn new(plan: &Plan, region: usize) -> Region {
        let mut streams = BTreeMap::new();
        let all = (0..plan.partitions).map(types::PartitionId).chain([types::PartitionId::CONTROL]);
        for partition in all {
            for name in [super::inbox(partition), super::events(partition)] {
                let leader = (rng::hash(&(plan.seed, &name, region)) % 3) as u8;
                let mut stream = Stream::new(leader);
                stream.closed = region > 0;
                streams.insert(name, stream);
            }
        }
        let role = if region == 0 { Role::Active } else { Role::Standby };
        Region {
            streams,
            register: RegisterState::default(),
            snapshots: StoredSnapshots::default(),
            state: RegionState { role, epoch: 1 },
            level: role == Role::Active,
            lost: false,
            term: 0,
            points: BTreeMap::new(),
        }
    }
}
