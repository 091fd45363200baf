//! One process of a simulated installation: the shipped parts, put together as the server does.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use engine::jobs::JobReader;
use engine::{Control, Engine};
use ingest::{Admission, Ingest};
use journal::Journal;
use journal_disk::{DiskJournal, OnFatal};
use kernel::queue::{MessageNo, Queues};
use prometheus_client::registry::Registry;
use types::{PartitionId, RunId, RunStatus};
use view::{Ids, View};

use crate::coverage::Situation;
use crate::faults::disk::FaultyDisk;
use crate::faults::journal::FaultyJournal;
use crate::job_model::JobModel;
use crate::observation::{Observation, fingerprint};
use crate::observed_journal::{self, ObservedJournal};
use crate::plan::Limits;
use crate::queue_model::QueueModel;
use crate::services::Services;
use crate::workflows;
use crate::world::{Death, Sim};

/// A running process.
pub struct Process {
    pub engine: Engine,
    pub ingest: Ingest,
    pub control: Control,
    pub view: View,
    pub jobs: JobReader,
    partitions: u16,
}

/// What a process that has come back for the last time has.
#[derive(Default)]
pub struct Found {
    pub states: BTreeMap<PartitionId, kernel::State>,
    pub archived: BTreeMap<RunId, RunStatus>,
    pub rows: JobModel,
    pub queues: BTreeMap<PartitionId, Queues>,
    pub message_rows: BTreeMap<(PartitionId, MessageNo), u64>,
}

/// How long the process is down after it has stopped itself, in ms.
const RESTART_MS: u64 = 1000;

impl Process {
    /// Starts on what is on the disk.
    pub async fn start(sim: &Arc<Sim>, directory: &Path) -> anyhow::Result<Process> {
        let (disk, limits, clock) = {
            let world = sim.world();
            (world.disk.clone(), world.plan.limits, world.clock())
        };
        let (inner, writer) =
            DiskJournal::open_manual(Arc::new(FaultyDisk(disk)), &journal_settings(sim, limits))?;
        tokio::spawn(observed_journal::write(sim.clone(), writer));
        let watched = Arc::new(ObservedJournal::new(inner, sim.clone()));
        let journal = Arc::new(FaultyJournal(watched.clone()));
        let view = View::open(directory, view_settings())?;
        let control = Control::open(journal.clone(), clock.clone()).await?;
        // Once is enough: a process that comes back finds them.
        for source in workflows::SOURCES.iter().skip(control.catalogs().load().all().count()) {
            control.apply(source, "plan", None).await?;
        }
        sim.world().set_catalog(control.catalogs().load());
        let ids = Arc::new(Ids::new());
        let engine = Engine::start(
            journal.clone(),
            view.clone(),
            ids.clone(),
            control.catalogs().clone(),
            Arc::new(Services(sim.clone())),
            clock.clone(),
            engine_settings(limits),
            engine::EngineMetrics::register(&mut Registry::default()),
        )
        .await;
        let ingest = Ingest::new(
            journal.clone(),
            view.clone(),
            ids,
            clock,
            limits.partitions,
            Admission::new(limits.unfinished_max, u64::MAX),
            ingest::Metrics::register(&mut Registry::default()),
        );
        let jobs = JobReader::new(view.clone(), limits.partitions);
        let process = Process { engine, ingest, control, view, jobs, partitions: limits.partitions };
        process.look_around(sim, &watched);
        Ok(process)
    }

    /// What a process that has come back finds.
    fn look_around(&self, sim: &Arc<Sim>, journal: &ObservedJournal) {
        sim.look_for_death();
        let mut world = sim.world();
        if world.is_dead() {
            return;
        }
        for partition in self.partitions() {
            let tail = *journal.inbox_tail(partition).borrow();
            world.observe(Observation::InboxFound { partition, tail });
        }
        world.observe(Observation::Started);
    }

    pub fn partitions(&self) -> impl Iterator<Item = PartitionId> + use<> {
        (0..self.partitions).map(PartitionId)
    }

    pub fn partition_count(&self) -> u16 {
        self.partitions
    }

    /// The jobs and collections as the view has them.
    pub fn rows(&self) -> anyhow::Result<JobModel> {
        let mut job_model = JobModel::default();
        for collection in self.jobs.collections("")? {
            for job in self.jobs.jobs(&collection, None, usize::MAX)? {
                job_model.jobs.insert(job.definition.at.clone(), job);
            }
            job_model.collections.insert(collection.id(), collection);
        }
        Ok(job_model)
    }

    /// The state of every partition that runs.
    pub async fn states(&self) -> BTreeMap<PartitionId, kernel::State> {
        let mut states = BTreeMap::new();
        for partition in self.partitions() {
            if let Ok(state) = self.engine.query(partition, kernel::State::clone).await {
                states.insert(partition, state);
            }
        }
        states
    }

    /// The queues of every partition that runs.
    pub async fn queues(&self) -> BTreeMap<PartitionId, Queues> {
        let mut queues = BTreeMap::new();
        for partition in self.partitions() {
            if let Ok(own) = self.engine.query_queues(partition, Queues::clone).await {
                queues.insert(partition, own);
            }
        }
        queues
    }

    /// The rows that the view has of messages, of all that ever were.
    pub fn message_rows(
        &self,
        queue_model: &QueueModel,
    ) -> anyhow::Result<BTreeMap<(PartitionId, MessageNo), u64>> {
        let mut rows = BTreeMap::new();
        for (partition, in_partition) in &queue_model.partitions {
            for no in in_partition.sent.keys() {
                if let Some(row) = self.view.message(*partition, no.0)? {
                    rows.insert((*partition, *no), fingerprint(&row));
                }
            }
        }
        Ok(rows)
    }

    /// How the view says that runs ended.
    pub fn archived(&self, ids: &[RunId]) -> anyhow::Result<BTreeMap<RunId, RunStatus>> {
        let mut archived = BTreeMap::new();
        for id in ids {
            if let Some(run) = self.view.run(id, None)? {
                archived.insert(id.clone(), run.status);
            }
        }
        Ok(archived)
    }
}

fn journal_settings(sim: &Arc<Sim>, limits: Limits) -> journal_disk::Settings {
    let own = sim.clone();
    let on_fatal = OnFatal::call(move |_| {
        own.look_for_death();
        if !own.world().is_dead() {
            let mut world = own.world();
            world.coverage.note(Situation::SyncFailed);
            world.figures.failed_syncs += 1;
            drop(world);
            own.die(Death { power: false, down_ms: RESTART_MS });
        }
    });
    journal_disk::Settings {
        segment_bytes: limits.segment_bytes,
        reserve_bytes: limits.reserve_bytes,
        cache_bytes: 4 << 10,
        on_fatal,
        ..journal_disk::Settings::new(limits.partitions)
    }
}

fn engine_settings(limits: Limits) -> engine::Settings {
    engine::Settings {
        calls_max_per_partition: limits.calls_max,
        live_runs_max_per_partition: limits.live_runs_max,
        snapshot_after_bytes: limits.snapshot_after_bytes,
        ..engine::Settings::for_partitions(limits.partitions)
    }
}

pub fn view_settings() -> view::Settings {
    view::Settings { cache_bytes: 1 << 20, memtable_bytes_total: 8 << 20, ..Default::default() }
}
