//! A built-in queue as a source, over a memory journal: every message becomes one run, or a dead letter.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brokers::{Anywhere, Brokers};
use bytes::Bytes;
use engine::queues::{Outgoing, Peeked, QueueAnswer, QueueCommand, partition_of};
use engine::{Control, Effects, Engine, Order, Settings};
use host::Clock;
use ingest::{Admission, Ingest};
use journal::memory::MemoryJournal;
use kernel::queue::{MessageNo, QueueRef, Shelf};
use prometheus_client::registry::Registry;
use sources::{Metrics, Parts, Sources};
use view::{Ids, View};
use words::{Message, Outcome, QueueName, QueueSpec};

const PARTITIONS: u16 = 2;

const WORKFLOW: &str = "
name: orders
accept:
  schema: { type: object, required: [item] }
services: { a: { url: \"http://127.0.0.1:1\" } }
sources:
  - { type: queue, queue: orders, concurrency: 8 }
steps:
  one:
    call: { service: a, method: PUT, path: /one }
";

/// Notes which runs were called for.
#[derive(Default)]
struct Called(Mutex<BTreeSet<String>>);

impl Effects for Called {
    fn start(&self, order: Order) {
        self.0.lock().unwrap().insert(order.context.run_id.to_string());
        order.reply.tell(Outcome::Done { status: 200, output: Bytes::from_static(b"null") });
    }
}

struct Life {
    engine: Engine,
    control: Control<MemoryJournal>,
    parts: Option<Parts<MemoryJournal>>,
    called: Arc<Called>,
    _directory: tempfile::TempDir,
}

async fn live() -> Life {
    let journal = Arc::new(MemoryJournal::new());
    let directory = tempfile::tempdir().unwrap();
    let view = View::open(directory.path(), view::Settings::default()).unwrap();
    let (clock, ids) = (Clock::start(), Arc::new(Ids::new()));
    let control = Control::open(journal.clone(), clock.clone()).await.unwrap();
    let mut registry = Registry::default();
    let ingest = Arc::new(Ingest::new(
        journal.clone(),
        view.clone(),
        ids.clone(),
        clock.clone(),
        PARTITIONS,
        Admission::new(10_000, u64::MAX),
        ingest::Metrics::register(&mut registry),
    ));
    let called = Arc::new(Called::default());
    let engine = Engine::start(
        journal,
        view,
        ids,
        control.catalogs().clone(),
        called.clone(),
        clock,
        Settings::for_partitions(PARTITIONS),
        engine::Metrics::register(&mut registry),
    )
    .await;
    let parts = Parts {
        engine: engine.clone(),
        ingest,
        catalogs: control.catalogs().clone(),
        partitions: PARTITIONS,
        metrics: Metrics::register(&mut registry),
        brokers: Brokers::new(Arc::new(Anywhere)),
        login: |_| Ok(None),
    };
    Life { engine, control, parts: Some(parts), called, _directory: directory }
}

impl Life {
    async fn ask(&self, command: QueueCommand) -> QueueAnswer {
        self.engine.queue(partition_of(&name(), PARTITIONS), command).await.unwrap()
    }

    async fn send(&self, id: &str, body: &str) {
        let message = Message::new(id.to_owned(), body.to_owned());
        self.ask(QueueCommand::Send { to: name(), messages: vec![Outgoing { message, own_id: true }] }).await;
    }

    async fn peek(&self, shelf: Shelf) -> Vec<Peeked> {
        let at = QueueRef::queue(name());
        match self.ask(QueueCommand::Peek { at, shelf, from: MessageNo(0), max: 100 }).await {
            QueueAnswer::Peeked(peeked) => peeked,
            other => panic!("{other:?}"),
        }
    }
}

fn name() -> QueueName {
    QueueName::new("orders").unwrap()
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..3000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never: {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_starts_its_run_and_poison_is_parked_with_its_bytes() {
    let mut life = live().await;
    let sources = Sources::start(life.parts.take().unwrap());
    life.control.apply(WORKFLOW, "test", None).await.unwrap();
    // The queue comes after the workflow: the source waits for it.
    life.ask(QueueCommand::PutQueue { name: name(), spec: QueueSpec::default() }).await;
    for n in 0..40 {
        life.send(&format!("order-{n}"), "{\"item\": 1}").await;
    }
    life.send("bad-json", "{item").await;
    life.send("bad-shape", "{\"other\": 1}").await;
    let expected: BTreeSet<String> = (0..40).map(|n| format!("order-{n}")).collect();
    until("every message starts a run", async || *life.called.0.lock().unwrap() == expected).await;
    until("the queue is empty", async || life.peek(Shelf::Main).await.is_empty()).await;
    until("both are parked", async || life.peek(Shelf::Dead).await.len() == 2).await;
    let mut parked: Vec<_> = life.peek(Shelf::Dead).await;
    parked.sort_by(|a, b| a.message.id.cmp(&b.message.id));
    assert_eq!(parked[0].message.body, "{item");
    let why = parked[1].dead.as_ref().unwrap();
    assert_eq!(why.reason, "NotAccepted");
    assert!(why.description.contains("item"), "{}", why.description);
    sources.stop().await;
    life.send("late", "{\"item\": 1}").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(life.peek(Shelf::Main).await.len(), 1, "nothing is taken after the stop");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_is_deleted_takes_no_more() {
    let mut life = live().await;
    life.ask(QueueCommand::PutQueue { name: name(), spec: QueueSpec::default() }).await;
    let sources = Sources::start(life.parts.take().unwrap());
    life.control.apply(WORKFLOW, "test", None).await.unwrap();
    life.send("first", "{\"item\": 1}").await;
    until("the first is taken", async || life.called.0.lock().unwrap().contains("first")).await;
    life.control.delete(&words::WorkflowName::new("orders").unwrap(), "test").await.unwrap();
    let mut sent = 0;
    until("a message stays", async || {
        sent += 1;
        life.send(&format!("late-{sent}"), "{\"item\": 1}").await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        !life.peek(Shelf::Main).await.is_empty()
    })
    .await;
    sources.stop().await;
}
