//! Starting and stopping: open, recover, listen; stop listening, drain, close.

use std::sync::Arc;
use std::time::Duration;

use dashboard::Dashboard;
use engine::jobs::JobReader;
use engine::{Applied, ApplyError, Control, ControlError, Engine};
use host::Clock;
use ingest::{Admission, Ingest};
use journal::{DynJournal, OpenError};
use journal_nats::preflight::Survey;
use prometheus_client::registry::Registry;
use regions::Regions;
use rest::{Api, Parts, Server};
use sources::Sources;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use vault::Vault;
use view::{Ids, OnFailure, View};

use crate::config::{Config, ConfigError};
use crate::descriptors::DescriptorBudget;
use crate::journals::AnyJournal;
use crate::membership::{Joined, Membership, RegionState};
use crate::memory::MemoryBudget;
use crate::nats::{self, Nats, NatsError};
use crate::outbound::Outbound;
use crate::peers::Peers;
use crate::service_overrides::ServiceOverrides;
use crate::starter::WorkflowStarter;
use crate::{calls, gauges, housekeeping, region, settings};

/// How long messages of sources may take to settle when the process stops.
const SOURCES_PATIENCE: Duration = Duration::from_secs(15);
/// How long requests that are being answered may take when the process stops.
const HTTP_PATIENCE: Duration = Duration::from_secs(10);
/// How long calls in flight may take when the process stops; the others are repeated after the next start.
const CALLS_PATIENCE: Duration = Duration::from_secs(30);

/// A running server.
pub struct Running {
    server: Server,
    engine: Engine,
    api: Api,
    view: View,
    journal: Arc<AnyJournal>,
    housekeeping: JoinHandle<()>,
    following: JoinHandle<()>,
    sources: Sources,
    /// In a cluster.
    joined: Option<Joined>,
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Journal(#[from] OpenError),
    #[error(transparent)]
    Nats(#[from] NatsError),
    #[error(transparent)]
    View(#[from] view::OpenError),
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error("listening on {address}: {source}")]
    Listen { address: std::net::SocketAddr, source: std::io::Error },
}

impl StartError {
    /// The exit code of the process: 65 for damaged data, 75 for a temporary failure, 78 for wrong settings.
    pub fn exit_code(&self) -> u8 {
        match self {
            StartError::Config(ConfigError::KeyFile(_)) => 75,
            StartError::Config(_) => 78,
            StartError::Journal(OpenError::Damaged { .. }) => 65,
            StartError::Journal(OpenError::Version { .. } | OpenError::Fixed { .. }) => 78,
            StartError::Control(_) => 65,
            StartError::Journal(OpenError::InUse { .. } | OpenError::Io { .. }) => 75,
            StartError::Nats(error) if error.is_of_settings() => 78,
            StartError::Nats(_) => 75,
            StartError::View(_) | StartError::Listen { .. } => 75,
        }
    }
}

/// Opens the data, recovers every partition and begins to listen.
pub async fn start(config: Config) -> Result<Running, StartError> {
    start_with_clock(config, Clock::start()).await
}

/// Starts with a clock that may show another time than that of the machine: for data recorded at that time.
pub async fn start_with_clock(config: Config, clock: Clock) -> Result<Running, StartError> {
    let access = config.access()?;
    let (descriptors, memory) = (DescriptorBudget::of_process(), MemoryBudget::of_process());
    let Storage { journal, listener, view, control, vault, mut metrics, membership, regions, survey } =
        Storage::open(&config, descriptors, memory, &clock).await?;
    let ids = Arc::new(Ids::new());
    let ingest = open_ingest(&config, memory, &journal, &view, &ids, &clock, &mut metrics);
    let peers = membership.as_ref().map_or_else(Peers::none, Membership::peers);
    let (remote_owners, catalogs) = (peers.remote_owners(config.partitions), control.catalogs().clone());
    let starter = Arc::new(WorkflowStarter { ingest: ingest.clone(), catalogs, remote_owners });
    let region_epoch = nats::region_epoch(regions.as_ref());
    let region = RegionState::of(regions.as_ref());
    let outbound = Outbound::new(&config, descriptors, vault.clone(), starter, region_epoch, clock.clone())?;
    // Before any call is repeated: a service whose breaker is held open must get none.
    let overrides = ServiceOverrides::start(outbound.performer.services(), control.documents());
    let engine = Engine::new(
        journal.clone(),
        view.clone(),
        ids.clone(),
        control.catalogs().clone(),
        Arc::new(outbound.performer.clone()),
        clock.clone(),
        engine_settings(&config, memory),
        engine::EngineMetrics::register(&mut metrics),
    );
    // In a cluster, partitions are taken when they are assigned.
    if membership.is_none() {
        engine.take_all().await;
    }
    outbound.queue_sender.set_engine(engine.clone());
    let gauges = gauges::Gauges::register(&mut metrics);
    let sources = outbound.sources(&config, &engine, &ingest, control.catalogs(), &mut metrics);
    let following = host::spawn("service overrides", overrides.clone().follow_changes());
    let performer = outbound.performer;
    let api = Api::new(Parts {
        journal: DynJournal::new(journal.clone()),
        ingest,
        engine: engine.clone(),
        control: control.clone(),
        view: view.clone(),
        ids: ids.clone(),
        access,
        metrics,
        services: Box::new(move || overrides.services()),
        calls: Box::new(move |subject, context, work, attempt| {
            calls::show(&performer, subject, context, work, attempt)
        }),
        limits: api_limits(&config, descriptors),
        settings: settings::shown(&config),
        jobs: JobReader::new(view.clone(), config.partitions),
        job_limits: config.job_limits(),
        history_for: config.jobs.history_for,
        vault,
        clock: clock.clone(),
        region: regions.map(region::control),
        directory: peers.directory,
        peers: peers.client,
        peer: peers.peer,
        roles: peers.roles,
        pages: Some(Arc::new(Dashboard::default())),
    });
    let server = rest::serve(listener, api.clone()).await.map_err(|source| listen_error(&config, source))?;
    let housekeeper = housekeeper(&config, &journal, &view, ids, &engine, gauges, clock);
    let housekeeping = host::spawn("housekeeping", housekeeping::Housekeeper { survey, ..housekeeper }.run());
    let sources = Sources::start(sources);
    let joined =
        membership.map(|membership| membership.join(engine.clone(), control, journal.clone(), region));
    tracing::info!(address = %server.address(), data = %config.data.display(), "sortie is ready");
    Ok(Running { server, engine, api, view, journal, housekeeping, following, sources, joined })
}

/// What everything else is built on: data, listener, and in a cluster the connection to the others.
struct Storage {
    journal: Arc<AnyJournal>,
    listener: TcpListener,
    view: View,
    control: Control,
    vault: Arc<Vault>,
    metrics: Registry,
    /// In a cluster.
    membership: Option<Membership>,
    regions: Option<Regions>,
    /// What the NATS servers report about their configuration.
    survey: Option<watch::Receiver<Survey>>,
}

impl Storage {
    async fn open(
        config: &Config,
        descriptors: DescriptorBudget,
        memory: MemoryBudget,
        clock: &Clock,
    ) -> Result<Storage, StartError> {
        // Wrong settings are reported before anything is opened.
        config.egress()?;
        let (journal, others) = if config.cluster.is_on() {
            let Nats { journal, register, regions, survey } = Nats::open(config).await?;
            (journal, Some((register, regions, survey)))
        } else {
            (Arc::new(AnyJournal::on_disk(config, memory).await?), None)
        };
        // Bound before the recovery: early clients wait instead of being refused.
        let listener =
            TcpListener::bind(config.listen).await.map_err(|source| listen_error(config, source))?;
        let view = View::open(&config.data.join("view"), view_settings(descriptors, memory))?;
        let control = match &others {
            None => Control::open(journal.clone(), clock.clone()).await?,
            Some(_) => follow(&journal, clock).await,
        };
        // The data directory exists and is locked from here on.
        let vault = Arc::new(config.vault()?);
        let mut metrics = Registry::default();
        let (membership, regions, survey) = match others {
            None => (None, None, None),
            Some((register, regions, survey)) => {
                let address = listener.local_addr().map_err(|source| listen_error(config, source))?;
                if let Some(regions) = &regions {
                    region::Gauges::start(regions, &mut metrics);
                    region::note_keys(regions, &vault).await;
                }
                (Some(Membership::new(config, register, address, &mut metrics)?), regions, Some(survey))
            }
        };
        Ok(Storage { journal, listener, view, control, vault, metrics, membership, regions, survey })
    }
}

fn listen_error(config: &Config, source: std::io::Error) -> StartError {
    StartError::Listen { address: config.listen, source }
}

/// The workflows, which other instances may change. They are read once before the start, so that requests for existing
/// workflows are not refused; a standby region may have none to read.
async fn follow(journal: &Arc<AnyJournal>, clock: &Clock) -> Control {
    let control = Control::follow(journal.clone(), clock.clone());
    if let Err(error) = control.look().await {
        tracing::warn!(%error, "could not read the workflows yet");
    }
    control
}

impl Running {
    pub fn address(&self) -> std::net::SocketAddr {
        self.server.address()
    }

    /// Applies a workflow, as the process itself.
    pub async fn apply(&self, source: &str) -> Result<Applied, ApplyError> {
        self.api.apply(source, "sortie").await
    }

    /// Stops listening, lets calls in flight end, and closes the data.
    pub async fn stop(self) {
        self.api.begin_to_end();
        self.housekeeping.abort();
        self.following.abort();
        if tokio::time::timeout(SOURCES_PATIENCE, self.sources.stop()).await.is_err() {
            tracing::warn!(
                "some messages of sources are not settled; they are delivered again after the next start"
            );
        }
        // RemoteOwners answer for what is handed over, and this instance passes calls on to them meanwhile.
        if let Some(joined) = self.joined {
            joined.leave().await;
        }
        self.server.stop(HTTP_PATIENCE).await;
        if !self.engine.drain(CALLS_PATIENCE).await {
            tracing::warn!("some calls are still in flight; they are repeated after the next start");
        }
        drop(self.api);
        drop(self.engine);
        let view = self.view;
        // Closing the view joins a thread, which must not block the runtime.
        let closed = tokio::task::spawn_blocking(move || view.close()).await;
        closed.expect("closing the view does not panic");
        match Arc::try_unwrap(self.journal) {
            Ok(journal) => journal.close().await,
            // Tasks that still hold the journal end with the process; all that was acknowledged is durable.
            Err(_) => tracing::debug!("the journal is still in use and is closed with the process"),
        }
    }
}

/// The ingest of requests.
fn open_ingest(
    config: &Config,
    memory: MemoryBudget,
    journal: &Arc<AnyJournal>,
    view: &View,
    ids: &Arc<Ids>,
    clock: &Clock,
    metrics: &mut Registry,
) -> Arc<Ingest> {
    Arc::new(Ingest::new(
        journal.clone(),
        view.clone(),
        ids.clone(),
        clock.clone(),
        config.partitions,
        admission(config, memory),
        ingest::Metrics::register(metrics),
    ))
}

/// The periodic work.
fn housekeeper(
    config: &Config,
    journal: &Arc<AnyJournal>,
    view: &View,
    ids: Arc<Ids>,
    engine: &Engine,
    gauges: gauges::Gauges,
    clock: Clock,
) -> housekeeping::Housekeeper {
    housekeeping::Housekeeper {
        journal: Arc::downgrade(journal),
        view: view.clone(),
        ids,
        engine: engine.clone(),
        gauges,
        journal_bytes_max: config.journal.bytes_max,
        partitions: config.partitions,
        keep_ended: config.keep_ended,
        survey: None,
        clock,
    }
}

fn admission(config: &Config, memory: MemoryBudget) -> Admission {
    let limits = &config.limits;
    Admission::new(limits.unfinished_runs_max, memory_bytes_max(config, memory))
}

/// Resident memory above which requests and messages are refused.
fn memory_bytes_max(config: &Config, memory: MemoryBudget) -> u64 {
    config.limits.memory_bytes_max.min(memory.admission)
}

fn engine_settings(config: &Config, memory: MemoryBudget) -> engine::Settings {
    let share = |total: usize| (total / usize::from(config.partitions)).max(1);
    engine::Settings {
        calls_max_per_partition: share(config.limits.calls_max),
        live_runs_max_per_partition: share(config.limits.live_runs_max),
        live_bytes_max_per_partition: share(memory.live as usize),
        spike_unfinished_max: config.limits.unfinished_runs_max / 2,
        history_max_per_job: config.jobs.history_max_per_job,
        memory_bytes_max: memory_bytes_max(config, memory),
        ..engine::Settings::for_partitions(config.partitions)
    }
}

fn view_settings(descriptors: DescriptorBudget, memory: MemoryBudget) -> view::Settings {
    view::Settings {
        cache_bytes: memory.view_cache,
        memtable_bytes_total: memory.view_memtables,
        open_files_max: descriptors.tables,
        on_failure: OnFailure::ExitProcess,
    }
}

fn api_limits(config: &Config, descriptors: DescriptorBudget) -> api_types::Limits {
    api_types::Limits {
        partitions: config.partitions,
        body_bytes_max: ingest::limits::BODY_BYTES_MAX,
        batch_requests_max: ingest::limits::BATCH_REQUESTS_MAX,
        batch_bytes_max: ingest::limits::BATCH_BYTES_MAX,
        definition_bytes_max: rest::limits::DEFINITION_BYTES_MAX,
        unfinished_runs_max: config.limits.unfinished_runs_max,
        calls_max: config.limits.calls_max,
        live_runs_max: config.limits.live_runs_max,
        page_items_max: rest::limits::PAGE_ITEMS_MAX,
        connections_max: descriptors.inbound,
    }
}
