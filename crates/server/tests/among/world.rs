//! Instances in one process: a journal in memory that they share, HTTP between them, and a register kept by hand.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brokers::{Anywhere, Brokers};
use bytes::Bytes;
use cluster::{ClusterView, Directory, InstanceId, Member, Ownership, Roles};
use engine::jobs::JobReader;
use engine::{CallOrder, CallSubject, Control, Effects, Engine};
use host::Clock;
use http::Method;
use ingest::{Admission, Ingest};
use journal::DynJournal;
use journal::memory::MemoryJournal;
use prometheus_client::registry::Registry;
use rest::{Access, Api, Parts, PeerSecret, Server};
use serde_json::Value;
use server::{Peers, RemoteOwners};
use sources::Sources;
use tokio::net::TcpListener;
use tokio::sync::watch;
use types::{Epoch, Outcome, PartitionId, Span, StepIndex, Work};
use vault::{Secret, Vault};
use view::{Ids, View};

use crate::client::{Answer, call, request};

pub const PARTITIONS: u16 = 8;
pub const SECRET: &str = "between the instances";

/// Requests with `wait` stay live for ever; all others end at once, but those of `stubborn`, which are parked.
pub const WORKFLOWS: [&str; 4] = [
    "
name: parcels
services: { a: { url: 'http://a.test' } }
steps:
  one: { call: { service: a, method: PUT, path: /x, body: .request } }
",
    "
name: orders
accept: { route: /api/orders, id: .id, key: .customer, change: changes }
services: { a: { url: 'http://a.test' } }
steps:
  one: { call: { service: a, method: PUT, path: /x, body: .request } }
",
    "
name: changes
accept: { key: .order }
services: { a: { url: 'http://a.test' } }
steps:
  one: { call: { service: a, method: PUT, path: /x, body: .request } }
",
    "
name: stubborn
services: { a: { url: 'http://a.test' } }
steps:
  one: { call: { service: a, method: PUT, path: /x }, undo: { service: a, method: DELETE, path: /x } }
  two: { after: [one], call: { service: a, method: PUT, path: /y } }
",
];

/// Answers calls at once, or never.
struct Script {
    kept: Mutex<Vec<CallOrder>>,
    /// Whether what is stubborn can be undone.
    well: Arc<AtomicBool>,
}

impl Script {
    fn refuses(&self, order: &CallOrder) -> bool {
        let CallSubject::Workflow { definition, .. } = &order.subject else { return false };
        definition.name().as_str() == "stubborn"
            && match order.work {
                Work::Do(step) => step == StepIndex(1),
                Work::Undo(_) => !self.well.load(Ordering::Relaxed),
                _ => false,
            }
    }
}

impl Effects for Script {
    fn start(&self, order: CallOrder) {
        if self.refuses(&order) {
            return order.reply.report(Outcome::Refused { status: Some(409), reason: "stubborn".to_owned() });
        }
        let request: Value = serde_json::from_slice(&order.context.request).unwrap_or_default();
        if request["wait"] == true {
            self.kept.lock().unwrap().push(order);
        } else {
            order.reply.report(Outcome::Done { status: 200, output: Bytes::from_static(b"{}") });
        }
    }
}

pub struct Instance {
    pub id: InstanceId,
    pub address: SocketAddr,
    roles: Roles,
    pub engine: Engine,
    control: Control,
    ingest: Arc<Ingest>,
    pub remote_owners: RemoteOwners,
    _server: Server,
    _directory: tempfile::TempDir,
}

pub struct World {
    pub instances: Vec<Instance>,
    view: watch::Sender<Arc<ClusterView>>,
    well: Arc<AtomicBool>,
}

impl World {
    /// Three instances that share the partitions, and know the workflows.
    pub async fn start() -> World {
        let world = World::without_holders().await;
        for partition in (0..PARTITIONS).map(PartitionId) {
            world.give(usize::from(partition.0) % 3, partition).await;
        }
        world
    }

    /// Three instances that hold nothing but the control partition.
    pub async fn without_holders() -> World {
        World::with_roles([Roles::ALL; 3]).await
    }

    /// The same, with these roles; the last does everything.
    pub async fn with_roles(roles: [Roles; 3]) -> World {
        let _ = tracing_subscriber::fmt().with_env_filter("warn").with_test_writer().try_init();
        let journal = Arc::new(MemoryJournal::new());
        let (view, seen) =
            watch::channel(Arc::new(ClusterView { known: true, active: true, ..ClusterView::default() }));
        let (mut instances, well) = (Vec::new(), Arc::new(AtomicBool::new(false)));
        for (number, roles) in roles.into_iter().enumerate() {
            instances.push(Instance::start(number, roles, &journal, seen.clone(), well.clone()).await);
        }
        let world = World { instances, view, well };
        for instance in &world.instances {
            world.change(|view| drop(view.members.insert(instance.id.clone(), instance.member())));
        }
        world.take_control(1).await;
        for source in WORKFLOWS {
            world.send(2, Method::POST, "/v1/workflows", source).await.expect(201);
        }
        for instance in &world.instances {
            while instance.control.catalogs().load().all().count() < WORKFLOWS.len() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        world
    }

    /// Lets an instance take a partition, and the others know.
    pub async fn give(&self, at: usize, partition: PartitionId) {
        let epoch = self.instances[at].engine.take(partition).await.unwrap();
        self.note(at, partition, epoch);
    }

    /// Lets an instance take the control partition, and the others know.
    pub async fn take_control(&self, at: usize) {
        let epoch = self.instances[at].control.take().await.unwrap();
        self.note(at, PartitionId::CONTROL, epoch);
    }

    /// From now on what is stubborn can be undone.
    pub fn heal(&self) {
        self.well.store(true, Ordering::Relaxed);
    }

    fn note(&self, at: usize, partition: PartitionId, epoch: Epoch) {
        let holder = Some(self.instances[at].id.clone());
        self.change(|view| drop(view.ownerships.insert(partition, Ownership::new(holder, epoch))));
    }

    pub fn change(&self, change: impl FnOnce(&mut ClusterView)) {
        self.view.send_modify(|view| change(Arc::make_mut(view)));
    }

    /// Lets every instance take messages.
    pub fn take_messages(&self) -> Vec<Sources> {
        self.instances.iter().map(Instance::take_messages).collect()
    }

    pub async fn send(&self, at: usize, method: Method, path: &str, body: &str) -> Answer {
        call(self.instances[at].address, request(method, path, body.to_owned())).await
    }

    pub async fn get(&self, at: usize, path: &str) -> Answer {
        self.send(at, Method::GET, path, "").await
    }

    pub async fn put(&self, at: usize, path: &str, body: &str) -> Answer {
        self.send(at, Method::PUT, path, body).await
    }

    pub async fn post(&self, at: usize, path: &str, body: &str) -> Answer {
        self.send(at, Method::POST, path, body).await
    }

    /// Asks until an answer is as it must become.
    pub async fn wait_for(&self, at: usize, path: &str, good: impl Fn(&Value) -> bool) -> Value {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        loop {
            let answer = self.get(at, path).await;
            let value = if answer.status == 200 { answer.json() } else { Value::Null };
            if answer.status == 200 && good(&value) {
                return value;
            }
            assert!(tokio::time::Instant::now() < deadline, "{path}: {} {}", answer.status, answer.text);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Instance {
    fn member(&self) -> Member {
        let address = format!("http://{}", self.address);
        Member { id: self.id.clone(), address, roles: self.roles, ordinal: None, version: None }
    }

    async fn start(
        number: usize,
        roles: Roles,
        journal: &Arc<MemoryJournal>,
        cluster_view: watch::Receiver<Arc<ClusterView>>,
        well: Arc<AtomicBool>,
    ) -> Instance {
        let id = InstanceId(format!("instance-{number}"));
        let directory = tempfile::tempdir().unwrap();
        let view = View::open(directory.path(), view::Settings::default()).unwrap();
        let clock = Clock::start();
        let control = Control::follow(journal.clone(), clock.clone());
        let ids = Arc::new(Ids::new());
        ids.hold_none();
        let mut metrics = Registry::default();
        let engine = Engine::new(
            journal.clone(),
            view.clone(),
            ids.clone(),
            control.catalogs().clone(),
            Arc::new(Script { kept: Mutex::default(), well }),
            clock.clone(),
            engine::Settings::for_partitions(PARTITIONS),
            engine::EngineMetrics::register(&mut metrics),
        );
        let admission = Admission::new(1_000_000, u64::MAX);
        let ingest = Arc::new(Ingest::new(
            journal.clone(),
            view.clone(),
            ids.clone(),
            clock.clone(),
            PARTITIONS,
            admission,
            ingest::Metrics::register(&mut metrics),
        ));
        let secret = PeerSecret::new(&Secret::new(SECRET.to_owned())).unwrap();
        let peer_directory = Directory::new(id.clone(), cluster_view);
        let peers = Peers::over_http(peer_directory, secret, roles);
        let remote_owners = peers.remote_owners(PARTITIONS).unwrap();
        let api = Api::new(Parts {
            journal: DynJournal::new(journal.clone()),
            ingest: ingest.clone(),
            engine: engine.clone(),
            control: control.clone(),
            view: view.clone(),
            ids,
            access: Access::Open,
            metrics,
            services: Box::new(Vec::new),
            calls: Box::new(|_, _, _, _| api_types::SentView::Problem("no calls in this world".to_owned())),
            limits: limits(),
            settings: api_types::SettingsView::default(),
            jobs: JobReader::new(view, PARTITIONS),
            job_limits: schedule::Limits::default(),
            history_for: Span::from_secs(3600),
            vault: Arc::new(Vault::new([7; vault::SealingKey::BYTES])),
            clock,
            directory: peers.directory,
            peers: peers.client,
            peer: peers.peer,
            roles: peers.roles,
            region: None,
            pages: None,
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = rest::serve(listener, api).await.unwrap();
        let following = control.clone();
        tokio::spawn(async move {
            loop {
                following.look().await.unwrap();
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        let address = server.address();
        let (_server, _directory) = (server, directory);
        Instance { id, address, roles, engine, control, ingest, remote_owners, _server, _directory }
    }

    /// Begins to take messages for workflows that have sources.
    fn take_messages(&self) -> Sources {
        Sources::start(sources::SourceParts {
            engine: self.engine.clone(),
            ingest: self.ingest.clone(),
            catalogs: self.control.catalogs().clone(),
            partitions: PARTITIONS,
            metrics: sources::SourceMetrics::register(&mut Registry::default()),
            brokers: Brokers::new(Arc::new(Anywhere)),
            login: |_| Ok(None),
            holders: Some(Arc::new(self.remote_owners.clone())),
        })
    }
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
        connections_max: 1000,
    }
}

/// The partition that an id, when it is the key as well, belongs to.
pub fn partition_of(id: &str) -> PartitionId {
    PartitionId::of(&types::Key::from(types::RunId::new(id).unwrap()), PARTITIONS)
}

/// Ids of every partition, by their number.
pub fn an_id_of_each(prefix: &str) -> BTreeMap<PartitionId, String> {
    let mut ids = BTreeMap::new();
    for number in 0.. {
        let id = format!("{prefix}-{number}");
        ids.entry(partition_of(&id)).or_insert(id);
        if ids.len() == usize::from(PARTITIONS) {
            break;
        }
    }
    ids
}
