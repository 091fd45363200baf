//! Queues over a memory journal: competing consumers, waiting ones, ones that go away, and a process that crashes at
//! random. No confirmed message is lost, and none that was completed comes back.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::queues::{
    EntityKind, Outgoing, QueueAnswer, QueueCommand, QueueError, Receive, ReceiveMode, Received, partition_of,
};
use engine::{CallOrder, Control, Effects, Engine, EngineMetrics, Settings};
use host::Clock;
use journal::memory::MemoryJournal;
use kernel::queue::{QueueRef, QueueRejection, Settle, SubQueue};
use prometheus_client::registry::Registry;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use types::{Message, QueueName, QueueSpec, Span, TopicSpec};
use view::{Ids, View};

const PARTITIONS: u16 = 3;

struct Nobody;

impl Effects for Nobody {
    fn start(&self, _order: CallOrder) {
        panic!("queues call nobody");
    }
}

/// One life of the process. The next one gets the view's directory, like a disk.
#[derive(Clone)]
struct Life {
    journal: Arc<MemoryJournal>,
    engine: Engine,
    view: View,
    directory: Arc<tempfile::TempDir>,
}

async fn live(journal: Arc<MemoryJournal>, directory: Arc<tempfile::TempDir>) -> Life {
    live_with(u64::MAX, journal, directory).await
}

async fn live_with(
    memory_bytes_max: u64,
    journal: Arc<MemoryJournal>,
    directory: Arc<tempfile::TempDir>,
) -> Life {
    let view = open(directory.path()).await;
    let clock = Clock::start();
    let control = Control::open(journal.clone(), clock.clone()).await.unwrap();
    let engine = Engine::start(
        journal.clone(),
        view.clone(),
        Arc::new(Ids::new()),
        control.catalogs().clone(),
        Arc::new(Nobody),
        clock,
        Settings { snapshot_after_bytes: 20_000, memory_bytes_max, ..Settings::for_partitions(PARTITIONS) },
        EngineMetrics::register(&mut Registry::default()),
    )
    .await;
    Life { journal, engine, view, directory }
}

/// A snapshot of the previous process that is still running may keep the view open a little longer.
async fn open(directory: &Path) -> View {
    loop {
        match View::open(directory, view::Settings::default()) {
            Err(view::OpenError::InUse { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
            opened => return opened.unwrap(),
        }
    }
}

impl Life {
    async fn first() -> Life {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        live(Arc::new(MemoryJournal::new()), directory).await
    }

    async fn crash(self, clients: Vec<JoinHandle<()>>) -> Life {
        self.crash_into(u64::MAX, clients).await
    }

    /// The next process has this much memory.
    async fn crash_into(self, memory_bytes_max: u64, clients: Vec<JoinHandle<()>>) -> Life {
        // The old journal refuses everything, which ends every task that depends on it.
        let journal = Arc::new(self.journal.reopen());
        for client in clients {
            client.await.unwrap();
        }
        self.engine.drain(Duration::from_secs(10)).await;
        drop(self.engine);
        let view = self.view;
        tokio::task::spawn_blocking(move || view.close()).await.unwrap();
        live_with(memory_bytes_max, journal, self.directory).await
    }

    async fn ask(&self, command: QueueCommand) -> Result<QueueAnswer, QueueError> {
        self.engine.queue(partition_of(&name(), PARTITIONS), command).await
    }

    async fn put(&self, spec: QueueSpec) {
        self.ask(QueueCommand::PutQueue { name: name(), spec }).await.unwrap();
    }

    async fn send(&self, id: &str) -> Result<QueueAnswer, QueueError> {
        let message = Message::new(id.to_owned(), format!("body of {id}"));
        self.ask(QueueCommand::Send { to: name(), messages: vec![Outgoing { message, own_id: true }] }).await
    }

    async fn receive(&self, max: usize, patience: Span) -> Result<Vec<Received>, QueueError> {
        let receive = Receive {
            at: at(),
            sub_queue: SubQueue::Main,
            session: None,
            mode: ReceiveMode::Lock { lock: None },
            max,
            patience,
        };
        match self.ask(QueueCommand::Receive(receive)).await? {
            QueueAnswer::Received(received) => Ok(received),
            other => panic!("{other:?}"),
        }
    }

    async fn settle(&self, received: &Received, how: Settle) -> Result<QueueAnswer, QueueError> {
        let (token, _) = received.taken.lock.unwrap();
        self.ask(QueueCommand::Settle { at: at(), token, how }).await
    }
}

fn name() -> QueueName {
    QueueName::new("orders").unwrap()
}

fn at() -> QueueRef {
    QueueRef::queue(name())
}

#[tokio::test(flavor = "multi_thread")]
async fn with_too_little_memory_messages_are_refused_and_those_there_are_handled() {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let life = live_with(1, Arc::new(MemoryJournal::new()), directory).await;
    life.put(QueueSpec::default()).await;
    assert_eq!(life.send("a").await, Err(QueueError::NoMemory));
    let post = QueueCommand::Post { to: name(), kind: EntityKind::Queue, message: Message::new("a", "") };
    assert_eq!(life.ask(post).await, Err(QueueError::NoMemory));

    let life = Life::first().await;
    life.put(QueueSpec::default()).await;
    life.send("a").await.unwrap();
    let life = life.crash_into(1, Vec::new()).await;
    assert_eq!(life.send("b").await, Err(QueueError::NoMemory));
    let received = life.receive(10, Span::ZERO).await.unwrap();
    assert_eq!(received.len(), 1);
    life.settle(&received[0], Settle::Complete).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_from_inside_comes_to_what_its_sender_means() {
    let life = Life::first().await;
    let post = async |kind| {
        let message = Message::new("a", "body");
        life.ask(QueueCommand::Post { to: name(), kind, message }).await
    };
    let missing = Err(QueueError::Rejected(QueueRejection::NotFound(name())));
    assert_eq!(post(EntityKind::Queue).await, missing);
    assert_eq!(post(EntityKind::Topic).await, missing);
    assert!(matches!(post(EntityKind::MadeQueue).await, Ok(QueueAnswer::Sent(_))));
    assert_eq!(life.receive(10, Span::ZERO).await.unwrap().len(), 1, "the queue is made with its message");
    assert_eq!(post(EntityKind::Topic).await, Err(QueueError::Rejected(QueueRejection::IsQueue(name()))));
    life.ask(QueueCommand::Delete { at: at() }).await.unwrap();
    life.ask(QueueCommand::PutTopic { name: name(), spec: TopicSpec::default() }).await.unwrap();
    // A topic may have no subscription for the message.
    let is_topic = Err(QueueError::Rejected(QueueRejection::IsTopic(name())));
    assert_eq!(post(EntityKind::Queue).await, is_topic);
    assert_eq!(post(EntityKind::MadeQueue).await, is_topic);
    assert!(matches!(post(EntityKind::Topic).await, Ok(QueueAnswer::Sent(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_is_received_with_its_body_and_completed_once() {
    let life = Life::first().await;
    assert!(matches!(life.send("a").await, Err(QueueError::Rejected(QueueRejection::NotFound(_)))));
    life.put(QueueSpec::default()).await;
    life.send("a").await.unwrap();
    let received = life.receive(10, Span::ZERO).await.unwrap();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].message, Message::new("a", "body of a"));
    assert_eq!(life.receive(10, Span::ZERO).await.unwrap(), []);
    life.settle(&received[0], Settle::Complete).await.unwrap();
    let again = life.settle(&received[0], Settle::Complete).await;
    assert_eq!(again, Err(QueueError::Rejected(QueueRejection::LockLost)));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_is_served_in_turn_and_a_delivery_to_nobody_does_not_count() {
    let life = Life::first().await;
    life.put(QueueSpec { deliveries_max: 1, ..QueueSpec::default() }).await;
    // This consumer gives up before a message arrives.
    let gone = tokio::spawn({
        let life = life.clone();
        async move { life.receive(1, Span::from_secs(60)).await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    gone.abort();
    let _ = gone.await;
    let waiting = tokio::spawn({
        let life = life.clone();
        async move { life.receive(1, Span::from_secs(60)).await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    life.send("a").await.unwrap();
    let received = waiting.await.unwrap().unwrap();
    assert_eq!((received.len(), received[0].taken.deliveries), (1, 1));
    assert_eq!(life.receive(1, Span::from_ms(20)).await.unwrap(), [], "patience ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_expires_gives_the_message_to_another_and_poison_is_set_aside() {
    let life = Life::first().await;
    life.put(QueueSpec { lock: Span::from_ms(100), deliveries_max: 2, ..QueueSpec::default() }).await;
    life.send("a").await.unwrap();
    for delivery in 1..=2 {
        let received = life.receive(1, Span::from_secs(60)).await.unwrap();
        assert_eq!(received[0].taken.deliveries, delivery);
    }
    let dead = Receive {
        at: at(),
        sub_queue: SubQueue::Dead,
        session: None,
        mode: ReceiveMode::Lock { lock: Some(Span::from_secs(60)) },
        max: 1,
        patience: Span::from_secs(60),
    };
    let QueueAnswer::Received(dead) = life.ask(QueueCommand::Receive(dead)).await.unwrap() else { panic!() };
    assert_eq!(dead[0].message.body, "body of a");
    assert_eq!(dead[0].taken.dead.as_ref().unwrap().reason, "MaxDeliveryCountExceeded");
    assert_eq!(life.receive(1, Span::ZERO).await.unwrap(), []);
}

/// What producers and consumers have confirmed.
#[derive(Default)]
struct Ledger {
    confirmed: Mutex<BTreeSet<String>>,
    completed: Mutex<BTreeSet<String>>,
    unsure: Mutex<BTreeSet<String>>,
    next: AtomicU64,
}

async fn produce(life: Life, ledger: Arc<Ledger>) {
    loop {
        let id = ledger.next.fetch_add(1, Ordering::Relaxed).to_string();
        match life.send(&id).await {
            Ok(_) => drop(ledger.confirmed.lock().await.insert(id)),
            Err(_) => return,
        }
    }
}

async fn consume(life: Life, ledger: Arc<Ledger>, nth: u64) {
    loop {
        let Ok(received) = life.receive(4, Span::from_secs(1)).await else { return };
        for (n, one) in received.iter().enumerate() {
            let id = one.message.id.clone();
            assert!(!ledger.completed.lock().await.contains(&id), "{id} was completed and came back");
            // Some consumers are killed while they process a message.
            if (nth + n as u64).is_multiple_of(7) {
                continue;
            }
            match life.settle(one, Settle::Complete).await {
                Ok(_) => drop(ledger.completed.lock().await.insert(id)),
                Err(QueueError::Rejected(QueueRejection::LockLost)) => {}
                // It may have become durable before the crash.
                Err(_) => drop(ledger.unsure.lock().await.insert(id)),
            }
        }
    }
}

// guards: 26
#[tokio::test(flavor = "multi_thread")]
async fn under_crashes_nothing_confirmed_is_lost_and_nothing_completed_comes_back() {
    let ledger = Arc::new(Ledger::default());
    let mut life = Life::first().await;
    life.put(QueueSpec { lock: Span::from_ms(300), deliveries_max: 1000, ..QueueSpec::default() }).await;
    for _ in 0..6 {
        let mut tasks = Vec::new();
        for n in 0..4 {
            tasks.push(tokio::spawn(produce(life.clone(), ledger.clone())));
            tasks.push(tokio::spawn(consume(life.clone(), ledger.clone(), n)));
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
        life = life.crash(tasks).await;
    }
    let confirmed = ledger.confirmed.lock().await.clone();
    let completed = ledger.completed.lock().await.clone();
    let unsure = ledger.unsure.lock().await.clone();
    let mut left = BTreeSet::new();
    loop {
        let received = life.receive(100, Span::from_secs(2)).await.unwrap();
        if received.is_empty() {
            break;
        }
        for one in received {
            assert_eq!(one.message.body, format!("body of {}", one.message.id));
            assert!(!completed.contains(&one.message.id), "{} came back", one.message.id);
            life.settle(&one, Settle::Complete).await.unwrap();
            left.insert(one.message.id);
        }
    }
    let lost: Vec<_> = confirmed
        .iter()
        .filter(|id| !completed.contains(*id) && !left.contains(*id) && !unsure.contains(*id))
        .collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    assert!(confirmed.len() > 100 && completed.len() > 50, "{} {}", confirmed.len(), completed.len());
}
