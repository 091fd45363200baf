//! A register and a journal that several members share, with instances that can be cut off from both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use types::{Epoch, PartitionId};

use crate::{
    ClusterMetrics, ClusterView, DurableEnd, InstanceId, Member, Membership, Ownership, PartitionOwner,
    Register, RegisterError, Roles, Settings, assign,
};

const PARTITIONS: u16 = 32;
const MEMBER_TTL: Duration = Duration::from_secs(6);

/// Splitmix64: the same trouble for the same seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 33) % limit
    }
}

/// What is shared: the register, and the epochs that the journal enforces.
struct World {
    members: BTreeMap<InstanceId, (Member, Instant)>,
    ownerships: BTreeMap<PartitionId, Ownership>,
    active: bool,
    epochs: BTreeMap<PartitionId, u64>,
    takes: u64,
    /// The last message of each partition's events.
    tails: BTreeMap<PartitionId, u64>,
    refusals: BTreeMap<PartitionId, u64>,
    /// Whether some releases take longer than the handover timeout.
    slow: bool,
    /// Partitions whose release never ends.
    stuck: BTreeSet<PartitionId>,
    dice: Dice,
}

type SharedView = Arc<Mutex<World>>;

/// One instance's connection to the world.
struct Link {
    world: SharedView,
    me: InstanceId,
    view: watch::Sender<Arc<ClusterView>>,
    open: watch::Sender<bool>,
    owned: Mutex<BTreeMap<PartitionId, Epoch>>,
    lost: watch::Sender<u64>,
    calls_paused: Mutex<bool>,
}

impl Link {
    /// Waits while this instance is cut off, and as long as an answer takes.
    async fn pass(&self, millis_max: u64) {
        let time = self.world.lock().unwrap().dice.below(millis_max);
        sleep(Duration::from_millis(time)).await;
        let mut open = self.open.subscribe();
        open.wait_for(|open| *open).await.unwrap();
    }

    /// Follows the register, and meets the journal's refusals.
    async fn follow(self: Arc<Link>) {
        loop {
            self.pass(800).await;
            let (view, epochs) = {
                let mut world = self.world.lock().unwrap();
                world.members.retain(|_, (_, until)| *until > Instant::now());
                let members = world.members.iter().map(|(id, (member, _))| (id.clone(), member.clone()));
                let (members, ownerships) = (members.collect(), world.ownerships.clone());
                (ClusterView { known: true, members, ownerships, active: world.active }, world.epochs.clone())
            };
            self.view.send_if_modified(|old| {
                let new = **old != view;
                *old = Arc::new(view);
                new
            });
            let mut owned = self.owned.lock().unwrap();
            let before = owned.len();
            owned.retain(|partition, epoch| epochs.get(partition) == Some(&epoch.0));
            if owned.len() < before {
                self.lost.send_modify(|count| *count += 1);
            }
        }
    }
}

impl Register for Link {
    async fn heartbeat(&self, member: &Member) -> Result<(), RegisterError> {
        self.pass(300).await;
        let until = Instant::now() + MEMBER_TTL;
        self.world.lock().unwrap().members.insert(member.id.clone(), (member.clone(), until));
        Ok(())
    }

    async fn deregister(&self, id: &InstanceId) -> Result<(), RegisterError> {
        self.pass(300).await;
        self.world.lock().unwrap().members.remove(id);
        Ok(())
    }

    async fn publish(&self, partition: PartitionId, ownership: Ownership) -> Result<(), RegisterError> {
        self.pass(300).await;
        let mut world = self.world.lock().unwrap();
        let newer = |noted: &Ownership| noted.epoch > ownership.epoch;
        if !world.ownerships.get(&partition).is_some_and(newer) {
            let noted = ownership.replacing(world.ownerships.get(&partition));
            world.ownerships.insert(partition, noted);
        }
        Ok(())
    }

    fn watch(&self) -> watch::Receiver<Arc<ClusterView>> {
        self.view.subscribe()
    }
}

impl PartitionOwner for Link {
    async fn acquire(
        &self,
        partition: PartitionId,
        durable_end: Option<DurableEnd>,
    ) -> Result<Epoch, String> {
        self.pass(1_000).await;
        let epoch = {
            let mut world = self.world.lock().unwrap();
            world.takes += 1;
            if durable_end.is_some_and(|durable_end| {
                durable_end.last > world.tails.get(&partition).copied().unwrap_or_default()
            }) {
                return Err("events were lost".to_owned());
            }
            if let Some(left @ 1..) = world.refusals.get_mut(&partition) {
                *left -= 1;
                return Err("refused".to_owned());
            }
            let epoch = world.epochs.entry(partition).or_default();
            *epoch += 1;
            Epoch(*epoch)
        };
        self.pass(1_000).await;
        self.owned.lock().unwrap().insert(partition, epoch);
        Ok(epoch)
    }

    async fn release(&self, partition: PartitionId, _patience: Duration) {
        let (slow, stuck) = {
            let mut world = self.world.lock().unwrap();
            (world.slow && world.dice.below(20) == 0, world.stuck.contains(&partition))
        };
        if stuck {
            return std::future::pending().await;
        }
        self.pass(if slow { 40_000 } else { 2_000 }).await;
        self.owned.lock().unwrap().remove(&partition);
    }

    fn owned(&self) -> BTreeMap<PartitionId, Epoch> {
        self.owned.lock().unwrap().clone()
    }

    fn durable_end(&self, partition: PartitionId) -> Option<DurableEnd> {
        let last = *self.world.lock().unwrap().tails.get(&partition)?;
        Some(DurableEnd { region: 0, last })
    }

    fn lost(&self) -> watch::Receiver<u64> {
        self.lost.subscribe()
    }

    fn pause_calls(&self, hold: bool) {
        *self.calls_paused.lock().unwrap() = hold;
    }
}

/// The instances of a test.
pub(super) struct Fleet {
    world: SharedView,
    settings: Settings,
    crew: Vec<Crew>,
    joined: u32,
    leaving: Vec<JoinHandle<()>>,
}

struct Crew {
    link: Arc<Link>,
    membership: Membership,
    follower: Follower,
    metrics: ClusterMetrics,
}

struct Follower(JoinHandle<()>);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Fleet {
    pub(super) fn new(seed: u64) -> Fleet {
        let world = World {
            members: BTreeMap::new(),
            ownerships: BTreeMap::new(),
            active: true,
            epochs: BTreeMap::new(),
            takes: 0,
            tails: BTreeMap::new(),
            refusals: BTreeMap::new(),
            slow: false,
            stuck: BTreeSet::new(),
            dice: Dice::new(seed),
        };
        let world = Arc::new(Mutex::new(world));
        Fleet { world, settings: Settings::new(PARTITIONS), crew: Vec::new(), joined: 0, leaving: Vec::new() }
    }

    pub(super) fn join(&mut self) {
        self.joined += 1;
        let me = InstanceId(format!("sortie-{}", self.joined));
        let member = Member {
            id: me.clone(),
            address: String::new(),
            roles: Roles::ALL,
            ordinal: None,
            version: None,
        };
        let link = Arc::new(Link {
            world: Arc::clone(&self.world),
            me,
            view: watch::Sender::default(),
            open: watch::Sender::new(true),
            owned: Mutex::default(),
            lost: watch::Sender::new(0),
            calls_paused: Mutex::new(false),
        });
        let follower = Follower(tokio::spawn(Arc::clone(&link).follow()));
        let (register, owner) = (Arc::clone(&link), Arc::clone(&link));
        let metrics = ClusterMetrics::default();
        let membership = Membership::start(register, owner, member, self.settings.clone(), metrics.clone());
        self.crew.push(Crew { link, membership, follower, metrics });
    }

    /// Ends one as if its process had been killed.
    pub(super) fn kill(&mut self, index: usize) {
        if index < self.crew.len() {
            self.crew.remove(index);
        }
    }

    pub(super) async fn leave(&mut self, index: usize) {
        let Crew { membership, link, follower, .. } = self.crew.remove(index);
        membership.stop().await;
        assert!(link.owned().is_empty(), "{} has left and holds something", link.me);
        drop(follower);
    }

    /// One leaves while other things happen; it may be cut off.
    pub(super) fn leave_in_background(&mut self, index: usize) {
        if index < self.crew.len() {
            let Crew { membership, link, follower, .. } = self.crew.remove(index);
            let leaving = async move {
                membership.stop().await;
                drop((link, follower));
            };
            self.leaving.push(tokio::spawn(leaving));
        }
    }

    pub(super) fn cut(&self, index: usize) {
        self.crew.get(index).map(|crew| crew.link.open.send_replace(false));
    }

    pub(super) fn reconnect(&self, index: usize) {
        self.crew.get(index).map(|crew| crew.link.open.send_replace(true));
    }

    pub(super) fn reconnect_all(&self) {
        (0..self.crew.len()).for_each(|index| self.reconnect(index));
    }

    pub(super) fn slow_down(&self) {
        self.world.lock().unwrap().slow = true;
    }

    pub(super) fn stick(&self, partition: PartitionId) {
        self.world.lock().unwrap().stuck.insert(partition);
    }

    /// Somebody who says nothing claims a partition.
    pub(super) fn rob(&self, partition: PartitionId) {
        *self.world.lock().unwrap().epochs.entry(partition).or_default() += 1;
    }

    /// The events of every partition end here from now on.
    pub(super) fn end_all_at(&self, last: u64) {
        let partitions = self.settings.all();
        self.world.lock().unwrap().tails = partitions.map(|partition| (partition, last)).collect();
    }

    /// How far events are noted to be durable, where that is least.
    pub(super) fn lowest_durable_end(&self) -> Option<u64> {
        let world = self.world.lock().unwrap();
        let durable_end = |partition| Some(world.ownerships.get(&partition)?.durable_end?.last);
        self.settings.all().map(durable_end).min().flatten()
    }

    pub(super) fn losses(&self) -> u64 {
        self.crew.iter().map(|crew| crew.metrics.losses.get()).sum()
    }

    /// The first partition that an instance holds.
    pub(super) fn one_of(&self, index: usize) -> PartitionId {
        *self.crew[index].link.owned().keys().next().expect("it holds something")
    }

    pub(super) fn set_active(&self, active: bool) {
        self.world.lock().unwrap().active = active;
    }

    pub(super) fn refuse(&self, partition: PartitionId, times: u64) {
        self.world.lock().unwrap().refusals.insert(partition, times);
    }

    pub(super) fn refusals_left(&self, partition: PartitionId) -> u64 {
        self.world.lock().unwrap().refusals[&partition]
    }

    pub(super) fn takes(&self) -> u64 {
        self.world.lock().unwrap().takes
    }

    pub(super) fn pauses_calls(&self, index: usize) -> bool {
        *self.crew[index].link.calls_paused.lock().unwrap()
    }

    /// How many partitions each instance holds that holds any.
    pub(super) fn shares(&self) -> BTreeMap<InstanceId, usize> {
        let shares = self.crew.iter().map(|crew| (crew.link.me.clone(), crew.link.owned().len()));
        shares.filter(|(_, share)| *share > 0).collect()
    }

    /// Waits until everybody holds what it should, and everybody knows it.
    pub(super) async fn settles(&self) {
        for _ in 0..300 {
            sleep(Duration::from_secs(1)).await;
            if self.unsettled().is_none() {
                return;
            }
        }
        self.assert_settled();
    }

    pub(super) fn assert_settled(&self) {
        assert_eq!(self.unsettled(), None);
    }

    /// What is not yet where it belongs, or not known to be there.
    pub(super) fn unsettled(&self) -> Option<String> {
        let living: Vec<Member> = self
            .crew
            .iter()
            .map(|crew| Member {
                id: crew.link.me.clone(),
                address: String::new(),
                roles: Roles::ALL,
                ordinal: None,
                version: None,
            })
            .collect();
        let world = self.world.lock().unwrap();
        let owners = assign(&living, None, self.settings.all());
        for partition in self.settings.all() {
            let owner = *owners.get(&partition).expect("somebody lives");
            let epoch = Epoch(world.epochs.get(&partition).copied().unwrap_or_default());
            let noted = world.ownerships.get(&partition);
            if !noted.is_some_and(|noted| noted.is_of(owner, epoch)) {
                return Some(format!("{partition}: {noted:?} is noted, not {owner} at {epoch:?}"));
            }
            let owners = self.crew.iter().filter(|crew| crew.link.owned().contains_key(&partition));
            let owners: Vec<&InstanceId> = owners.map(|crew| &crew.link.me).collect();
            if owners != [owner] {
                return Some(format!("{partition}: {owners:?} hold it, not {owner}"));
            }
        }
        None
    }
}
