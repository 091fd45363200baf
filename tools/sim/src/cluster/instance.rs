//! One instance: the shipped journal, engine and membership, put together as the server does, over the model.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::{DurableEnd, InstanceId, Member, Membership, PartitionOwner, Roles};
use engine::jobs::JobReader;
use engine::{Catalogs, Engine};
use journal_nats::{Installation, NatsJournal};
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use types::{Epoch, PartitionId};
use view::{Ids, View};

use super::link::Link;
use super::observed_journal::ObservedJournal;
use super::register::RegisterClient;
use super::services::SimulatedServices;
use super::snapshot_store::SnapshotStore;
use super::world::Sim;
use crate::faults::journal::FaultyJournal;
use crate::faults::wire::FaultyWire;

/// The journal of an instance.
pub type InstanceJournal = ObservedJournal<NatsJournal<FaultyWire<Link>, SnapshotStore>>;

/// An instance that runs.
pub struct Instance {
    pub life: u32,
    pub region: usize,
    pub engine: Engine,
    pub journal: Arc<InstanceJournal>,
    pub view: View,
    pub jobs: JobReader,
    membership: tokio::sync::Mutex<Option<Membership>>,
}

impl Instance {
    pub async fn start(
        sim: &Arc<Sim>,
        life: u32,
        directory: &Path,
        catalogs: Catalogs,
    ) -> anyhow::Result<Instance> {
        let (region, partitions, snapshot_after_bytes) = {
            let world = sim.world();
            (world.lives[&life].region, world.plan.partitions, world.plan.snapshot_after_bytes)
        };
        // Before the streams are looked at: the region may change while they are.
        let known = sim.world().regions[region].state.epoch;
        let link = FaultyWire(Link::new(sim.clone(), life, region));
        let snapshot_store = SnapshotStore { sim: sim.clone(), life, region };
        let installation = Installation { name: super::NAME.to_owned(), partitions, inbox_bytes_max: None };
        let inner = NatsJournal::over(link, &installation, snapshot_store, u64::from(life)).await?;
        let journal = Arc::new(ObservedJournal { inner, sim: sim.clone(), life, region });
        let view = View::open(directory, crate::process::view_settings())?;
        let settings =
            engine::Settings { snapshot_after_bytes, ..engine::Settings::for_partitions(partitions) };
        let engine = Engine::new(
            Arc::new(FaultyJournal(journal.clone())),
            view.clone(),
            Arc::new(Ids::new()),
            catalogs,
            Arc::new(SimulatedServices { sim: sim.clone(), life }),
            sim.clock(life),
            settings,
            engine::EngineMetrics::register(&mut Registry::default()),
        );
        let id = InstanceId(format!("i{life}"));
        let member = Member {
            id,
            address: format!("http://i{life}"),
            roles: Roles::ALL,
            ordinal: None,
            version: None,
        };
        let known = tokio::sync::Mutex::new(known);
        let (control, own) = (AtomicBool::new(false), journal.clone());
        let owner = Arc::new(EngineOwner {
            engine: engine.clone(),
            control,
            journal: own,
            known,
            taken_in: Mutex::default(),
        });
        let membership = Membership::start(
            Arc::new(RegisterClient::new(sim.clone(), life, region)),
            owner,
            member,
            cluster::Settings::new(partitions),
            cluster::ClusterMetrics::register(&mut Registry::default()),
        );
        let jobs = JobReader::new(view.clone(), partitions);
        let membership = tokio::sync::Mutex::new(Some(membership));
        Ok(Instance { life, region, engine, journal, view, jobs, membership })
    }

    /// Releases everything and deregisters.
    pub async fn leave(&self) {
        if let Some(membership) = self.membership.lock().await.take() {
            membership.stop().await;
        }
    }
}

/// The engine, as the membership holds it. The control partition is not simulated: whoever takes it has it.
struct EngineOwner {
    engine: Engine,
    control: AtomicBool,
    journal: Arc<InstanceJournal>,
    /// The region's epoch that the journal was looked at in.
    known: tokio::sync::Mutex<u64>,
    /// The region's epoch in which each partition was taken.
    taken_in: Mutex<BTreeMap<PartitionId, u64>>,
}

impl EngineOwner {
    /// As a server does whose region has become active: what was known may be of a history that was replaced.
    async fn forget_a_replaced_history(&self) -> Result<u64, String> {
        let mut known = self.known.lock().await;
        let epoch = self.journal.sim.world().regions[self.journal.region].state.epoch;
        if *known != epoch {
            self.journal.inner.forget().await.map_err(|error| error.to_string())?;
            *known = epoch;
        }
        Ok(epoch)
    }
}

impl PartitionOwner for EngineOwner {
    async fn acquire(
        &self,
        partition: PartitionId,
        durable_end: Option<DurableEnd>,
    ) -> Result<Epoch, String> {
        if partition == PartitionId::CONTROL {
            self.control.store(true, Ordering::Relaxed);
            return Ok(Epoch(1));
        }
        let region = self.forget_a_replaced_history().await?;
        self.journal.inner.expect(partition, DurableEnd::floor(durable_end, region));
        self.taken_in.lock().expect("nobody panics while holding it").insert(partition, region);
        self.engine.take(partition).await.map_err(|error| error.to_string())
    }

    async fn release(&self, partition: PartitionId, patience: Duration) {
        if partition == PartitionId::CONTROL {
            self.control.store(false, Ordering::Relaxed);
        } else {
            self.engine.release(partition, patience).await;
        }
    }

    fn owned(&self) -> BTreeMap<PartitionId, Epoch> {
        let mut held = self.engine.held();
        if self.control.load(Ordering::Relaxed) {
            held.insert(PartitionId::CONTROL, Epoch(1));
        }
        held
    }

    fn durable_end(&self, partition: PartitionId) -> Option<DurableEnd> {
        let region = *self.taken_in.lock().expect("nobody panics while holding it").get(&partition)?;
        self.journal.inner.acknowledged(partition).map(|last| DurableEnd { region, last })
    }

    fn lost(&self) -> watch::Receiver<u64> {
        self.engine.lost()
    }

    fn pause_calls(&self, paused: bool) {
        self.engine.hold_calls(paused);
    }
}
