//! A partition whose next owner is on another machine: the whole view is there, or the partition reports what is
//! missing.

mod shared_journal;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use engine::jobs::{JobCommand, JobReader, partition_of as partition_of_jobs};
use engine::limits::{CLAIM_PATIENCE, RECOVERIES_MAX};
use engine::queues::{
    Outgoing, QueueAnswer, QueueCommand, QueueError, Receive, ReceiveMode, Received,
    partition_of as partition_of_queue,
};
use engine::{CallOrder, Control, Effects, Engine, EngineMetrics, RecoveryError, Settings};
use host::Clock;
use journal::memory::MemoryJournal;
use journal::{AppendError, Journal, Snapshot};
use kernel::Request;
use kernel::queue::{QueueRef, Settle, SubQueue};
use prometheus_client::registry::Registry;
use types::{BodyHash, Epoch, Message, Outcome, PartitionId, QueueName, QueueSpec, RunId, Seq, Span, Ticks};
use view::{EndedRun, Ids, View};

use shared_journal::SharedJournal;

use crate::drafts::{COLLECTION, collection, job};

const PARTITIONS: u16 = 1;
const P: PartitionId = PartitionId(0);
const RUNS: u32 = 200;

const WORKFLOW: &str = "
name: one
services: { a: { url: \"http://127.0.0.1:1\" } }
steps:
  one: { call: { service: a, method: PUT, path: /one } }
";

struct Willing;

impl Effects for Willing {
    fn start(&self, order: CallOrder) {
        order.reply.report(Outcome::Done { status: 200, output: Bytes::from_static(b"null") });
    }
}

/// One machine that owns all partitions.
struct Machine {
    journal: Arc<SharedJournal>,
    engine: Engine,
    view: View,
    reader: JobReader,
    directory: tempfile::TempDir,
    registry: Registry,
}

async fn machine(memory: MemoryJournal, tables: &Path, directory: tempfile::TempDir) -> Machine {
    machine_on(SharedJournal::new(memory, tables), directory).await
}

async fn machine_on(journal: SharedJournal, directory: tempfile::TempDir) -> Machine {
    let journal = Arc::new(journal);
    let view = View::open(directory.path(), view::Settings::default()).unwrap();
    let clock = Clock::start();
    let mut registry = Registry::default();
    let control = Control::open(journal.clone(), clock.clone()).await.unwrap();
    control.apply(WORKFLOW, "test", None).await.unwrap();
    let engine = Engine::start(
        journal.clone(),
        view.clone(),
        Arc::new(Ids::new()),
        control.catalogs().clone(),
        Arc::new(Willing),
        clock,
        Settings::for_partitions(PARTITIONS),
        EngineMetrics::register(&mut registry),
    )
    .await;
    Machine { journal, engine, reader: JobReader::new(view.clone(), PARTITIONS), view, directory, registry }
}

impl Machine {
    async fn hand_in(&self, number: u32) {
        let request = Request {
            accepted_at: Clock::start().now(),
            id: id(number),
            workflow: types::WorkflowName::new("one").unwrap(),
            version: 1,
            key: id(number).into(),
            body: Bytes::from_static(b"{}"),
            body_hash: BodyHash([number as u8; 16]),
            trace: None,
        };
        self.journal.inbox_append(P, vec![journal::codec::encode(&request)]).await.unwrap();
    }

    fn ended(&self, numbers: std::ops::Range<u32>) -> Vec<EndedRun> {
        numbers.filter_map(|number| self.view.run(&id(number), None).unwrap()).collect()
    }

    async fn all_end(&self, numbers: std::ops::Range<u32>) {
        wait(async || self.ended(numbers.clone()).len() == numbers.len()).await;
    }

    async fn send(&self, message: &str) {
        let message = Message::new(message.to_owned(), format!("body of {message}"));
        let command = QueueCommand::Send { to: queue(), messages: vec![Outgoing { message, own_id: true }] };
        self.engine.queue(partition_of_queue(&queue(), PARTITIONS), command).await.unwrap();
    }

    async fn receive(&self, max: usize) -> Vec<Received> {
        let receive = Receive {
            at: QueueRef::queue(queue()),
            sub_queue: SubQueue::Main,
            session: None,
            mode: ReceiveMode::Lock { lock: None },
            max,
            patience: Span::ZERO,
        };
        let partition = partition_of_queue(&queue(), PARTITIONS);
        match self.engine.queue(partition, QueueCommand::Receive(receive)).await.unwrap() {
            QueueAnswer::Received(received) => received,
            other => panic!("{other:?}"),
        }
    }

    async fn complete(&self, received: &Received) {
        let (token, _) = received.taken.lock.unwrap();
        let command = QueueCommand::Settle { at: QueueRef::queue(queue()), token, how: Settle::Complete };
        self.engine.queue(partition_of_queue(&queue(), PARTITIONS), command).await.unwrap();
    }

    async fn ask(&self, command: JobCommand) {
        self.engine.job(partition_of_jobs(COLLECTION, PARTITIONS), command).await.unwrap();
    }

    /// All jobs with their progress and their results.
    fn jobs(&self) -> String {
        let collection = self.reader.collection(COLLECTION).unwrap().unwrap();
        format!("{:?}", self.reader.jobs(&collection, None, usize::MAX).unwrap())
    }

    async fn snapshot(&self) {
        let tail = self.journal.read(P, self.snapshot_through().await.next(), usize::MAX).await.unwrap();
        let Some(last) = tail.last() else { return };
        self.engine.ask_snapshots();
        wait(async || self.snapshot_through().await >= last.seq).await;
    }

    async fn snapshot_through(&self) -> Seq {
        self.journal.snapshot_get(P).await.unwrap().map_or(Seq::ZERO, |snapshot| snapshot.through)
    }

    /// The values that alerts use.
    fn stopped_partitions(&self) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("sortie_stopped_partitions "));
        line.unwrap().to_owned()
    }

    async fn tail(&self) -> Seq {
        let frames = self.journal.read(P, self.snapshot_through().await.next(), usize::MAX).await.unwrap();
        frames.last().map_or(Seq::ZERO, |last| last.seq)
    }

    /// Another owner has the partition: nothing is damaged, and nothing is stopped.
    async fn is_overtaken(&self) {
        let taken = self.engine.take(P).await;
        let fenced = matches!(taken, Err(RecoveryError::Claim(AppendError::Fenced { .. })));
        assert!(fenced && self.engine.partitions().is_empty(), "{taken:?} {:?}", self.engine.partitions());
    }

    /// Stops this machine; another continues from the shared data.
    async fn leave(self) -> (MemoryJournal, PathBuf, tempfile::TempDir) {
        let (memory, tables) = (self.journal.memory.reopen(), self.journal.tables.clone());
        self.engine.drain(Duration::from_secs(30)).await;
        drop((self.engine, self.reader));
        let view = self.view;
        tokio::task::spawn_blocking(move || view.close()).await.unwrap();
        (memory, tables, self.directory)
    }
}

async fn wait(mut until: impl AsyncFnMut() -> bool) {
    for _ in 0..30_000 {
        if until().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("it does not come to that");
}

fn id(number: u32) -> RunId {
    RunId::new(&format!("r-{number}")).unwrap()
}

fn queue() -> QueueName {
    QueueName::new("orders").unwrap()
}

/// A machine with ended runs, jobs that have fired and that will fire, and messages.
async fn first(tables: &Path) -> Machine {
    let first = machine(MemoryJournal::new(), tables, tempfile::tempdir().unwrap()).await;
    for number in 0..RUNS {
        first.hand_in(number).await;
    }
    first.all_end(0..RUNS).await;
    first.ask(collection()).await;
    let now = Ticks::from(Clock::start().wall());
    first.ask(job(1, now, None)).await;
    first.ask(job(2, now + Span::from_secs(100_000), None)).await;
    wait(async || first.jobs().contains("Completed")).await;
    let put = QueueCommand::PutQueue { name: queue(), spec: QueueSpec::default() };
    first.engine.queue(partition_of_queue(&queue(), PARTITIONS), put).await.unwrap();
    for message in ["a", "b", "c"] {
        first.send(message).await;
    }
    first.complete(&first.receive(1).await[0]).await;
    first
}

// guards: 63
#[tokio::test(flavor = "multi_thread")]
async fn running_work_does_not_wait_for_an_inbox_that_is_silent() {
    let tables = tempfile::tempdir().unwrap();
    let machine = machine(MemoryJournal::new(), tables.path(), tempfile::tempdir().unwrap()).await;
    machine.journal.silent.send_modify(|silent| silent.inbox = true);
    machine.hand_in(1).await;
    let answered = tokio::time::timeout(Duration::from_secs(60), machine.ask(collection()));
    answered.await.expect("a job is kept meanwhile");
    assert!(machine.ended(1..2).is_empty());
    machine.journal.silent.send_modify(|silent| silent.inbox = false);
    machine.all_end(1..2).await;
    machine.leave().await;
}

// guards: 36
#[tokio::test(flavor = "multi_thread")]
async fn the_next_owner_on_another_disk_has_all_that_the_view_held() {
    let tables = tempfile::tempdir().unwrap();
    let first = first(tables.path()).await;
    first.snapshot().await;
    // What comes after the snapshot is replayed.
    first.hand_in(RUNS).await;
    first.all_end(RUNS..RUNS + 1).await;
    let (runs, jobs) = (first.ended(0..RUNS + 1), first.jobs());
    let (memory, tables, _first_disk) = first.leave().await;

    let second = machine(memory, &tables, tempfile::tempdir().unwrap()).await;
    assert_eq!(second.engine.partitions()[0].stopped, None);
    assert_eq!(second.ended(0..RUNS + 1), runs);
    assert_eq!(second.jobs(), jobs);
    assert_eq!(second.view.seen_in(P, &id(7)).unwrap(), Some(BodyHash([7; 16])));
    let received = second.receive(10).await;
    let bodies: Vec<_> = received.iter().map(|each| each.message.body.clone()).collect();
    assert_eq!(bodies, ["body of b", "body of c"]);
    // An id that has ended there is known here: a repeated request has no effect.
    second.hand_in(7).await;
    second.hand_in(RUNS + 1).await;
    second.all_end(RUNS + 1..RUNS + 2).await;
    assert_eq!(second.ended(0..RUNS + 1), runs);
    assert!(!second.directory.path().join("staging").read_dir().unwrap().flatten().any(|_| true));
}

// guards: 36
#[tokio::test(flavor = "multi_thread")]
async fn what_is_on_the_own_disk_counts_for_nothing() {
    let tables = tempfile::tempdir().unwrap();
    let first = first(tables.path()).await;
    first.snapshot().await;
    let (memory, tables, first_disk) = first.leave().await;
    let second = machine(memory, &tables, tempfile::tempdir().unwrap()).await;
    second.hand_in(RUNS).await;
    second.all_end(RUNS..RUNS + 1).await;
    second.snapshot().await;
    let (memory, tables, _) = second.leave().await;
    let third = machine(memory, &tables, first_disk).await;
    assert_eq!(third.engine.partitions()[0].stopped, None);
    assert_eq!(third.ended(0..RUNS + 1).len() as u32, RUNS + 1);
}

// guards: 36
#[tokio::test(flavor = "multi_thread")]
async fn tables_that_are_missing_stop_the_partition_and_are_named() {
    let tables = tempfile::tempdir().unwrap();
    let first = first(tables.path()).await;
    first.snapshot().await;
    let through = first.snapshot_through().await;
    let (memory, tables, first_disk) = first.leave().await;
    std::fs::remove_dir_all(tables.join(format!("0-{}", through.0))).unwrap();
    let second = machine(memory, &tables, first_disk).await;
    let stopped = second.engine.partitions()[0].stopped.clone().expect("an empty view is served");
    assert!(stopped.contains("current"), "{stopped}");
    assert_eq!(second.engine.partitions().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_stopped_is_a_stopped_one_until_a_take_succeeds() {
    let tables = tempfile::tempdir().unwrap();
    let first = first(tables.path()).await;
    first.snapshot().await;
    let kept = tables.path().join(format!("0-{}", first.snapshot_through().await.0));
    let (memory, tables, first_disk) = first.leave().await;
    let away = tables.join("away");
    std::fs::rename(&kept, &away).unwrap();
    let second = machine(memory, &tables, first_disk).await;
    second.engine.take(P).await.expect_err("the tables are away");
    assert_eq!(second.stopped_partitions(), "1");

    std::fs::rename(&away, &kept).unwrap();
    second.journal.silent.send_modify(|silent| silent.inbox = true);
    let engine = second.engine.clone();
    let take = tokio::spawn(async move { engine.take(P).await });
    // Only a take that has recovered everything but its inbox reads the tail.
    wait(async || second.journal.silent.receiver_count() > 0).await;
    assert_eq!(second.stopped_partitions(), "1");
    assert!(second.engine.partitions()[0].stopped.is_some());

    second.journal.silent.send_modify(|silent| silent.inbox = false);
    take.await.unwrap().unwrap();
    assert_eq!(second.stopped_partitions(), "0");
    second.all_end(0..RUNS).await;
}

// guards: 38
#[tokio::test(flavor = "multi_thread")]
async fn whoever_finds_a_snapshot_of_more_than_it_claimed_is_overtaken() {
    let tables = tempfile::tempdir().unwrap();
    let first = first(tables.path()).await;
    first.snapshot().await;
    let (memory, tables, first_disk) = first.leave().await;
    let ahead = Snapshot { through: Seq(100_000), ..memory.snapshot_get(P).await.unwrap().unwrap() };
    memory.snapshot_put(P, Epoch(1), ahead).await.unwrap();
    let second = machine(memory, &tables, first_disk).await;
    second.is_overtaken().await;
}

// guards: 38
#[tokio::test(flavor = "multi_thread")]
async fn a_last_snapshot_of_the_owner_before_is_gone_on_from() {
    let tables = tempfile::tempdir().unwrap();
    let first = first(tables.path()).await;
    first.snapshot().await;
    let older = first.journal.snapshot_get(P).await.unwrap().unwrap();
    for number in RUNS..RUNS + 50 {
        first.hand_in(number).await;
    }
    first.all_end(RUNS..RUNS + 50).await;
    first.snapshot().await;
    wait(async || first.journal.read(P, older.through.next(), 1).await.is_err()).await;
    let (memory, tables, first_disk) = first.leave().await;

    // The stale snapshot is found twice, so it counts as the newest, and the events after it are lost.
    let journal = SharedJournal::new(memory, &tables);
    *journal.older.lock().unwrap() = vec![older.clone(), older.clone()];
    let second = machine_on(journal, first_disk).await;
    let stopped = second.engine.partitions()[0].stopped.clone().expect("events are lost");
    assert!(stopped.contains("is missing"), "{stopped}");

    // The last snapshot arrived after the first lookup.
    *second.journal.older.lock().unwrap() = vec![older];
    second.engine.take(P).await.unwrap();
    assert_eq!(second.ended(0..RUNS + 50).len() as u32, RUNS + 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_another_owner_has_taken_are_not_damage() {
    let tables = tempfile::tempdir().unwrap();
    let first = first(tables.path()).await;
    let mut lost = first.engine.lost();
    first.journal.silent.send_modify(|silent| silent.inbox = true);
    first.hand_in(RUNS).await;
    let end = first.journal.inbox_tail(P).borrow().next();
    first.journal.trim(P, Epoch(1), Seq(1), end).await.unwrap();
    first.journal.silent.send_modify(|silent| silent.inbox = false);
    lost.wait_for(|count| *count > 0).await.unwrap();
    assert_eq!(first.engine.partitions(), []);

    // The same while it is taken: here the events show whether there is another owner.
    first.engine.take(P).await.unwrap_err();
    let stopped = first.engine.partitions()[0].stopped.clone().expect("nobody has taken them");
    assert!(stopped.contains("is gone"), "{stopped}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_overtaken_during_recovery_is_not_damage() {
    let tables = tempfile::tempdir().unwrap();
    let first = first(tables.path()).await;
    first.snapshot().await;
    let (memory, tables, first_disk) = first.leave().await;
    let second = machine(memory, &tables, first_disk).await;
    second.engine.release(P, Duration::from_secs(30)).await;
    second.hand_in(RUNS).await;
    second.journal.overtaken.store(true, Ordering::Relaxed);
    second.is_overtaken().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_released_in_mid_append_may_have_been_done_and_is_not_denied() {
    let tables = tempfile::tempdir().unwrap();
    let machine = first(tables.path()).await;
    let partition = partition_of_queue(&queue(), PARTITIONS);
    let before = machine.tail().await;
    machine.journal.silent.send_modify(|silent| silent.appends = true);
    let asked = tokio::spawn({
        let engine = machine.engine.clone();
        let message = Message::new("in doubt".to_owned(), "body".to_owned());
        let messages = vec![Outgoing { message, own_id: true }];
        async move { engine.queue(partition, QueueCommand::Send { to: queue(), messages }).await }
    });
    wait(async || machine.tail().await > before).await;
    assert!(!machine.engine.release(partition, Duration::ZERO).await);
    assert_eq!(asked.await.unwrap(), Err(QueueError::Unknown { partition }));
    machine.journal.silent.send_modify(|silent| silent.appends = false);
    machine.engine.take(partition).await.unwrap();
    let received = machine.receive(100).await;
    assert!(received.iter().any(|one| one.message.id == "in doubt"), "{received:?}");
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_nobody_answers_is_given_up_and_keeps_no_other_from_coming_back() {
    let (tables, disk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let machine = machine(MemoryJournal::shared(), tables.path(), disk).await;
    let unheard: Vec<_> = (10..10 + RECOVERIES_MAX as u16).map(PartitionId).collect();
    machine.journal.silent.send_modify(|silent| silent.claims.extend(&unheard));
    let begun = tokio::time::Instant::now();
    let takes = unheard.iter().map(|id| (machine.engine.clone(), *id));
    let takes: Vec<_> =
        takes.map(|(engine, id)| tokio::spawn(async move { engine.take(id).await })).collect();
    tokio::task::yield_now().await;
    machine.engine.take(PartitionId(1)).await.unwrap();
    assert!(begun.elapsed() < CLAIM_PATIENCE);
    for take in takes {
        let failed = take.await.unwrap();
        assert!(matches!(failed, Err(RecoveryError::Unanswered { .. })), "{failed:?}");
    }
    assert_eq!(machine.engine.held().into_keys().collect::<Vec<_>>(), [P, PartitionId(1)]);
    assert_eq!(machine.engine.partitions().len(), 2, "those are not stopped");
    machine.journal.silent.send_modify(|silent| silent.claims.clear());
    machine.engine.take(unheard[0]).await.unwrap();
}
