//! A register and a journal that several keepers share, with instances that can be cut off from both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use types::{Epoch, PartitionId};

use crate::{
    High, Holder, Holding, InstanceId, Keeper, Member, Metrics, Register, RegisterError, Roles, Settings,
    Sight, assign,
};

const PARTITIONS: u16 = 32;
const LIFETIME: Duration = Duration::from_secs(6);

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
    holdings: BTreeMap<PartitionId, Holding>,
    active: bool,
    epochs: BTreeMap<PartitionId, u64>,
    takes: u64,
    /// The last message of each partition's events.
    tails: BTreeMap<PartitionId, u64>,
    refusals: BTreeMap<PartitionId, u64>,
    /// Whether some take longer to let go than anybody waits.
    slow: bool,
    /// Partitions that nobody ever lets go.
    stuck: BTreeSet<PartitionId>,
    dice: Dice,
}

type Shared = Arc<Mutex<World>>;

/// One instance's way to the world.
struct Link {
    world: Shared,
    me: InstanceId,
    sight: watch::Sender<Arc<Sight>>,
    open: watch::Sender<bool>,
    held: Mutex<BTreeMap<PartitionId, Epoch>>,
    lost: watch::Sender<u64>,
    calls_held: Mutex<bool>,
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
            let (sight, epochs) = {
                let mut world = self.world.lock().unwrap();
                world.members.retain(|_, (_, until)| *until > Instant::now());
                let members = world.members.iter().map(|(id, (member, _))| (id.clone(), member.clone()));
                let (members, holdings) = (members.collect(), world.holdings.clone());
                (Sight { known: true, members, holdings, active: world.active }, world.epochs.clone())
            };
            self.sight.send_if_modified(|old| {
                let new = **old != sight;
                *old = Arc::new(sight);
                new
            });
            let mut held = self.held.lock().unwrap();
            let before = held.len();
            held.retain(|partition, epoch| epochs.get(partition) == Some(&epoch.0));
            if held.len() < before {
                self.lost.send_modify(|count| *count += 1);
            }
        }
    }
}

impl Register for Link {
    async fn beat(&self, member: &Member) -> Result<(), RegisterError> {
        self.pass(300).await;
        let until = Instant::now() + LIFETIME;
        self.world.lock().unwrap().members.insert(member.id.clone(), (member.clone(), until));
        Ok(())
    }

    async fn leave(&self, id: &InstanceId) -> Result<(), RegisterError> {
        self.pass(300).await;
        self.world.lock().unwrap().members.remove(id);
        Ok(())
    }

    async fn note(&self, partition: PartitionId, holding: Holding) -> Result<(), RegisterError> {
        self.pass(300).await;
        let mut world = self.world.lock().unwrap();
        let newer = |noted: &Holding| noted.epoch > holding.epoch;
        if !world.holdings.get(&partition).is_some_and(newer) {
            let noted = holding.in_place_of(world.holdings.get(&partition));
            world.holdings.insert(partition, noted);
        }
        Ok(())
    }

    fn watch(&self) -> watch::Receiver<Arc<Sight>> {
        self.sight.subscribe()
    }
}

impl Holder for Link {
    async fn take(&self, partition: PartitionId, high: Option<High>) -> Result<Epoch, String> {
        self.pass(1_000).await;
        let epoch = {
            let mut world = self.world.lock().unwrap();
            world.takes += 1;
            if high.is_some_and(|high| high.last > world.tails.get(&partition).copied().unwrap_or_default()) {
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
        self.held.lock().unwrap().insert(partition, epoch);
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
        self.held.lock().unwrap().remove(&partition);
    }

    fn held(&self) -> BTreeMap<PartitionId, Epoch> {
        self.held.lock().unwrap().clone()
    }

    fn high(&self, partition: PartitionId) -> Option<High> {
        let last = *self.world.lock().unwrap().tails.get(&partition)?;
        Some(High { region: 0, last })
    }

    fn lost(&self) -> watch::Receiver<u64> {
        self.lost.subscribe()
    }

    fn hold_calls(&self, hold: bool) {
        *self.calls_held.lock().unwrap() = hold;
    }
}

/// The instances of a test.
pub(super) struct Fleet {
    world: Shared,
    settings: Settings,
    crew: Vec<Crew>,
    joined: u32,
    leaving: Vec<JoinHandle<()>>,
}

struct Crew {
    link: Arc<Link>,
    keeper: Keeper,
    follower: Follower,
    metrics: Metrics,
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
            holdings: BTreeMap::new(),
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
            sight: watch::Sender::default(),
            open: watch::Sender::new(true),
            held: Mutex::default(),
            lost: watch::Sender::new(0),
            calls_held: Mutex::new(false),
        });
        let follower = Follower(tokio::spawn(Arc::clone(&link).follow()));
        let (register, holder) = (Arc::clone(&link), Arc::clone(&link));
        let metrics = Metrics::default();
        let keeper = Keeper::start(register, holder, member, self.settings.clone(), metrics.clone());
        self.crew.push(Crew { link, keeper, follower, metrics });
    }

    /// Ends one as if its process had been killed.
    pub(super) fn kill(&mut self, index: usize) {
        if index < self.crew.len() {
            self.crew.remove(index);
        }
    }

    pub(super) async fn leave(&mut self, index: usize) {
        let Crew { keeper, link, follower, .. } = self.crew.remove(index);
        keeper.stop().await;
        assert!(link.held().is_empty(), "{} has left and holds something", link.me);
        drop(follower);
    }

    /// One leaves while other things happen; it may be cut off.
    pub(super) fn leave_behind(&mut self, index: usize) {
        if index < self.crew.len() {
            let Crew { keeper, link, follower, .. } = self.crew.remove(index);
            let leaving = async move {
                keeper.stop().await;
                drop((link, follower));
            };
            self.leaving.push(tokio::spawn(leaving));
        }
    }

    pub(super) fn cut(&self, index: usize) {
        self.crew.get(index).map(|crew| crew.link.open.send_replace(false));
    }

    pub(super) fn mend(&self, index: usize) {
        self.crew.get(index).map(|crew| crew.link.open.send_replace(true));
    }

    pub(super) fn mend_all(&self) {
        (0..self.crew.len()).for_each(|index| self.mend(index));
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
    pub(super) fn lowest_high(&self) -> Option<u64> {
        let world = self.world.lock().unwrap();
        let high = |partition| Some(world.holdings.get(&partition)?.high?.last);
        self.settings.all().map(high).min().flatten()
    }

    pub(super) fn losses(&self) -> u64 {
        self.crew.iter().map(|crew| crew.metrics.losses.get()).sum()
    }

    /// The first partition that an instance holds.
    pub(super) fn one_of(&self, index: usize) -> PartitionId {
        *self.crew[index].link.held().keys().next().expect("it holds something")
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

    pub(super) fn holds_calls(&self, index: usize) -> bool {
        *self.crew[index].link.calls_held.lock().unwrap()
    }

    /// How many partitions each instance holds that holds any.
    pub(super) fn shares(&self) -> BTreeMap<InstanceId, usize> {
        let shares = self.crew.iter().map(|crew| (crew.link.me.clone(), crew.link.held().len()));
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
            let noted = world.holdings.get(&partition);
            if !noted.is_some_and(|noted| noted.is_of(owner, epoch)) {
                return Some(format!("{partition}: {noted:?} is noted, not {owner} at {epoch:?}"));
            }
            let holders = self.crew.iter().filter(|crew| crew.link.held().contains_key(&partition));
            let holders: Vec<&InstanceId> = holders.map(|crew| &crew.link.me).collect();
            if holders != [owner] {
                return Some(format!("{partition}: {holders:?} hold it, not {owner}"));
            }
        }
        None
    }
}
