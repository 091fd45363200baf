//! What routes can reach: small handles, each with what it needs.

mod auth;
mod cluster;
mod workflows;

use std::sync::Arc;

use ::cluster::{Directory, Roles};
use api_types::{SentView, ServiceView};
use bulk::Bulks;
use engine::jobs::JobReader;
use engine::{Applied, ApplyError, CallContext, CallSubject, Control, Engine};
use host::Clock;
use ingest::Ingest;
use journal::DynJournal;
use page_api::Pages;
use prometheus_client::registry::Registry;
use types::{Span, Work};
use vault::Vault;
use view::{Ids, View};

use crate::auth::access::Access;
use crate::auth::peer::PeerSecret;
use crate::azure::Azure;
use crate::forward::peer_client::PeerClient;
use crate::ingest_routes::Submissions;
use crate::jobs::Jobs;
use crate::overview::Overview;
use crate::queues::Queues;
use crate::readiness::End;
use crate::region::{RegionControl, Regions};
use crate::runs::Runs;
use crate::servicebus::ServiceBus;
use crate::services::Services;

pub(crate) use auth::{Auth, PEER_NAME};
pub(crate) use cluster::Cluster;
pub(crate) use workflows::Workflows;

/// The parts that the API is made of.
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
    /// Shows what an attempt of a run sends.
    pub calls: Calls,
    pub limits: api_types::Limits,
    /// The settings of this instance, with its tokens by name.
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
    /// Authenticates instances to each other.
    pub peer: Option<PeerSecret>,
    /// What this instance does for clients.
    pub roles: Roles,
    /// The pages for browsers, if they are served.
    pub pages: Option<Arc<dyn Pages>>,
}

/// Renders what a work sends in an attempt, with secrets masked.
pub type Calls = Box<dyn Fn(&CallSubject, &CallContext, Work, u32) -> SentView + Send + Sync>;

/// The API: one handle for each kind of thing that it is about.
#[derive(Clone)]
pub struct Api {
    pub(crate) auth: Auth,
    pub(crate) workflows: Workflows,
    pub(crate) runs: Runs,
    pub(crate) submissions: Submissions,
    pub(crate) jobs: Jobs,
    pub(crate) queues: Queues,
    pub(crate) services: Services,
    pub(crate) cluster: Cluster,
    pub(crate) overview: Overview,
    pub(crate) bulks: Bulks,
    pub(crate) azure: Azure,
    pub(crate) servicebus: ServiceBus,
    pub(crate) instance: Arc<Instance>,
    pub(crate) regions: Regions,
    pub(crate) pages: Option<Arc<dyn Pages>>,
}

/// What this instance shows of itself.
pub(crate) struct Instance {
    pub journal: DynJournal,
    pub metrics: Registry,
    pub limits: api_types::Limits,
    pub settings: api_types::SettingsView,
    pub calls: Calls,
}

impl Api {
    pub fn new(parts: Parts) -> Api {
        let inner = parts.peer.clone().unwrap_or_else(PeerSecret::fresh);
        let workflows = Workflows { control: parts.control.clone() };
        let cluster = cluster_handle(&parts, inner.clone());
        let runs = runs_handle(&parts, &workflows, &cluster);
        let jobs = jobs_handle(&parts, &cluster);
        let Parts { engine, control, ids, clock, mut metrics, ingest, .. } = parts;
        let partitions = parts.limits.partitions;
        let regions = Regions(parts.region.map(Arc::from));
        let auth = Auth { access: Arc::new(parts.access), inner, clock: clock.clone() };
        let queues = Queues { engine: engine.clone(), cluster: cluster.clone(), changing: Arc::default() };
        let services = Services { workflows: workflows.clone(), called: Arc::from(parts.services) };
        let overview = Overview {
            engine,
            ingest: ingest.clone(),
            ids,
            jobs: parts.jobs,
            clock: clock.clone(),
            services: services.clone(),
            regions: regions.clone(),
            records: Arc::default(),
            partitions,
        };
        let submissions = Submissions {
            ingest,
            workflows: workflows.clone(),
            runs: runs.clone(),
            cluster: cluster.clone(),
        };
        let bulks = Bulks::new(control, clock, &mut metrics);
        let azure = Azure { jobs: jobs.clone(), cluster: cluster.clone() };
        let servicebus = ServiceBus { queues: queues.clone() };
        let instance = Arc::new(Instance {
            journal: parts.journal,
            metrics,
            limits: parts.limits,
            settings: parts.settings,
            calls: parts.calls,
        });
        Api {
            auth,
            workflows,
            runs,
            submissions,
            jobs,
            queues,
            services,
            cluster,
            overview,
            bulks,
            azure,
            servicebus,
            instance,
            regions,
            pages: parts.pages,
        }
    }

    /// Applies a workflow from inside the process.
    pub async fn apply(&self, source: &str, by: &str) -> Result<Applied, ApplyError> {
        self.workflows.apply(source, by, None).await
    }

    /// From now on `/readyz` sends clients to other instances; whoever comes is still answered.
    pub fn begin_to_end(&self) {
        self.cluster.end.begin();
    }
}

fn cluster_handle(parts: &Parts, inner: PeerSecret) -> Cluster {
    Cluster {
        engine: parts.engine.clone(),
        control: parts.control.clone(),
        ids: parts.ids.clone(),
        directory: parts.directory.clone(),
        peers: parts.peers.clone(),
        peer: parts.peer.clone(),
        inner,
        roles: parts.roles,
        partitions: parts.limits.partitions,
        end: End::default(),
    }
}

fn runs_handle(parts: &Parts, workflows: &Workflows, cluster: &Cluster) -> Runs {
    Runs {
        engine: parts.engine.clone(),
        view: parts.view.clone(),
        ids: parts.ids.clone(),
        journal: parts.journal.clone(),
        jobs: parts.jobs.clone(),
        workflows: workflows.clone(),
        cluster: cluster.clone(),
    }
}

fn jobs_handle(parts: &Parts, cluster: &Cluster) -> Jobs {
    Jobs {
        reader: parts.jobs.clone(),
        engine: parts.engine.clone(),
        view: parts.view.clone(),
        vault: parts.vault.clone(),
        clock: parts.clock.clone(),
        limits: parts.job_limits.clone(),
        history_for: parts.history_for,
        cluster: cluster.clone(),
    }
}
