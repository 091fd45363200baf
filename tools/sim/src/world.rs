//! What outlives the process: time, the disk, the network, the services, the clients, and the checkers.

mod agenda;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use engine::Catalog;
use journal_disk::simdisk::SimDisk;
use tokio::sync::Notify;
use tokio::time::Instant;
use types::{Outcome, PartitionId, Timestamp};

use crate::checkers::{Audit, Checkers, Violation};
use crate::clients::Client;
use crate::coverage::{Coverage, Situation};
use crate::editors::Editor;
use crate::figures::Figures;
use crate::history::History;
use crate::job_model::JobModel;
use crate::observation::{DurableEvent, Observation};
use crate::plan::{Plan, ServiceFaults};
use crate::process::Found;
use crate::queue_model::QueueModel;
use crate::services::Ledger;
use crate::traffic::Traffic;

pub use agenda::Task;

/// A simulation, shared by everything that takes part in it.
pub struct Sim {
    world: Mutex<World>,
    /// Something is to be done sooner than was thought, or the process is dead.
    pub wake: Notify,
}

/// The state of a simulation.
pub struct World {
    pub plan: Plan,
    pub disk: SimDisk,
    /// The disk when everything had come to rest.
    pub disk_at_rest: Option<SimDisk>,
    pub agenda: agenda::Agenda,
    /// Counts the lives of the process.
    pub life: u32,
    pub healed: bool,
    /// When the last operation so far was executed, in ms.
    pub played_at: u64,
    /// How the present life ends, once it is clear that it does.
    pub death: Option<Death>,
    /// What a death in the middle of a disk operation will be like.
    pub ordered_death: Death,
    /// How often the process will still die while it comes back.
    pub nested: u8,
    /// How often in a row it has died while it came back.
    pub died_starting: u32,
    pub slow: (u64, u64),
    pub outage_until: u64,
    pub calls: u64,
    /// The calls that have reached their services.
    pub arrived: BTreeSet<u64>,
    /// The answers of services that are on their way back.
    pub answers: BTreeMap<u64, Outcome>,
    pub clients: BTreeMap<u32, Client>,
    pub editors: BTreeMap<u32, Editor>,
    pub traffic: Traffic,
    pub history: History,
    pub job_model: JobModel,
    pub queue_model: QueueModel,
    /// What the wall clock showed when the newest frame of a partition was first offered.
    offered: BTreeMap<PartitionId, (u32, types::Seq, u64, Timestamp)>,
    pub ledger: Ledger,
    pub checkers: Checkers,
    pub coverage: Coverage,
    pub figures: Figures,
    catalog: Arc<Catalog>,
    /// The time in ms when the present life began, and the runtime's clock then.
    began: (u64, Option<Instant>),
    /// How far the wall clock was set, before this life and in it.
    set_before_ms: i64,
    set_ms: Arc<AtomicI64>,
    trace: DefaultHasher,
    print: bool,
}

/// How a life of the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Death {
    /// The machine loses power as well.
    pub power: bool,
    pub down_ms: u64,
}

impl Sim {
    pub fn new(plan: Plan, print: bool) -> Sim {
        let disk = SimDisk::new(crate::rng::hash(&(plan.seed, "disk")));
        let world = World {
            agenda: agenda::Agenda::of(&plan),
            disk,
            disk_at_rest: None,
            life: 0,
            healed: false,
            played_at: 0,
            death: None,
            ordered_death: Death::default(),
            nested: 0,
            died_starting: 0,
            slow: (0, 0),
            outage_until: 0,
            calls: 0,
            arrived: BTreeSet::new(),
            answers: BTreeMap::new(),
            clients: BTreeMap::new(),
            editors: BTreeMap::new(),
            traffic: Traffic::default(),
            history: History::default(),
            job_model: JobModel::default(),
            queue_model: QueueModel::default(),
            offered: BTreeMap::new(),
            ledger: Ledger::default(),
            checkers: Checkers::new(&plan.limits),
            coverage: Coverage::default(),
            figures: Figures::default(),
            catalog: Arc::default(),
            began: (0, None),
            set_before_ms: 0,
            set_ms: Arc::default(),
            trace: DefaultHasher::new(),
            print,
            plan,
        };
        Sim { world: Mutex::new(world), wake: Notify::new() }
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("a simulation that panicked is over")
    }

    /// The process ends here and now: nothing that it still does counts.
    pub fn die(&self, death: Death) {
        self.world().death.get_or_insert(death);
        self.wake.notify_one();
    }

    /// Notices that the disk has taken the process with it.
    pub fn look_for_death(&self) {
        let mut world = self.world();
        if world.disk.is_dead() && world.death.is_none() {
            world.coverage.note(Situation::DiedInOperation);
            let death = world.ordered_death;
            drop(world);
            self.die(death);
        }
    }
}

impl World {
    /// A new life of the process begins in a new runtime.
    pub fn begin_life(&mut self) {
        self.life += 1;
        self.death = None;
        self.answers.clear();
        self.set_before_ms += self.set_ms.swap(0, Ordering::Relaxed);
        self.set_ms = Arc::default();
        self.began = (self.began.0, Some(Instant::now()));
        if self.nested > 0 {
            self.nested -= 1;
            let disk_operations = crate::rng::hash(&(self.plan.seed, self.life, "nested")) % 40;
            self.disk.die_after(disk_operations);
        }
    }

    /// The runtime ends; time goes on without it.
    pub fn end_life(&mut self) {
        self.began = (self.now(), None);
    }

    /// Time passes while no process runs.
    pub fn pass(&mut self, ms: u64) {
        self.began.0 += ms;
    }

    /// Milliseconds since the beginning.
    pub fn now(&self) -> u64 {
        let (at, since) = self.began;
        at + since.map_or(0, |since| since.elapsed().as_millis() as u64)
    }

    /// When in the runtime's time something at `at` happens.
    pub fn instant(&self, at: u64) -> Instant {
        let since = self.began.1.expect("asked for while a process runs");
        since + std::time::Duration::from_millis(at.saturating_sub(self.began.0))
    }

    /// The clock that a process starts with.
    pub fn clock(&self) -> host::Clock {
        let time = self.plan.wall_ms + self.now() as i64 + self.set_before_ms;
        host::Clock::start_beside(Timestamp(time), self.set_ms.clone())
    }

    /// What the wall clock shows.
    pub fn wall(&self) -> Timestamp {
        let set_ms = self.set_before_ms + self.set_ms.load(Ordering::Relaxed);
        Timestamp(self.plan.wall_ms + self.now() as i64 + set_ms)
    }

    /// A frame is offered to the journal, perhaps not for the first time.
    pub fn offer(&mut self, partition: PartitionId, seq: types::Seq, frame: &bytes::Bytes) {
        let hash = crate::rng::hash(&frame[..].to_vec());
        if !self.is_dead() {
            self.observe(Observation::FrameOffered { partition, seq, hash });
        }
        self.history.offer(partition, seq, frame);
        let (life, wall) = (self.life, self.wall());
        let offered = self.offered.entry(partition).or_insert((life, seq, hash, wall));
        if (offered.0, offered.1, offered.2) != (life, seq, hash) {
            *offered = (life, seq, hash, wall);
        }
    }

    pub fn set_clock(&mut self, by_ms: i64) {
        self.set_ms.fetch_add(by_ms, Ordering::Relaxed);
        self.coverage.note(if by_ms < 0 { Situation::ClockBack } else { Situation::ClockForward });
    }

    pub fn is_dead(&self) -> bool {
        self.death.is_some()
    }

    pub fn is_outage(&self) -> bool {
        !self.healed && self.now() < self.outage_until
    }

    /// Ends all faults.
    pub fn heal(&mut self) {
        self.healed = true;
        self.nested = 0;
        self.disk.calm();
        self.observe(Observation::Healed);
    }

    /// The current fault rates of services.
    pub fn service_faults(&self) -> ServiceFaults {
        if !self.healed {
            return self.plan.service_faults;
        }
        ServiceFaults {
            refused: 0,
            transient: 0,
            busy: 0,
            answer_lost: 0,
            request_lost: 0,
            late: 0,
            twice: 0,
            undo_refused: 0,
            latency_ms: 2,
        }
    }

    /// Keeps a copy of the disk, which is damaged later.
    pub fn save_disk_at_rest(&mut self) {
        if !self.disk.files().iter().any(|(path, _)| path.ends_with("/0000000001.segment")) {
            self.coverage.note(Situation::SegmentGone);
        }
        self.disk_at_rest = Some(self.disk.copy_written_out(crate::rng::hash(&(self.plan.seed, "still"))));
    }

    pub fn later(&mut self, ms: u64, task: Task) {
        let at = self.now() + ms;
        self.agenda.add(at, task);
    }

    /// Postpones a task that is due.
    pub fn put_off(&mut self, ms: u64, task: Task) {
        let at = self.now() + ms;
        self.agenda.put_off(at, task);
    }

    pub fn observe(&mut self, observation: Observation) {
        self.figures.events += 1;
        observation.hash(&mut self.trace);
        self.now().hash(&mut self.trace);
        if self.print {
            println!("{:>12} {observation:?}", self.now());
        }
        self.checkers.observe(&observation);
    }

    /// The workflows as the process has them.
    pub fn set_catalog(&mut self, catalog: Arc<Catalog>) {
        self.catalog = catalog;
    }

    /// A frame is durable: every checker gets its events.
    pub fn keep(&mut self, partition: PartitionId, seq: types::Seq, frame: &bytes::Bytes) {
        self.observe(Observation::FrameKept { partition, seq, hash: crate::rng::hash(&&frame[..]) });
        let catalog = self.catalog.clone();
        let wall = self.offered.get(&partition).map_or_else(|| self.wall(), |offered| offered.3);
        for (event, run) in self.history.keep(partition, seq, frame, &catalog) {
            crate::coverage::runs::note(&mut self.coverage, &event);
            if self.print {
                println!("{:>12}   {event:?}", self.now());
            }
            let (job_model, queue_model) = (&self.job_model, &self.queue_model);
            let durable = DurableEvent { partition, event: &event, run, wall, job_model, queue_model };
            self.checkers.observe_event(&durable);
            crate::coverage::jobs::note(&mut self.coverage, &durable);
            crate::coverage::queues::note(&mut self.coverage, &durable);
            let run = durable.run;
            self.job_model.fold(&event, run.as_ref());
            // What broke a promise may fit nowhere.
            if let kernel::Event::Queue(fact) = &event
                && self.checkers.found.is_empty()
            {
                self.queue_model.fold(partition, fact);
            }
        }
    }

    pub fn add_violation(&mut self, id: &'static str, what: String) {
        self.checkers.found.push(Violation { id, what });
    }

    pub fn audit(&mut self, found: &Found) {
        let World { checkers, history, ledger, job_model, queue_model, .. } = self;
        let Found { states, archived, rows, queues, message_rows } = found;
        checkers.audit(&Audit {
            history,
            ledger,
            states,
            archived,
            job_model,
            rows,
            queue_model,
            queues,
            message_rows,
        });
    }

    /// A number that two equal simulations share.
    pub fn trace(&self) -> u64 {
        self.trace.finish()
    }
}
