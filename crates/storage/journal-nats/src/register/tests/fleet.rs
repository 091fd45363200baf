//! Keepers over the register, which hold partitions of a journal that is a number.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::{High, Holder, InstanceId, Keeper, Member, Metrics, Register, Settings, assign};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use types::{Epoch, PartitionId};

use super::{NatsRegister, WAIT_MAX, member};

type Epochs = Arc<Mutex<BTreeMap<PartitionId, u64>>>;

struct Held {
    epochs: Epochs,
    held: Mutex<BTreeMap<PartitionId, Epoch>>,
    lost: watch::Sender<u64>,
}

impl Holder for Held {
    async fn take(&self, partition: PartitionId, _high: Option<High>) -> Result<Epoch, String> {
        let mut epochs = self.epochs.lock().unwrap();
        let epoch = epochs.entry(partition).or_default();
        *epoch += 1;
        self.held.lock().unwrap().insert(partition, Epoch(*epoch));
        Ok(Epoch(*epoch))
    }

    async fn release(&self, partition: PartitionId, _patience: Duration) {
        self.held.lock().unwrap().remove(&partition);
    }

    fn held(&self) -> BTreeMap<PartitionId, Epoch> {
        let epochs = self.epochs.lock().unwrap();
        let mut held = self.held.lock().unwrap();
        held.retain(|partition, epoch| epochs[partition] == epoch.0);
        held.clone()
    }

    fn high(&self, _partition: PartitionId) -> Option<High> {
        None
    }

    fn lost(&self) -> watch::Receiver<u64> {
        self.lost.subscribe()
    }

    fn hold_calls(&self, _hold: bool) {}
}

pub(super) struct Fleet {
    epochs: Epochs,
    settings: Settings,
    crew: BTreeMap<String, Crew>,
}

struct Crew {
    member: Member,
    register: Arc<NatsRegister>,
    holder: Arc<Held>,
    keeper: Keeper,
}

impl Fleet {
    pub(super) fn new() -> Fleet {
        Fleet { epochs: Epochs::default(), settings: Settings::new(32), crew: BTreeMap::new() }
    }

    pub(super) fn join(&mut self, name: &str, register: NatsRegister) {
        let register = Arc::new(register);
        let holder = Arc::new(Held {
            epochs: Arc::clone(&self.epochs),
            held: Mutex::default(),
            lost: watch::Sender::new(0),
        });
        let (member, settings) = (member(name), self.settings.clone());
        let keeper = Keeper::start(
            Arc::clone(&register),
            Arc::clone(&holder),
            member.clone(),
            settings,
            Metrics::default(),
        );
        self.crew.insert(name.to_owned(), Crew { member, register, holder, keeper });
    }

    /// Ends one without a word.
    pub(super) fn kill(&mut self, name: &str) {
        self.crew.remove(name).unwrap();
    }

    pub(super) async fn leave(&mut self, name: &str) {
        let Crew { holder, keeper, .. } = self.crew.remove(name).unwrap();
        keeper.stop().await;
        assert_eq!(holder.held(), BTreeMap::new());
        let others = self.crew.values().next().unwrap();
        let mut sight = others.register.watch();
        let gone = sight.wait_for(|sight| !sight.members.contains_key(&InstanceId(name.to_owned()))).await;
        assert!(gone.is_ok());
    }

    pub(super) fn shares(&self) -> Vec<usize> {
        self.crew.values().map(|crew| crew.holder.held().len()).collect()
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
                let noted = crew.register.watch().borrow().holdings.get(&partition).cloned();
                let holds = crew.holder.held().contains_key(&partition);
                holds == (crew.member.id == *owner)
                    && noted.and_then(|noted| noted.holder).as_ref() == Some(owner)
            })
        })
    }
}
