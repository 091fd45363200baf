//! One life of the process over a memory journal, with effects that note which runs were called for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brokers::{Anywhere, Brokers, Login};
use bytes::Bytes;
use engine::queues::{Outgoing, Peeked, QueueAnswer, QueueCommand, partition_of};
use engine::{CallOrder, Control, Effects, Engine, Settings};
use host::Clock;
use ingest::{Admission, Ingest};
use journal::memory::MemoryJournal;
use kernel::queue::{MessageNo, QueueRef, SubQueue};
use prometheus_client::registry::Registry;
use sources::{SourceMetrics, SourceParts};
use types::{Message, Outcome, QueueName, QueueSpec};
use view::{Ids, View};

use crate::slow::SlowInbox;

pub const PARTITIONS: u16 = 2;

/// Notes which runs were called for, each as often as it was.
#[derive(Default)]
pub struct Called(Mutex<Vec<String>>);

impl Called {
    pub fn runs(&self) -> Vec<String> {
        let mut runs = self.0.lock().unwrap().clone();
        runs.sort();
        runs
    }

    /// The ids of the messages that they were started by: what stands before the hash.
    pub fn messages(&self) -> Vec<String> {
        let message = |run: &String| run.rsplit_once('-').unwrap().0.to_owned();
        let mut messages: Vec<String> = self.runs().iter().map(message).collect();
        messages.sort();
        messages
    }
}

impl Effects for Called {
    fn start(&self, order: CallOrder) {
        self.0.lock().unwrap().push(order.context.run_id.to_string());
        order.reply.report(Outcome::Done { status: 200, output: Bytes::from_static(b"null") });
    }
}

pub struct Life {
    pub engine: Engine,
    pub control: Control,
    pub parts: Option<SourceParts>,
    pub inbox: Arc<SlowInbox>,
    pub called: Arc<Called>,
    _directory: tempfile::TempDir,
}

/// A life that holds every partition.
pub async fn live() -> Life {
    let life = live_without_partitions().await;
    life.engine.take_all().await;
    life
}

pub async fn live_without_partitions() -> Life {
    let journal = Arc::new(MemoryJournal::new());
    let directory = tempfile::tempdir().unwrap();
    let view = View::open(directory.path(), view::Settings::default()).unwrap();
    let (clock, ids) = (Clock::start(), Arc::new(Ids::new()));
    ids.hold_none();
    let control = Control::open(journal.clone(), clock.clone()).await.unwrap();
    let mut registry = Registry::default();
    let inbox = Arc::new(SlowInbox::new(journal.clone()));
    let ingest = Arc::new(Ingest::new(
        inbox.clone(),
        view.clone(),
        ids.clone(),
        clock.clone(),
        PARTITIONS,
        Admission::new(10_000, u64::MAX),
        ingest::Metrics::register(&mut registry),
    ));
    let called = Arc::new(Called::default());
    let engine = Engine::new(
        journal,
        view,
        ids,
        control.catalogs().clone(),
        called.clone(),
        clock,
        Settings::for_partitions(PARTITIONS),
        engine::EngineMetrics::register(&mut registry),
    );
    let parts = SourceParts {
        engine: engine.clone(),
        ingest,
        catalogs: control.catalogs().clone(),
        partitions: PARTITIONS,
        metrics: SourceMetrics::register(&mut registry),
        brokers: Brokers::new(Arc::new(Anywhere)),
        login: |_| Ok(Some(Login { username: "guest".to_owned(), password: "guest".to_owned() })),
        holders: None,
    };
    Life { engine, control, parts: Some(parts), inbox, called, _directory: directory }
}

impl Life {
    pub async fn ask(&self, queue: &str, command: QueueCommand) -> QueueAnswer {
        self.engine.queue(partition_of(&name(queue), PARTITIONS), command).await.unwrap()
    }

    pub async fn send(&self, queue: &str, id: &str, body: &str) {
        let message = Message::new(id.to_owned(), body.to_owned());
        self.ask(
            queue,
            QueueCommand::Send { to: name(queue), messages: vec![Outgoing { message, own_id: true }] },
        )
        .await;
    }

    pub async fn put_queue(&self, queue: &str, spec: QueueSpec) {
        self.ask(queue, QueueCommand::PutQueue { name: name(queue), spec }).await;
    }

    pub async fn peek(&self, queue: &str, sub_queue: SubQueue) -> Vec<Peeked> {
        self.peek_at(QueueRef::queue(name(queue)), sub_queue).await
    }

    pub async fn peek_at(&self, at: QueueRef, sub_queue: SubQueue) -> Vec<Peeked> {
        let topic = at.name.to_string();
        match self.ask(&topic, QueueCommand::Peek { at, sub_queue, from: MessageNo(0), max: 100 }).await {
            QueueAnswer::Peeked(peeked) => peeked,
            other => panic!("{other:?}"),
        }
    }
}

pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..3000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never: {what}");
}

pub fn name(text: &str) -> QueueName {
    QueueName::new(text).unwrap()
}
