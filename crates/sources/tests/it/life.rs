//! One life of the process over a memory journal, with effects that note which runs were called for.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brokers::{Anywhere, Brokers, Login};
use bytes::Bytes;
use engine::queues::{Outgoing, Peeked, QueueAnswer, QueueCommand, partition_of};
use engine::{Control, Effects, Engine, Order, Settings};
use host::Clock;
use ingest::{Admission, Ingest};
use journal::memory::MemoryJournal;
use kernel::queue::{MessageNo, QueueRef, Shelf};
use prometheus_client::registry::Registry;
use sources::{Metrics, Parts};
use view::{Ids, View};
use words::{Message, Outcome, QueueName};

const PARTITIONS: u16 = 2;

/// Notes which runs were called for.
#[derive(Default)]
pub struct Called(pub Mutex<BTreeSet<String>>);

impl Effects for Called {
    fn start(&self, order: Order) {
        self.0.lock().unwrap().insert(order.context.run_id.to_string());
        order.reply.tell(Outcome::Done { status: 200, output: Bytes::from_static(b"null") });
    }
}

pub struct Life {
    pub engine: Engine,
    pub control: Control<MemoryJournal>,
    pub parts: Option<Parts<MemoryJournal>>,
    pub called: Arc<Called>,
    _directory: tempfile::TempDir,
}

pub async fn live() -> Life {
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
        login: |_| Ok(Some(Login { username: "guest".to_owned(), password: "guest".to_owned() })),
    };
    Life { engine, control, parts: Some(parts), called, _directory: directory }
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

    pub async fn peek(&self, queue: &str, shelf: Shelf) -> Vec<Peeked> {
        let at = QueueRef::queue(name(queue));
        match self.ask(queue, QueueCommand::Peek { at, shelf, from: MessageNo(0), max: 100 }).await {
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
