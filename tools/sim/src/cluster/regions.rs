//! Two regions: mirrors that lag, links that are cut, and how the active one changes. Who may do what follows from the
//! shipped rules of roles; the steps are those of the shipped promotion.

use std::sync::Arc;
use std::time::Duration;

use kernel::Request;
use regions::{RegionState, Role, RoleChange, Side, may_promote, must_be_level, on_pair};
use types::PartitionId;

use super::coverage::Situation;
use super::plan::Operation;
use super::play::SimulatedCluster;
use super::world::{Region, World};
use super::{events, inbox, message};

/// How often a region looks at its pair, in ms.
const LOOK_MS: u64 = 500;

/// How often mirrors are gone through, in ms.
const TIDY_MS: u64 = 60_000;

/// How long a planned promotion waits for instances to release their partitions, and for mirrors, in ms.
const PATIENCE_MS: u64 = 30_000;

pub fn side(region: usize) -> Side {
    if region == 0 { Side::Odd } else { Side::Even }
}

/// Mirrors and looks, until the end.
pub fn begin(cluster: &Arc<SimulatedCluster>) {
    tokio::spawn(mirror(cluster.clone()));
    for region in 0..2 {
        tokio::spawn(follow(cluster.clone(), region));
    }
}

pub fn act(cluster: &Arc<SimulatedCluster>, operation: &Operation) {
    let active = cluster.sim.world().active();
    match *operation {
        Operation::SwitchRegions => {
            tokio::spawn(switch(cluster.clone(), 1 - active));
        }
        Operation::LoseRegion { back_ms } => {
            cluster.sim.world().regions[active].lost = true;
            for instance in cluster.instances() {
                if instance.region == active {
                    cluster.kill(cluster.slot_of(instance.life), back_ms + 1);
                }
            }
            force(cluster, 1 - active);
            let cluster = cluster.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(back_ms)).await;
                cluster.sim.world().regions[active].lost = false;
            });
        }
        Operation::ForcePromotion { for_ms } => {
            let until = cluster.sim.now() + for_ms;
            let mut world = cluster.sim.world();
            world.link_cut_until = world.link_cut_until.max(until);
            world.coverage.note(Situation::BothActive);
            drop(world);
            force(cluster, 1 - active);
        }
        _ => {}
    }
}

/// A person makes a region active with what it has, unless it never had everything.
fn force(cluster: &SimulatedCluster, region: usize) {
    let now = cluster.sim.now();
    let mut world = cluster.sim.world();
    let Region { state: here, level, lost, .. } = world.regions[region];
    if must_be_level(here, None) && !level {
        world.coverage.note(Situation::NotLevel);
        return;
    }
    if may_promote(here, None).is_ok() && !lost {
        let epoch = side(region).epoch_above(here.epoch);
        world.open(now, region, epoch);
    }
}

/// A planned promotion: the other side releases its partitions, the mirrors catch up, and nothing is lost.
async fn switch(cluster: Arc<SimulatedCluster>, region: usize) {
    let pair = 1 - region;
    let begun = cluster.sim.now();
    let epoch = {
        let mut world = cluster.sim.world();
        let (here, there) = (world.regions[region].state, world.regions[pair].state);
        if !world.is_joined(begun) || may_promote(here, Some(there)).is_err() {
            return;
        }
        if here.role == Role::Standby {
            world.fill_cut_mirrors(region);
        }
        if there.role == Role::Active {
            world.regions[pair].state.role = Role::Fenced;
        }
        side(region).epoch_above(here.epoch.max(there.epoch))
    };
    // Its instances notice, and release their partitions.
    loop {
        let now = cluster.sim.now();
        let held = cluster.instances().iter().any(|one| one.region == pair && one.engine.held().len() > 1);
        if !held || now > begun + PATIENCE_MS / 2 {
            break;
        }
        cluster.sim.until(now + 100).await;
    }
    let now = cluster.sim.now();
    if !cluster.sim.world().is_joined(now) {
        // Given up: who is fenced and has not been overtaken can be made active again.
        cluster.sim.world().regions[pair].state.role = Role::Active;
        return;
    }
    cluster.sim.world().regions[pair].close();
    loop {
        let now = cluster.sim.now();
        if cluster.sim.world().is_switched(now, region, epoch, now > begun + PATIENCE_MS) {
            return;
        }
        cluster.sim.until(now + 100).await;
    }
}

/// What a region does all the time: look at its pair, and do what follows.
async fn follow(cluster: Arc<SimulatedCluster>, region: usize) {
    loop {
        tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
        let now = cluster.sim.now();
        if look(&mut cluster.sim.world(), now, region) {
            // Instances that remember the replaced history start again.
            for instance in cluster.instances().into_iter().filter(|instance| instance.region == region) {
                cluster.kill(cluster.slot_of(instance.life), 1000);
            }
        }
    }
}

/// True when the region has begun again.
fn look(world: &mut World, now: u64, region: usize) -> bool {
    if !world.is_joined(now) {
        return false;
    }
    let (here, pair) = (world.regions[region].state, world.regions[1 - region].state);
    if here.role == Role::Standby && now.is_multiple_of(TIDY_MS) {
        world.fill_cut_mirrors(region);
    }
    match on_pair(here, pair) {
        RoleChange::Stay => {}
        RoleChange::AdoptEpoch { epoch } => world.regions[region].state.epoch = epoch,
        RoleChange::Fence => {
            world.say(now, || format!("region {region} was overtaken"));
            world.regions[region].state.role = Role::Fenced;
            // What its pair has done since is not here.
            world.regions[region].level = false;
            world.regions[region].close();
        }
        RoleChange::Rejoin { epoch } => {
            world.rejoin(now, region, epoch);
            return true;
        }
    }
    false
}

/// Copies what the active region has to its pair, a little at a time.
async fn mirror(cluster: Arc<SimulatedCluster>) {
    loop {
        let nap_ms = {
            let mut world = cluster.sim.world();
            let most = world.network_faults().mirror_ms;
            20 + world.draw(0, "mirror") % most
        };
        tokio::time::sleep(Duration::from_millis(nap_ms)).await;
        let now = cluster.sim.now();
        let mut world = cluster.sim.world();
        let standby = world.regions.iter().position(|region| region.state.role == Role::Standby);
        if let Some(standby) = standby.filter(|_| world.is_joined(now)) {
            world.copy(now, standby);
        }
    }
}

impl World {
    fn is_joined(&self, now: u64) -> bool {
        self.link_cut_until <= now && self.regions.iter().all(|region| !region.lost)
    }

    /// The end of a planned promotion: all is there, or it is given up. False while it waits.
    fn is_switched(&mut self, now: u64, region: usize, epoch: u64, late: bool) -> bool {
        if self.regions[region].state.role != Role::Standby {
            return true;
        }
        if self.is_joined(now) && self.mirrors_are_current(region) {
            self.open(now, region, epoch);
            self.coverage.note(Situation::Switched);
            self.planned.insert(epoch);
            return true;
        }
        let pair = 1 - region;
        let state = self.regions[pair].state;
        if late && state.role == Role::Fenced && may_promote(state, None).is_ok() {
            self.open(now, pair, side(pair).epoch_above(state.epoch));
        }
        late
    }

    /// A purge of its old owner may reach a stream that has become a mirror meanwhile.
    fn fill_cut_mirrors(&mut self, region: usize) {
        for name in self.regions[region].streams.keys().cloned().collect::<Vec<_>>() {
            let first = self.regions[1 - region].streams[&name].bounds().first;
            let mirror = self.regions[region].streams.get_mut(&name).expect("named above");
            if mirror.fill(first) {
                self.coverage.note(Situation::MirrorCut);
            }
        }
    }

    fn copy(&mut self, now: u64, to: usize) {
        if !self.regions[to].level {
            self.fill_cut_mirrors(to);
        }
        let names: Vec<String> = self.regions[to].streams.keys().cloned().collect();
        for name in names {
            let uneven = self.plan.uneven_mirrors;
            let many = if name.contains("_ING_") && !uneven { u64::MAX } else { self.draw(0, "copy") % 6 };
            for _ in 0..many {
                let origin = &self.regions[1 - to].streams[&name];
                let last = self.regions[to].streams[&name].last();
                let Some(bytes) = origin.kept.get(last as usize).cloned() else { break };
                self.regions[to].streams.get_mut(&name).expect("named above").add(bytes);
                self.stored(now, to, &name, last + 1, None);
            }
        }
        let current = self.mirrors_are_current(to);
        if self.plan.uneven_mirrors || current {
            self.regions[to].snapshots = self.regions[1 - to].snapshots.clone();
        }
        self.regions[to].level |= current;
    }

    fn mirrors_are_current(&self, region: usize) -> bool {
        let ends =
            |region: &Region| region.streams.values().map(super::nats::Stream::last).collect::<Vec<_>>();
        ends(&self.regions[region]) == ends(&self.regions[1 - region])
    }

    /// Mirrors become streams, and the region active.
    fn open(&mut self, now: u64, region: usize, epoch: u64) {
        self.say(now, || format!("region {region} becomes active in epoch {epoch}"));
        self.observe(now, &(region, epoch));
        self.figures.switches += 1;
        if !self.active_epochs.insert(epoch) {
            self.checker.add_violation("R2", format!("two regions were active in epoch {epoch}"));
        }
        let here = &mut self.regions[region];
        here.points = here.streams.iter().map(|(name, stream)| (name.clone(), stream.last())).collect();
        for stream in here.streams.values_mut() {
            (stream.closed, stream.opened) = (false, epoch);
        }
        here.state = RegionState { role: Role::Active, epoch };
        here.level = true;
        self.fill_inboxes(region);
    }

    /// Inboxes go on after all that their events have taken up.
    fn fill_inboxes(&mut self, region: usize) {
        for partition in (0..self.plan.partitions).map(PartitionId) {
            let streams = &mut self.regions[region].streams;
            let newest = streams[&events(partition)].kept.last().and_then(message::Event::read);
            let inbox = streams.get_mut(&inbox(partition)).expect("every partition has one");
            let taken_up = newest.map_or(0, |newest| newest.inbox);
            if inbox.last() < taken_up {
                self.coverage.note(Situation::InboxFilled);
            }
            while inbox.last() < taken_up {
                inbox.add(message::nothing(partition));
            }
        }
    }

    /// A region that was overtaken lists what its pair never got, and becomes a mirror.
    fn rejoin(&mut self, now: u64, region: usize, epoch: u64) {
        self.say(now, || format!("region {region} mirrors in epoch {epoch}"));
        self.coverage.note(Situation::Rejoined);
        let points = self.regions[1 - region].points.clone();
        let mut divergent = 0;
        for partition in (0..self.plan.partitions).map(PartitionId) {
            for (name, is_inbox) in [(inbox(partition), true), (events(partition), false)] {
                let kept = &self.regions[region].streams[&name].kept;
                let tail = kept.iter().zip(1_u64..).skip(points[&name] as usize);
                for (bytes, sequence) in tail {
                    divergent += 1;
                    if is_inbox {
                        let records = message::records(bytes, sequence).unwrap_or_default();
                        let requests =
                            records.iter().filter_map(|(_, bytes)| journal::codec::decode(bytes).ok());
                        self.checker.lost.extend(requests.map(|request: Request| request.id));
                    }
                }
            }
        }
        if divergent > 0 {
            self.coverage.note(Situation::TailLost);
            if self.planned.contains(&epoch) {
                self.checker.add_violation("R3", format!("a planned switch left {divergent} messages over"));
            }
            let touched: Vec<_> =
                self.checker.histories[region].history.runs().map(|run| run.request.id.clone()).collect();
            self.checker.touched.extend(touched);
        }
        let fresh = Region::new(&self.plan, region);
        let old = std::mem::replace(&mut self.regions[region], fresh);
        let here = &mut self.regions[region];
        here.term = old.term + 1;
        here.register = old.register;
        here.state = RegionState { role: Role::Standby, epoch };
        here.level = false;
        here.close();
        self.checker.forget(region);
    }
}

impl Region {
    /// The subjects of the streams move away.
    fn close(&mut self) {
        self.streams.values_mut().for_each(|stream| stream.closed = true);
    }
}
