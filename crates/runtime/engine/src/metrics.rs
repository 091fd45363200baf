//! Metrics of the engine.

use host::{Counted, Histogram};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use types::OutcomeKind;

mod queues;

use queues::QueueMetrics;

/// The label of a run's ending or an attempt's outcome.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OutcomeLabel {
    pub outcome: &'static str,
}

/// The outcomes of an attempt.
const OUTCOMES: [&str; 4] = [
    OutcomeKind::Done.name(),
    OutcomeKind::Refused.name(),
    OutcomeKind::Transient.name(),
    OutcomeKind::Unknown.name(),
];

/// What the partitions of this process have done since its start, and their current state.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineReading {
    /// Attempts that ended, undos included.
    pub attempts: u64,
    /// Runs in memory, including parked ones.
    pub live: u64,
    pub parked: u64,
    /// Occurrences of jobs that became runs, including manually started ones.
    pub fired: u64,
    /// From the acceptance of a request to the end of its run, one sample for each ended run.
    pub run_times: Counted,
    /// How late occurrences of jobs were.
    pub lateness: Counted,
}

/// The engine's metrics, shared by all partitions.
#[derive(Clone)]
pub struct EngineMetrics {
    pub(crate) taken: Counter,
    pub(crate) dropped: Counter,
    pub(crate) runs: Family<OutcomeLabel, Counter>,
    pub(crate) run_seconds: Histogram,
    pub(crate) attempts: Family<OutcomeLabel, Counter>,
    pub(crate) undos: Family<OutcomeLabel, Counter>,
    pub(crate) parked: Gauge,
    pub(crate) live: Gauge,
    pub(crate) calls: Gauge,
    pub(crate) frames: Counter,
    pub(crate) events: Counter,
    pub(crate) commit_seconds: Histogram,
    pub(crate) stopped_partitions: Gauge,
    pub(crate) fenced: Counter,
    pub(crate) fired: Counter,
    pub(crate) job_left_out: Counter,
    pub(crate) lateness_seconds: Histogram,
    pub(crate) queues: QueueMetrics,
}

impl EngineMetrics {
    /// Reads the counts without changing them.
    pub(crate) fn read(&self) -> EngineReading {
        let count = |family: &Family<OutcomeLabel, Counter>, outcome| {
            family.get(&OutcomeLabel { outcome }).map_or(0, |count| count.get())
        };
        let attempts = OUTCOMES.map(|outcome| count(&self.attempts, outcome) + count(&self.undos, outcome));
        EngineReading {
            attempts: attempts.into_iter().sum(),
            live: u64::try_from(self.live.get()).unwrap_or(0),
            parked: u64::try_from(self.parked.get()).unwrap_or(0),
            fired: self.fired.get(),
            run_times: self.run_seconds.read(),
            lateness: self.lateness_seconds.read(),
        }
    }

    pub fn register(registry: &mut Registry) -> EngineMetrics {
        let metrics = EngineMetrics::new(registry);
        registry.register("sortie_requests_taken", "Requests taken from the inbox", metrics.taken.clone());
        registry.register(
            "sortie_dedup_hits",
            "Requests that a partition dropped as duplicates",
            metrics.dropped.clone(),
        );
        registry.register("sortie_runs", "Runs that ended or were parked; an occurrence of a job whose action failed is undone, one whose errorAction was done is completed", metrics.runs.clone());
        registry.register(
            "sortie_run_seconds",
            "Time from acceptance to the end",
            metrics.run_seconds.clone(),
        );
        registry.register(
            "sortie_attempts",
            "Attempts of calls and notices that ended",
            metrics.attempts.clone(),
        );
        registry.register("sortie_undos", "Attempts of undos that ended", metrics.undos.clone());
        registry.register(
            "sortie_parked",
            "Runs that wait for a person; alert when it stays above 0",
            metrics.parked.clone(),
        );
        registry.register("sortie_live_runs", "Runs in memory", metrics.live.clone());
        registry.register("sortie_calls", "Calls in flight", metrics.calls.clone());
        registry.register("sortie_frames", "Frames committed to the journal", metrics.frames.clone());
        registry.register("sortie_events", "Events committed to the journal", metrics.events.clone());
        registry.register("sortie_commit_seconds", "Time to commit a frame", metrics.commit_seconds.clone());
        registry.register(
            "sortie_jobs_fired",
            "Occurrences of jobs that became runs, including manually started ones",
            metrics.fired.clone(),
        );
        registry.register(
            "sortie_jobs_left_out",
            "Times that a due job was skipped or deferred: the previous occurrence was still running, or its time had passed",
            metrics.job_left_out.clone(),
        );
        registry.register(
            "sortie_job_lateness_seconds",
            "Time from when an occurrence was due, its jitter included, until its call was ordered; alert when it grows",
            metrics.lateness_seconds.clone(),
        );
        registry.register(
            "sortie_partitions_overtaken",
            "Partitions that were given up because a frame was refused: another owner had taken them",
            metrics.fenced.clone(),
        );
        let stopped = metrics.stopped_partitions.clone();
        registry.register(
            "sortie_stopped_partitions",
            "Partitions stopped by damage or an error; alert when above 0",
            stopped,
        );
        metrics
    }

    /// All at zero; messages are registered first.
    fn new(registry: &mut Registry) -> EngineMetrics {
        let metrics = EngineMetrics {
            taken: Counter::default(),
            dropped: Counter::default(),
            runs: Family::default(),
            run_seconds: Histogram::new(0.001, 22),
            attempts: Family::default(),
            undos: Family::default(),
            parked: Gauge::default(),
            live: Gauge::default(),
            calls: Gauge::default(),
            frames: Counter::default(),
            events: Counter::default(),
            commit_seconds: Histogram::new(0.0001, 18),
            stopped_partitions: Gauge::default(),
            fenced: Counter::default(),
            fired: Counter::default(),
            job_left_out: Counter::default(),
            lateness_seconds: Histogram::new(0.001, 24),
            queues: QueueMetrics::register(registry),
        };
        begin(&metrics.runs, &["completed", "undone", "given_up", "parked"]);
        for attempts in [&metrics.attempts, &metrics.undos] {
            begin(attempts, &OUTCOMES);
        }
        metrics
    }
}

/// Creates every outcome at zero: the rate of a series that begins with its first event misses that event.
fn begin(counters: &Family<OutcomeLabel, Counter>, outcomes: &[&'static str]) {
    for outcome in outcomes {
        drop(counters.get_or_create(&OutcomeLabel { outcome }));
    }
}
