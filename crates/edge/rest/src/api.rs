//! What every route can reach, and the ways to find a run.

use std::sync::Arc;

use api_types::{SentView, ServiceView};
use axum::body::Body;
use cluster::{Directory, Roles};
use engine::jobs::JobReader;
use engine::{
    Applied, ApplyError, CallContext, CallSubject, Catalog, CommandError, Control, Engine, Entry, archive,
};
use host::Clock;
use ingest::Ingest;
use journal::{DynJournal, Journal};
use kernel::job::{self, Occurrence};
use kernel::{Request, Run};
use prometheus_client::registry::Registry;
use types::{PartitionId, RunId, RunStatus, Span, StepName, Work, WorkflowName};
use vault::Vault;
use view::{EndedRun, Ids, Standing, View};

use crate::auth::access::{self, Access, Denied, Permission};
use crate::auth::peer::PeerSecret;
use crate::bulk::Bulks;
use crate::error::ApiError;
use crate::forward::peer_client::PeerClient;
use crate::limits::WAITING_READ_BYTES;
use crate::overview::Records;
use crate::pages::Pages;
use crate::readiness::End;
use crate::region::RegionControl;
use crate::show;

/// The parts that the API speaks for.
pub struct Parts {
    pub journal: DynJournal,
    pub ingest: Arc<Ingest>,
    pub engine: Engine,
    pub control: Control,
    pub view: View,
    pub ids: Arc<Ids>,
    pub access: Access,
    pub metrics: Registry,
    pub services: Box<dyn Fn() -> Vec<ServiceView> + Send + Sync>,
    /// What a work of a run sends, for people to see.
    pub calls: Calls,
    pub limits: api_types::Limits,
    /// The settings of this instance, its tokens by name among them.
    pub settings: api_types::SettingsView,
    pub jobs: JobReader,
    pub job_limits: schedule::Limits,
    /// How long the attempts of a job are shown.
    pub history_for: Span,
    pub vault: Arc<Vault>,
    pub clock: Clock,
    /// This region and its pair, where there are regions.
    pub region: Option<Box<dyn RegionControl>>,
    /// Where partitions are found; [`Directory::alone`] on one machine.
    pub directory: Directory,
    pub peers: Arc<dyn PeerClient>,
    /// What instances know each other by.
    pub peer: Option<PeerSecret>,
    /// What this instance does for clients.
    pub roles: Roles,
    /// What people see in a browser; none where nobody looks.
    pub pages: Option<Arc<dyn Pages>>,
}

/// Renders what a work sends in an attempt, with secrets masked.
pub type Calls = Box<dyn Fn(&CallSubject, &CallContext, Work, u32) -> SentView + Send + Sync>;

/// Who an instance is in the eyes of another.
const PEER_NAME: &str = "sortie";

/// The API. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    parts: Arc<Parts>,
    /// What this instance knows itself by, and others with it where there are others.
    pub(crate) inner: PeerSecret,
    pub(crate) bulks: Bulks,
    /// Held while a queue or topic is made, changed or deleted: what `If-Match` asks for must still be so then. Nobody
    /// but the API changes them.
    pub(crate) changing_queues: Arc<tokio::sync::Mutex<()>>,
    pub(crate) records: Arc<Records>,
    pub(crate) end: End,
}

impl std::ops::Deref for Api {
    type Target = Parts;
    fn deref(&self) -> &Parts {
        &self.parts
    }
}

/// A run, wherever it was found.
pub(crate) enum Found {
    /// Durable in the inbox of a partition.
    Waiting(PartitionId),
    Live(PartitionId, Box<Run>),
    Ended(Box<EndedRun>, Box<Run>),
}

impl Found {
    pub(crate) fn status(&self) -> RunStatus {
        match self {
            Found::Waiting(_) => RunStatus::Accepted,
            Found::Live(_, run) | Found::Ended(_, run) => run.status(),
        }
    }
}

impl Api {
    pub fn new(mut parts: Parts) -> Api {
        let inner = parts.peer.clone().unwrap_or_else(PeerSecret::fresh);
        let bulks = Bulks::register(&mut parts.metrics);
        Api {
            parts: Arc::new(parts),
            inner,
            bulks,
            changing_queues: Arc::default(),
            records: Arc::default(),
            end: End::default(),
        }
    }

    /// Who asks, if they may.
    pub(crate) fn allow(&self, headers: &http::HeaderMap, permission: Permission) -> Result<&str, ApiError> {
        if self.is_peer(headers, permission) {
            return Ok(PEER_NAME);
        }
        let authorization = self.authorization(headers)?;
        self.access.check(authorization, permission).map_err(ApiError::Denied)
    }

    /// Who cancels a run or decides on it, if they may: also who has asked another instance to do so to many.
    pub(crate) fn allow_operator(&self, headers: &http::HeaderMap) -> Result<String, ApiError> {
        match self.inner.on_behalf(headers) {
            Some(name) => Ok(name),
            None => Ok(self.allow(headers, Permission::Operate)?.to_owned()),
        }
    }

    /// Who asks for something of a queue or topic, if they may. `path` is its path, `/` that of all of them.
    pub(crate) fn allow_queue(
        &self,
        headers: &http::HeaderMap,
        permission: Permission,
        path: &str,
    ) -> Result<&str, ApiError> {
        if self.is_peer(headers, permission) {
            return Ok(PEER_NAME);
        }
        let authorization = self.authorization(headers)?;
        let checked = self.access.check_queue(authorization, permission, path, self.clock.wall());
        checked.map_err(ApiError::Denied)
    }

    /// Whether another instance asks by itself, for something that instances may.
    pub(crate) fn is_peer(&self, headers: &http::HeaderMap, permission: Permission) -> bool {
        self.inner.allows(headers, permission)
    }

    pub(crate) fn authorization<'h>(
        &self,
        headers: &'h http::HeaderMap,
    ) -> Result<Option<&'h str>, ApiError> {
        let text = |name| headers.get(name).map(|value: &'h http::HeaderValue| value.to_str().unwrap_or("?"));
        if matches!(self.access, Access::Open)
            && !access::is_local(text(http::header::HOST), text(http::header::ORIGIN))
        {
            return Err(ApiError::Denied(Denied::Foreign));
        }
        Ok(text(http::header::AUTHORIZATION))
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.control.catalogs().load()
    }

    /// The current version of a workflow, or an error that names the nearest one.
    pub(crate) fn workflow(&self, catalog: &Catalog, name: &str) -> Result<Entry, ApiError> {
        let found = WorkflowName::new(name).ok().and_then(|name| catalog.current(&name).cloned());
        found.ok_or_else(|| {
            let known = catalog.all().map(|entry| entry.definition.name().as_str());
            let hint = workflow::did_you_mean(name, known);
            ApiError::UnknownWorkflow(format!("no workflow '{name}'{hint}"))
        })
    }

    /// Finds a run: in its partition's memory, in the view, or waiting in the inbox.
    pub(crate) async fn find(&self, id: &RunId) -> Result<Option<Found>, ApiError> {
        let entry = self.entry(id);
        if let Some(entry) = entry {
            let asked = id.clone();
            let live = self.engine.query(entry.partition, move |state| state.find(&asked).cloned()).await?;
            if let Some(run) = live {
                return Ok(Some(Found::Live(entry.partition, Box::new(run))));
            }
        }
        let hint = entry.map(|entry| entry.partition);
        let hint = hint.unwrap_or_else(|| PartitionId::of(&id.clone().into(), self.limits.partitions));
        let ended = self.view.run(id, Some(hint)).map_err(|error| ApiError::View(error.to_string()))?;
        if let Some(ended) = ended {
            let run = archive::open(&ended).map_err(|error| ApiError::View(format!("run {id}: {error}")))?;
            // The view may still have what another instance holds by now, and may know more of.
            if self.directory.is_alone() || self.engine.holds(self.partition_of_ended(&ended, &run)) {
                return Ok(Some(Found::Ended(Box::new(ended), Box::new(run))));
            }
        }
        match entry.filter(|entry| entry.durable) {
            Some(entry) => Ok(Some(Found::Waiting(entry.partition))),
            None => {
                self.all_run(hint)?;
                if self.directory.is_alone() { Ok(None) } else { self.find_waiting(id, hint).await }
            }
        }
    }

    /// Looks for a request that another instance has written to an inbox: it is heard of here when it is taken from
    /// there. One that may stand behind what is read cannot be denied.
    async fn find_waiting(&self, id: &RunId, hint: PartitionId) -> Result<Option<Found>, ApiError> {
        for partition in self.listed() {
            let through = self.engine.query(partition, |state| state.inbox_through()).await?;
            let tail = *self.journal.inbox_tail(partition).borrow();
            if through >= tail {
                continue;
            }
            let records = self.journal.inbox_read(partition, through.next(), WAITING_READ_BYTES).await;
            let records = records.map_err(|error| ApiError::View(error.to_string()))?;
            let mut requests = records.iter().filter_map(|record| journal::codec::decode(&record.bytes).ok());
            if requests.any(|request: Request| request.id == *id) {
                return Ok(Some(Found::Waiting(partition)));
            }
            if records.last().is_none_or(|last| last.seq < tail) {
                let text =
                    format!("run {id} was not found, and may wait in the inbox of partition {partition}");
                return Err(ApiError::Unsure(text));
            }
        }
        let ended = self.engine.holds(hint) && self.view.seen_in(hint, id).is_ok_and(|seen| seen.is_some());
        if self.entry(id).is_some() || ended {
            // Taken from the inbox between two looks: the next one finds it.
            return Err(ApiError::NotHeld { partition: hint });
        }
        Ok(None)
    }

    /// What is known of an id that is accepted or live, in a partition that is held here.
    pub(crate) fn entry(&self, id: &RunId) -> Option<view::Entry> {
        self.ids.find(id).filter(|entry| self.ids.standing(entry.partition) != Standing::Elsewhere)
    }

    fn partition_of_ended(&self, ended: &EndedRun, run: &Run) -> PartitionId {
        match Occurrence::of_request(&run.request) {
            Some(occurrence) => self.jobs.partition_of(&occurrence.collection.to_lowercase()),
            None => PartitionId::of(&ended.key, self.limits.partitions),
        }
    }

    /// The partitions that can be listed here.
    pub(crate) fn listed(&self) -> Vec<PartitionId> {
        self.engine.partitions().into_iter().map(|info| info.id).collect()
    }

    /// That there is no such run can be said only when every partition runs: a stopped one may hold it.
    fn all_run(&self, hint: PartitionId) -> Result<(), CommandError> {
        let stopped = self.engine.partitions().into_iter().filter_map(|info| Some((info.id, info.stopped?)));
        // The partition that the id itself leads to is the likeliest.
        match stopped.max_by_key(|(id, _)| *id == hint) {
            None => Ok(()),
            Some((partition, reason)) => Err(CommandError::Stopped { partition, reason }),
        }
    }

    /// Looks for a request near the head of the inbox. One far behind it is left unread: polling it must not
    /// cost a walk through the backlog.
    async fn read_waiting(&self, id: &RunId, partition: PartitionId) -> Result<Option<Request>, ApiError> {
        let through = self.engine.query(partition, |state| state.inbox_through()).await?;
        let records = self.journal.inbox_read(partition, through.next(), WAITING_READ_BYTES).await;
        let records = records.map_err(|error| ApiError::View(error.to_string()))?;
        let requests = records.iter().filter_map(|record| journal::codec::decode(&record.bytes).ok());
        Ok(requests.into_iter().find(|request: &Request| request.id == *id))
    }

    /// The names of a run's steps; an archived run no longer has its plan.
    pub(crate) fn step_names(&self, run: &Run) -> Vec<StepName> {
        if run.is_occurrence() {
            return vec![StepName::new(job::STEP).expect("a name of our own")];
        }
        let catalog = self.catalog();
        let entry = catalog.version(&run.request.workflow, run.request.version);
        entry.expect("a run's workflow version is never removed").definition.step_names().to_vec()
    }

    /// A run as JSON.
    pub(crate) async fn show(&self, id: &RunId) -> Result<Body, ApiError> {
        let found = self.find(id).await?.ok_or_else(|| ApiError::NotFound(format!("no run {id}")))?;
        let encode = |run: &Run, partition: PartitionId, reason: Option<String>| {
            let detail = show::detail(run, &self.step_names(run), partition, reason);
            serde_json::to_vec(&detail).expect("a run in memory can always be encoded")
        };
        Ok(Body::from(match found {
            Found::Waiting(partition) => {
                let request = self.read_waiting(id, partition).await?;
                show::waiting(id, partition, request.as_ref()).to_string().into_bytes()
            }
            Found::Live(partition, run) => encode(&run, partition, run.reason()),
            Found::Ended(ended, run) => {
                let partition = self.partition_of_ended(&ended, &run);
                encode(&run, partition, ended.reason.clone())
            }
        }))
    }
}

impl Api {
    /// Applies a workflow from inside the process.
    pub async fn apply(&self, source: &str, by: &str) -> Result<Applied, ApplyError> {
        self.control.apply(source, by, None).await
    }
}
