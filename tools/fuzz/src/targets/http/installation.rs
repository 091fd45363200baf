//! A small installation in memory: a workflow, a collection with a job, and calls that never leave the process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::jobs::JobReader;
use engine::{CallOrder, Control, Effects, Engine};
use host::Clock;
use ingest::{Admission, Ingest};
use journal::DynJournal;
use journal::memory::MemoryJournal;
use prometheus_client::registry::Registry;
use rest::{Access, Api, Parts};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use types::{Outcome, Span};
use vault::Vault;
use view::{Ids, View};

const PARTITIONS: u16 = 2;

const WORKFLOW: &str = "
name: orders
accept: { route: /api/orders, id: .id, key: .customer, schema: { type: object } }
services: { a: { url: 'http://a.test' } }
steps:
  one: { call: { service: a, method: PUT, path: '/x/${.run.id}', body: .request }, undo: { service: a, method: DELETE, path: /x } }
";

/// Ends with this, and so does its directory.
pub struct Installation {
    pub address: SocketAddr,
    runtime: Option<Runtime>,
    _directory: tempfile::TempDir,
}

/// Reports every call as done, and makes none.
struct AlwaysDone;

impl Effects for AlwaysDone {
    fn start(&self, order: CallOrder) {
        order.reply.report(Outcome::Done { status: 200, output: Bytes::from_static(b"{\"ok\":true}") });
    }
}

impl Installation {
    pub fn start() -> Installation {
        let directory = tempfile::tempdir().expect("a scratch directory can be made");
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().expect("a runtime can be made");
        let view = View::open(directory.path(), view::Settings::default()).expect("a new view opens");
        let address = runtime.block_on(serve(view));
        Installation { address, runtime: Some(runtime), _directory: directory }
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}

async fn serve(view: View) -> SocketAddr {
    let clock = Clock::start();
    let journal = Arc::new(MemoryJournal::new());
    let control = Control::open(journal.clone(), clock.clone()).await.expect("a new journal opens");
    let ids = Arc::new(Ids::new());
    let mut metrics = Registry::default();
    let engine = Engine::start(
        journal.clone(),
        view.clone(),
        ids.clone(),
        control.catalogs().clone(),
        Arc::new(AlwaysDone),
        clock.clone(),
        engine::Settings::for_partitions(PARTITIONS),
        engine::EngineMetrics::register(&mut metrics),
    )
    .await;
    let ingest = Ingest::new(
        journal.clone(),
        view.clone(),
        ids.clone(),
        clock.clone(),
        PARTITIONS,
        Admission::new(1_000_000, u64::MAX),
        ingest::Metrics::register(&mut metrics),
    );
    let api = Api::new(Parts {
        journal: DynJournal::new(journal),
        ingest: Arc::new(ingest),
        engine,
        control,
        view: view.clone(),
        ids,
        access: Access::Open,
        metrics,
        services: Box::new(Vec::new),
        calls: Box::new(|_, _, _, _| api_types::SentView::Problem("nothing is sent here".to_owned())),
        limits: limits(),
        settings: api_types::SettingsView::default(),
        jobs: JobReader::new(view, PARTITIONS),
        job_limits: schedule::Limits::default(),
        history_for: Span::from_secs(3600),
        vault: Arc::new(Vault::new([7; vault::SealingKey::BYTES])),
        clock,
        region: None,
        directory: cluster::Directory::alone(),
        peers: Arc::new(rest::NoPeers),
        peer: None,
        roles: cluster::Roles::ALL,
        pages: None,
    });
    api.apply(WORKFLOW, "fuzz").await.expect("the workflow is valid");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback can be listened on");
    let server = rest::serve(listener, api).await.expect("the listener has an address");
    let address = server.address();
    // The server ends with the runtime; stopped properly it would wait for connections.
    std::mem::forget(server);
    address
}

fn limits() -> api_types::Limits {
    api_types::Limits {
        partitions: PARTITIONS,
        body_bytes_max: ingest::limits::BODY_BYTES_MAX,
        batch_requests_max: ingest::limits::BATCH_REQUESTS_MAX,
        batch_bytes_max: ingest::limits::BATCH_BYTES_MAX,
        definition_bytes_max: rest::limits::DEFINITION_BYTES_MAX,
        unfinished_runs_max: 1_000_000,
        calls_max: 100,
        live_runs_max: 1000,
        page_items_max: rest::limits::PAGE_ITEMS_MAX,
        connections_max: rest::limits::CONNECTIONS_MAX,
    }
}
