//! Jobs over a memory journal, with a process that crashes at random in the middle of a burst: every occurrence is
//! fired once, under one key, and none is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use engine::jobs::{JobAnswer, JobCommand, JobReader, partition_of};
use engine::{CallOrder, Control, Effects, Engine, EngineMetrics, Settings};
use host::Clock;
use journal::Journal;
use journal::memory::MemoryJournal;
use kernel::Event;
use prometheus_client::registry::Registry;
use types::{JobState, Outcome, PartitionId, Recurrence, Rule, Seq, Span, Ticks, Uid};
use view::{Ids, View};

use crate::drafts::{COLLECTION, collection, job};

const PARTITIONS: u16 = 3;

/// What a target has received: how often each key, and in which order.
#[derive(Default)]
struct Target {
    seen: Mutex<BTreeMap<String, u32>>,
    draws: Mutex<u64>,
}

impl Target {
    fn draw(&self) -> u64 {
        let mut state = self.draws.lock().unwrap();
        *state = types::retry::mix(*state);
        *state
    }
}

struct Scripted(Arc<Target>);

impl Effects for Scripted {
    fn start(&self, order: CallOrder) {
        let target = self.0.clone();
        tokio::spawn(async move {
            let draw = target.draw();
            tokio::time::sleep(Duration::from_micros(draw % 3000)).await;
            *target.seen.lock().unwrap().entry(order.idempotency_key()).or_default() += 1;
            let reason = "down".to_owned();
            order.reply.report(match (draw >> 32) % 6 {
                0 => Outcome::Transient { status: Some(500), reason, retry_after: None },
                _ => Outcome::Done { status: 200, output: Bytes::from_static(b"null") },
            });
        });
    }
}

struct Life {
    journal: Arc<MemoryJournal>,
    engine: Engine,
    reader: JobReader,
    _directory: tempfile::TempDir,
}

async fn live(journal: Arc<MemoryJournal>, target: &Arc<Target>) -> Life {
    let directory = tempfile::tempdir().unwrap();
    let view = View::open(directory.path(), view::Settings::default()).unwrap();
    let clock = Clock::start();
    let control = Control::open(journal.clone(), clock.clone()).await.unwrap();
    let engine = Engine::start(
        journal.clone(),
        view.clone(),
        Arc::new(Ids::new()),
        control.catalogs().clone(),
        Arc::new(Scripted(target.clone())),
        clock,
        Settings::for_partitions(PARTITIONS),
        EngineMetrics::register(&mut Registry::default()),
    )
    .await;
    Life { journal, engine, reader: JobReader::new(view, PARTITIONS), _directory: directory }
}

impl Life {
    async fn ask(&self, command: JobCommand) -> JobAnswer {
        self.engine.job(partition_of(COLLECTION, PARTITIONS), command).await.unwrap()
    }

    async fn crash(self, target: &Arc<Target>) -> Life {
        // The old journal refuses everything, and a new process continues from its contents.
        live(Arc::new(self.journal.reopen()), target).await
    }

    async fn states(&self) -> Vec<JobState> {
        let collection = self.reader.collection(COLLECTION).unwrap().unwrap();
        let jobs = self.reader.jobs(&collection, None, usize::MAX).unwrap();
        jobs.iter().map(|job| job.progress.state).collect()
    }
}

/// The ids of all occurrences that were fired according to the journal, in order.
async fn fired(journal: &MemoryJournal) -> Vec<String> {
    let mut ids = Vec::new();
    for partition in (0..PARTITIONS).map(PartitionId) {
        for record in journal.read(partition, Seq(1), usize::MAX).await.unwrap() {
            for event in journal::codec::decode::<Vec<Event>>(&record.bytes).unwrap() {
                if let Event::Fired(fired) = event {
                    ids.push(fired.request.id.to_string());
                }
            }
        }
    }
    ids
}

async fn check_burst(seed: u64) {
    const JOBS: u8 = 60;
    let target = Arc::new(Target { draws: Mutex::new(seed), ..Target::default() });
    let mut life = live(Arc::new(MemoryJournal::new()), &target).await;
    life.ask(collection()).await;
    let start = Ticks::from(Clock::start().wall()) + Span::from_ms(1500);
    let mut expected = BTreeSet::new();
    for n in 0..JOBS {
        let at = start + Span::from_ms(target.draw() % 100);
        // Every third recurs every second, three times in all.
        let recurrence = (n % 3 == 0).then(|| Recurrence {
            rule: Rule::Cron("* * * * * *".parse().unwrap()),
            count: Some(3),
            end: None,
        });
        if recurrence.is_some() {
            let first = Ticks((at.0 + Ticks::PER_SECOND - 1) / Ticks::PER_SECOND * Ticks::PER_SECOND);
            expected.extend((0..3).map(|k| format!("{}.{}", Uid([n; 16]), first.0 + k * Ticks::PER_SECOND)));
        } else {
            expected.insert(format!("{}.{}", Uid([n; 16]), at.0));
        }
        life.ask(job(n, at, recurrence)).await;
    }
    for _ in 0..6 {
        tokio::time::sleep(Duration::from_millis(100 + target.draw() % 100)).await;
        life = life.crash(&target).await;
    }
    for _ in 0..5000 {
        if life.states().await.iter().all(|state| state.is_final()) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(life.states().await.iter().all(|state| *state == JobState::Completed), "seed {seed}");
    let fired = fired(&life.journal).await;
    assert_eq!(fired.len(), expected.len(), "seed {seed}: an occurrence was fired twice or forgotten");
    assert_eq!(fired.into_iter().collect::<BTreeSet<_>>(), expected, "seed {seed}");
    let keys: BTreeSet<_> = expected.iter().map(|id| format!("{id}/action/do")).collect();
    let seen: BTreeSet<_> = target.seen.lock().unwrap().keys().cloned().collect();
    assert_eq!(seen, keys, "seed {seed}: the target saw other keys");
}

// guards: 20
#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_firings_survives_crashes() {
    for seed in 1..=4 {
        check_burst(seed).await;
    }
}
