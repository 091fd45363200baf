//! Partitions that change owners: two engines over one journal, as on two machines.

use std::sync::Arc;
use std::time::Duration;

use engine::queues::{Outgoing, QueueAnswer, QueueCommand, QueueError, partition_of};
use engine::{
    ApplyError, CallOrder, Control, Effects, Engine, EngineMetrics, ExpectedVersion, KeepError, Settings,
};
use host::Clock;
use journal::memory::MemoryJournal;
use kernel::queue::{QueueRef, SubQueue};
use prometheus_client::registry::Registry;
use types::{Message, PartitionId, QueueName, QueueSpec};
use view::{Ids, PartitionState, View};

const PARTITIONS: u16 = 4;
const WORKFLOW: &str = "name: w\nservices: { a: { url: \"http://127.0.0.1:1\" } }\nsteps: { s: { call: { service: a, method: GET, path: / } } }\n";

struct Nobody;

impl Effects for Nobody {
    fn start(&self, _order: CallOrder) {
        panic!("queues call nobody");
    }
}

struct Instance {
    engine: Engine,
    control: Control,
    ids: Arc<Ids>,
    _directory: tempfile::TempDir,
}

fn instance(journal: &Arc<MemoryJournal>) -> Instance {
    let directory = tempfile::tempdir().unwrap();
    let view = View::open(directory.path(), view::Settings::default()).unwrap();
    let (clock, ids) = (Clock::start(), Arc::new(Ids::new()));
    let control = Control::follow(journal.clone(), clock.clone());
    let engine = Engine::new(
        journal.clone(),
        view,
        ids.clone(),
        control.catalogs().clone(),
        Arc::new(Nobody),
        clock,
        Settings::for_partitions(PARTITIONS),
        EngineMetrics::register(&mut Registry::default()),
    );
    Instance { engine, control, ids, _directory: directory }
}

fn name() -> QueueName {
    QueueName::new("orders").unwrap()
}

fn home() -> PartitionId {
    partition_of(&name(), PARTITIONS)
}

impl Instance {
    async fn put(&self) -> Result<QueueAnswer, QueueError> {
        let command = QueueCommand::PutQueue { name: name(), spec: QueueSpec::default() };
        self.engine.queue(home(), command).await
    }

    async fn send(&self, id: &str) -> Result<QueueAnswer, QueueError> {
        let message = Message::new(id.to_owned(), "body".to_owned());
        let messages = vec![Outgoing { message, own_id: true }];
        self.engine.queue(home(), QueueCommand::Send { to: name(), messages }).await
    }

    async fn ids_waiting(&self) -> Vec<String> {
        let at = QueueRef::queue(name());
        let peek = QueueCommand::Peek { at, sub_queue: SubQueue::Main, from: Default::default(), max: 100 };
        match self.engine.queue(home(), peek).await.unwrap() {
            QueueAnswer::Peeked(peeked) => peeked.into_iter().map(|one| one.message.id).collect(),
            other => panic!("{other:?}"),
        }
    }
}

// guards: 31
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_was_overtaken_is_refused_and_forgets() {
    let journal = Arc::new(MemoryJournal::shared());
    let (first, second) = (instance(&journal), instance(&journal));
    let epoch = first.engine.take(home()).await.unwrap();
    first.put().await.unwrap();
    first.send("before").await.unwrap();
    assert!(matches!(second.send("nowhere").await, Err(QueueError::NotHeld { .. })));

    let mut lost = first.engine.lost();
    assert!(second.engine.take(home()).await.unwrap() > epoch);
    assert!(first.send("too late").await.is_err(), "the journal refuses it");
    lost.wait_for(|count| *count == 1).await.unwrap();
    assert!(!first.engine.holds(home()));
    assert_eq!(first.ids.partition_state(home()), PartitionState::Elsewhere);
    assert!(matches!(first.send("later").await, Err(QueueError::NotHeld { .. })));
    second.send("after").await.unwrap();
    assert_eq!(second.ids_waiting().await, ["before", "after"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_partition_can_be_taken_by_the_next_and_back() {
    let journal = Arc::new(MemoryJournal::shared());
    let (first, second) = (instance(&journal), instance(&journal));
    first.engine.take(home()).await.unwrap();
    first.put().await.unwrap();
    let mut sent = Vec::new();
    for round in 0..3 {
        let (from, to) = if round % 2 == 0 { (&first, &second) } else { (&second, &first) };
        sent.push(format!("message {round}"));
        from.send(&sent[round]).await.unwrap();
        assert!(from.engine.release(home(), Duration::from_secs(30)).await);
        assert!(!from.engine.holds(home()));
        to.engine.take(home()).await.unwrap();
        assert_eq!(to.ids_waiting().await, sent);
    }
}

// guards: 42
#[tokio::test(flavor = "multi_thread")]
async fn workflows_are_changed_by_one_and_seen_by_all() {
    let journal = Arc::new(MemoryJournal::shared());
    let (first, second) = (instance(&journal), instance(&journal));
    assert!(matches!(first.control.apply(WORKFLOW, "a", None).await, Err(ApplyError::NotHeld)));
    first.control.take().await.unwrap();
    first.control.apply(WORKFLOW, "a", None).await.unwrap();
    second.control.look().await.unwrap();
    assert_eq!(second.control.catalogs().load().all().count(), 1);

    second.control.take().await.unwrap();
    let changed = WORKFLOW.replace("GET", "PUT");
    assert!(first.control.apply(&changed, "a", None).await.is_err(), "overtaken");
    assert!(matches!(first.control.apply(&changed, "a", None).await, Err(ApplyError::NotHeld)));
    assert_eq!(second.control.apply(&changed, "b", None).await.unwrap().version, 2);
    first.control.look().await.unwrap();
    let name = types::WorkflowName::new("w").unwrap();
    assert_eq!(first.control.catalogs().load().current(&name).unwrap().version, 2);
}

// guards: 49
#[tokio::test(flavor = "multi_thread")]
async fn documents_are_kept_by_one_and_seen_by_all_through_takeover_and_restart() {
    let journal = Arc::new(MemoryJournal::shared());
    let (first, second) = (instance(&journal).control, instance(&journal).control);
    let keep = async |control: &Control, name: &str, text: Option<&str>, expected| {
        control.keep("bulk", name, text.map(str::to_owned), "ada", expected).await
    };
    assert!(matches!(keep(&first, "a", Some("1"), ExpectedVersion::Anything).await, Err(KeepError::NotHeld)));
    first.take().await.unwrap();
    first.apply(WORKFLOW, "a", None).await.unwrap();
    let version = keep(&first, "a", Some("1"), ExpectedVersion::Absent).await.unwrap().unwrap();
    let absent = keep(&first, "a", Some("2"), ExpectedVersion::Absent).await;
    assert!(matches!(absent, Err(KeepError::Changed { current }) if current == Some(version)));
    assert_eq!(
        keep(&first, "a", Some("1"), ExpectedVersion::Anything).await.unwrap(),
        Some(version),
        "the same"
    );
    let next = keep(&first, "a", Some("2"), ExpectedVersion::Version(version)).await.unwrap().unwrap();
    assert!(next > version);
    keep(&first, "b", Some("3"), ExpectedVersion::Anything).await.unwrap();

    let mut seen = second.documents().watch();
    second.look().await.unwrap();
    assert!(seen.has_changed().unwrap());
    assert_eq!(second.documents().load(), first.documents().load());
    seen.mark_unchanged();
    second.look().await.unwrap();
    assert!(!seen.has_changed().unwrap(), "nothing is new");

    second.take().await.unwrap();
    assert!(keep(&first, "b", None, ExpectedVersion::Anything).await.is_err(), "overtaken");
    assert_eq!(keep(&second, "b", None, ExpectedVersion::Anything).await.unwrap(), None);
    assert_eq!(keep(&second, "b", None, ExpectedVersion::Anything).await.unwrap(), None, "already gone");
    let again = keep(&second, "b", Some("4"), ExpectedVersion::Absent).await.unwrap().unwrap();
    assert!(again > next, "a name that was free never has an old version again");
    first.look().await.unwrap();
    assert_eq!(first.documents().load(), second.documents().load());

    let restarted = Control::open(Arc::new(journal.reopen()), Clock::start()).await.unwrap();
    assert_eq!(restarted.documents().load(), second.documents().load());
    let documents = restarted.documents().load();
    let all: Vec<_> =
        documents.all("bulk").map(|(name, document)| (name, &*document.text, &*document.by)).collect();
    assert_eq!(all, [("a", "2", "ada"), ("b", "4", "ada")]);
    assert_eq!(restarted.catalogs().load().all().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reread_is_done_by_followers_and_not_by_the_owner() {
    let journal = Arc::new(MemoryJournal::shared());
    let (first, second) = (instance(&journal).control, instance(&journal).control);
    let keep = async |control: &Control, text: &str, expected| {
        control.keep("bulk", "a", Some(text.to_owned()), "ada", expected).await
    };
    first.take().await.unwrap();
    let version = keep(&first, "1", ExpectedVersion::Absent).await.unwrap().unwrap();
    first.forget().await;
    first.look().await.unwrap();
    let next = keep(&first, "2", ExpectedVersion::Version(version)).await.unwrap().unwrap();
    assert_eq!(first.documents().load().get("bulk", "a").unwrap().version, next);

    second.look().await.unwrap();
    first.forget().await;
    first.release().await;
    second.take().await.unwrap();
    keep(&second, "3", ExpectedVersion::Version(next)).await.unwrap();
    first.look().await.unwrap();
    assert_eq!(first.documents().load(), second.documents().load());
}
