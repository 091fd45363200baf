//! The engine over a memory journal, with services that fail at random and a process that crashes at random:
//! every accepted request ends exactly once, and the services' ledger agrees with how it ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use engine::{CallOrder, Catalogs, Control, Effects, Engine, EngineMetrics, Settings};
use host::Clock;
use journal::Journal;
use journal::memory::MemoryJournal;
use kernel::{Command, Event, Request};
use prometheus_client::registry::Registry;
use types::{BodyHash, Outcome, PartitionId, RunId, RunStatus, Seq, Work};
use view::{Ids, View};

const PARTITIONS: u16 = 3;

const WORKFLOW: &str = "
name: three
services: { a: { url: \"http://127.0.0.1:1\" } }
steps:
  one:
    call: { service: a, method: PUT, path: /one }
    undo: { service: a, method: DELETE, path: /one }
  two:
    call: { service: a, method: PUT, path: /two }
    undo: { service: a, method: DELETE, path: /two }
  three:
    after: [one, two]
    call: { service: a, method: PUT, path: /three }
    undo: { service: a, method: DELETE, path: /three }
    pivot: true
retry: { type: fixed, delay: 1ms, attempts: 3 }
undo_retry: { type: fixed, delay: 1ms, attempts: 1000 }
";

/// A service that honours keys and tombstones, and the random failures to inject.
#[derive(Default)]
struct Services {
    ledger: Mutex<BTreeMap<(RunId, u16), Entry>>,
    draws: Mutex<u64>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Entry {
    effects: u32,
    in_effect: bool,
    tombstone: bool,
}

impl Services {
    fn draw(&self) -> u64 {
        let mut state = self.draws.lock().unwrap();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ (z >> 27)
    }

    fn reach(&self, run: &RunId, work: Work) -> Outcome {
        let step = work.step().unwrap();
        let mut ledger = self.ledger.lock().unwrap();
        let entry = ledger.entry((run.clone(), step.0)).or_default();
        match work {
            Work::Undo(_) => {
                entry.tombstone = true;
                entry.in_effect = false;
            }
            _ if entry.tombstone => return Outcome::Refused { status: Some(410), reason: "gone".to_owned() },
            _ if !entry.in_effect => {
                entry.in_effect = true;
                entry.effects += 1;
            }
            _ => {}
        }
        Outcome::Done { status: 200, output: Bytes::from_static(b"null") }
    }
}

struct Scripted(Arc<Services>);

impl Effects for Scripted {
    fn start(&self, order: CallOrder) {
        let services = self.0.clone();
        tokio::spawn(async move {
            let draw = services.draw();
            tokio::time::sleep(Duration::from_micros(draw % 800)).await;
            let (run, work) = (order.context.run_id.clone(), order.work);
            let lost = || Outcome::Unknown { reason: "no answer".to_owned() };
            let forward = matches!(work, Work::Do(_));
            match (draw >> 32) % 20 {
                0 if forward => {
                    order.reply.report(Outcome::Refused { status: Some(409), reason: "no".to_owned() });
                }
                1 | 2 => {
                    let reason = "down".to_owned();
                    order.reply.report(Outcome::Transient { status: Some(503), reason, retry_after: None });
                }
                3 => {
                    services.reach(&run, work);
                    order.reply.report(lost());
                }
                4 => order.reply.report(lost()),
                // Dropped: the reply itself says that the outcome is unknown.
                5 => drop(order),
                _ => order.reply.report(services.reach(&run, work)),
            }
        });
    }
}

/// One life of the process.
struct Life {
    journal: Arc<MemoryJournal>,
    engine: Engine,
    view: View,
    ids: Arc<Ids>,
    _directory: tempfile::TempDir,
}

async fn live(journal: Arc<MemoryJournal>, services: &Arc<Services>) -> Life {
    live_with(journal, services, 16).await
}

async fn live_with(journal: Arc<MemoryJournal>, services: &Arc<Services>, calls_max: usize) -> Life {
    let settings = Settings { calls_max_per_partition: calls_max, ..Settings::for_partitions(PARTITIONS) };
    live_under(journal, services, settings).await
}

async fn live_under(journal: Arc<MemoryJournal>, services: &Arc<Services>, settings: Settings) -> Life {
    let directory = tempfile::tempdir().unwrap();
    let view = View::open(directory.path(), view::Settings::default()).unwrap();
    let clock = Clock::start();
    let control = Control::open(journal.clone(), clock.clone()).await.unwrap();
    control.apply(WORKFLOW, "test", None).await.unwrap();
    let catalogs: Catalogs = control.catalogs().clone();
    let ids = Arc::new(Ids::new());
    let engine = Engine::start(
        journal.clone(),
        view.clone(),
        ids.clone(),
        catalogs,
        Arc::new(Scripted(services.clone())),
        clock,
        settings,
        EngineMetrics::register(&mut Registry::default()),
    )
    .await;
    Life { journal, engine, view, ids, _directory: directory }
}

fn request(n: usize) -> Request {
    let id = RunId::new(&format!("r-{n}")).unwrap();
    Request {
        accepted_at: Clock::start().now(),
        id: id.clone(),
        workflow: types::WorkflowName::new("three").unwrap(),
        version: 1,
        key: id.into(),
        body: Bytes::from_static(b"{}"),
        body_hash: BodyHash([1; 16]),
        trace: None,
    }
}

async fn all_taken(life: &Life) -> bool {
    for partition in (0..PARTITIONS).map(PartitionId) {
        let tail = *life.journal.inbox_tail(partition).borrow();
        if life.engine.query(partition, |state| state.inbox_through()).await.unwrap() < tail {
            return false;
        }
    }
    true
}

/// How often each id was accepted according to the journal.
async fn accepted(journal: &MemoryJournal) -> BTreeMap<RunId, usize> {
    let mut counts = BTreeMap::new();
    for partition in (0..PARTITIONS).map(PartitionId) {
        for record in journal.read(partition, Seq(1), usize::MAX).await.unwrap() {
            for event in journal::codec::decode::<Vec<Event>>(&record.bytes).unwrap() {
                if let Event::Accepted(accepted) = event {
                    *counts.entry(accepted.request.id).or_default() += 1;
                }
            }
        }
    }
    counts
}

async fn check_seed(seed: u64) {
    const RUNS: usize = 60;
    let services = Arc::new(Services { draws: Mutex::new(seed), ..Services::default() });
    let mut life = live(Arc::new(MemoryJournal::new()), &services).await;
    for n in 0..RUNS {
        let request = request(n);
        let partition = PartitionId::of(&request.key, PARTITIONS);
        // Every fifth is submitted twice, and results in one run.
        let copies = if n % 5 == 0 { 2 } else { 1 };
        let records = vec![journal::codec::encode(&request); copies];
        life.journal.inbox_append(partition, records).await.unwrap();
        if services.draw().is_multiple_of(8) {
            // The crash: the old journal refuses everything, and a new process continues from its contents.
            let journal = Arc::new(life.journal.reopen());
            life = live(journal, &services).await;
        }
    }
    let mut endings = BTreeMap::new();
    for _ in 0..20_000 {
        for n in 0..RUNS {
            let id = request(n).id;
            if let Some(ended) = life.view.run(&id, None).unwrap() {
                endings.insert(id, ended.status);
            }
        }
        if endings.len() == RUNS {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(endings.len(), RUNS, "seed {seed}: {:?}", life.engine.partitions());
    // Submitted once more, when all have ended: it has no effect.
    for n in 0..RUNS {
        let request = request(n);
        let partition = PartitionId::of(&request.key, PARTITIONS);
        life.journal.inbox_append(partition, vec![journal::codec::encode(&request)]).await.unwrap();
    }
    while !all_taken(&life).await {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(
        accepted(&life.journal).await,
        endings.keys().map(|id| (id.clone(), 1)).collect(),
        "seed {seed}"
    );
    // No call may be in flight when the ledger is read.
    assert!(life.engine.drain(Duration::from_secs(10)).await);
    let ledger = services.ledger.lock().unwrap();
    for ((id, step), entry) in ledger.iter() {
        assert!(entry.effects <= 1, "seed {seed}: {id} step {step} has {} effects", entry.effects);
        let in_effect = endings[id] == RunStatus::Completed;
        assert_eq!(
            entry.in_effect, in_effect,
            "seed {seed}: {id} is {} with step {step} {entry:?}",
            endings[id]
        );
    }
    let undone = endings.values().filter(|status| **status == RunStatus::Undone).count();
    assert!(undone > 0 && undone < RUNS, "seed {seed}: {undone} undone");
}

// guards: 2, 9
#[tokio::test(flavor = "multi_thread")]
async fn every_accepted_request_ends_once_whatever_fails() {
    for seed in 1..=12 {
        check_seed(seed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_requests_that_wait_together_do_not_stop_their_partition() {
    const RUNS: usize = 40;
    let services = Arc::new(Services::default());
    let journal = Arc::new(MemoryJournal::new());
    for n in 0..RUNS {
        let body = Bytes::from(format!("\"{}\"", "x".repeat(300 << 10)));
        let request = Request { body, ..request(n) };
        journal.inbox_append(PartitionId(0), vec![journal::codec::encode(&request)]).await.unwrap();
    }
    // 12 MB wait, and only the limit keeps them from one frame of more than 4 MiB.
    let life = live_with(journal, &services, 1000).await;
    let ended = || (0..RUNS).filter(|n| life.view.run(&request(*n).id, None).unwrap().is_some()).count();
    for _ in 0..20_000 {
        if ended() == RUNS {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(ended(), RUNS, "{:?}", life.engine.partitions());
}

/// Submits a request to each partition while so many clients wait that ingest goes first.
async fn hand_in_during_a_spike(life: &Life) {
    for partition in (0..PARTITIONS).map(PartitionId) {
        let request = journal::codec::encode(&request(partition.0.into()));
        life.journal.inbox_append(partition, vec![request]).await.unwrap();
    }
}

async fn are_taken(life: &Life) {
    for _ in 0..5_000 {
        if all_taken(life).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("requests wait, and nobody takes them");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_wait_on_disk_while_many_clients_wait_for_their_yes() {
    let services = Arc::new(Services::default());
    let life = live(Arc::new(MemoryJournal::new()), &services).await;
    let crowd: Vec<_> = (0..=engine::limits::ENTERING_MAX).map(|_| life.ids.count_client()).collect();
    hand_in_during_a_spike(&life).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    for partition in (0..PARTITIONS).map(PartitionId) {
        let through = life.engine.query(partition, |state| state.inbox_through()).await.unwrap();
        assert_eq!(through, Seq::ZERO, "{partition} took a request while a spike was on");
    }
    drop(crowd);
    are_taken(&life).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spike_that_no_longer_fits_holds_nothing_back() {
    let services = Arc::new(Services::default());
    let settings = Settings { spike_unfinished_max: 0, ..Settings::for_partitions(PARTITIONS) };
    let life = live_under(Arc::new(MemoryJournal::new()), &services, settings).await;
    let _crowd: Vec<_> = (0..=engine::limits::ENTERING_MAX).map(|_| life.ids.count_client()).collect();
    hand_in_during_a_spike(&life).await;
    are_taken(&life).await;
}

// guards: 48
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_turns_back_while_its_calls_are_held_ends_when_they_may_leave() {
    let services = Arc::new(Services::default());
    let life = live(Arc::new(MemoryJournal::new()), &services).await;
    life.engine.hold_calls(true);
    hand_in_during_a_spike(&life).await;
    are_taken(&life).await;
    for partition in (0..PARTITIONS).map(PartitionId) {
        let id = request(partition.0.into()).id;
        life.engine
            .command(partition, id, "test".to_owned(), Command::Cancel { pending: false })
            .await
            .unwrap();
    }
    life.engine.hold_calls(false);
    let is_ended = |n: u16| life.view.run(&request(n.into()).id, None).unwrap().is_some();
    for _ in 0..5_000 {
        if (0..PARTITIONS).all(is_ended) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("a run whose call never left waits for its answer");
}
