//! Memberships over the register, which own partitions of a journal that is a number.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::{
    ClusterMetrics, DurableEnd, InstanceId, Member, Membership, PartitionOwner, Register, Settings, assign,
};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use types::{Epoch, PartitionId};

use super::{NatsRegister, WAIT_MAX, member};

type Epochs = Arc<Mutex<BTreeMap<PartitionId, u64>>>;

struct OwnedPartitions {
    epochs: Epochs,
    held: Mutex<BTreeMap<PartitionId, Epoch>>,
    lost: watch::Sender<u64>,
}

impl PartitionOwner for OwnedPartitions {
    async fn acquire(&self, partition: PartitionId, _high: Option<DurableEnd>) -> Result<Epoch, String> {
        let mut epochs = self.epochs.lock().unwrap();
        let epoch = epochs.entry(partition).or_default();
        *epoch += 1;
        self.held.lock().unwrap().insert(partition, Epoch(*epoch));
        Ok(Epoch(*epoch))
    }

    async fn release(&self, partition: PartitionId, _patience: Duration) {
        self.held.lock().unwrap().remove(&partition);
    }

    fn owned(&self) -> BTreeMap<PartitionId, Epoch> {
        let epochs = self.epochs.lock().unwrap();
        let mut held = self.held.lock().unwrap();
        held.retain(|partition, epoch| epochs[partition] == epoch.0);
        held.clone()
    }

    fn durable_end(&self, _partition: PartitionId) -> Option<DurableEnd> {
        None
    }

    fn lost(&self) -> watch::Receiver<u64> {
        self.lost.subscribe()
    }

    fn pause_calls(&self, _paused: bool) {}
}

pub(super) struct Fleet {
    epochs: Epochs,
    settings: Settings,
    crew: BTreeMap<String, Crew>,
}

struct Crew {
    member: Member,
    register: Arc<NatsRegister>,
    owner: Arc<OwnedPartitions>,
    membership: Membership,
}

impl Fleet {
    pub(super) fn new() -> Fleet {
        Fleet { epochs: Epochs::default(), settings: Settings::new(32), crew: BTreeMap::new() }
    }

    pub(super) fn join(&mut self, name: &str, register: NatsRegister) {
        let register = Arc::new(register);
        let owner = Arc::new(OwnedPartitions {
            epochs: Arc::clone(&self.epochs),
            held: Mutex::default(),
            lost: watch::Sender::new(0),
        });
        let (member, settings) = (member(name), self.settings.clone());
        let membership = Membership::start(
            Arc::clone(&register),
            Arc::clone(&owner),
            member.clone(),
            settings,
            ClusterMetrics::default(),
        );
        self.crew.insert(name.to_owned(), Crew { member, register, owner, membership });
    }

    /// Ends one without a word.
    pub(super) fn kill(&mut self, name: &str) {
        self.crew.remove(name).unwrap();
    }

    pub(super) async fn leave(&mut self, name: &str) {
        let Crew { owner, membership, .. } = self.crew.remove(name).unwrap();
        membership.stop().await;
        assert_eq!(owner.owned(), BTreeMap::new());
        let others = self.crew.values().next().unwrap();
        let mut view = others.register.watch();
        let gone = view.wait_for(|view| !view.members.contains_key(&InstanceId(name.to_owned()))).await;
        assert!(gone.is_ok());
    }

    pub(super) fn shares(&self) -> Vec<usize> {
        self.crew.values().map(|crew| crew.owner.owned().len()).collect()
    }

    /// Waits until everybody holds what it should and all see it.
    pub(super) async fn settles(&self, promise: &str) {
        let begun = Instant::now();
        while !self.is_settled() {
            assert!(begun.elapsed() < WAIT_MAX, "{promise}: {:?}", self.shares());
            sleep(Duration::from_millis(50)).await;
        }
        println!("{promise}, after {:?}", begun.elapsed());
    }

    fn is_settled(&self) -> bool {
        let living: Vec<Member> = self.crew.values().map(|crew| crew.member.clone()).collect();
        let owners = assign(&living, None, self.settings.all());
        self.settings.all().all(|partition| {
            let owner = *owners.get(&partition).expect("somebody lives");
            self.crew.values().all(|crew| {
                let noted = crew.register.watch().borrow().ownerships.get(&partition).cloned();
                let holds = crew.owner.owned().contains_key(&partition);
                holds == (crew.member.id == *owner)
                    && noted.and_then(|noted| noted.owner).as_ref() == Some(owner)
            })
        })
    }
}
