//! The engine: one handle for all partitions of the process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use host::Clock;
use journal::Journal;
use kernel::queue::{QueueRef, Queues, Settle};
use kernel::{Command, Rejection, State};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{oneshot, watch};
use types::{Epoch, PartitionId, RunId};
use view::{Ids, View};

use crate::jobs::{JobAnswer, JobCommand, JobError};
use crate::limits::{
    CALLS_MAX, FIRING_CALLS_MAX, HISTORY_MAX_PER_JOB, LIVE_BYTES_MAX, LIVE_RUNS_MAX, SNAPSHOT_AFTER_BYTES,
};
use crate::owned_partitions::OwnedPartitions;
use crate::partition::{EngineParts, PartitionMessage};
use crate::queues::{QueueAnswer, QueueCommand, QueueError};
use crate::{Catalogs, Effects, EngineMetrics, EngineReading, RecoveryError};

/// How much the engine may do at once.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub partitions: u16,
    pub calls_max_per_partition: usize,
    /// Jobs fire while fewer calls than these are pending or in flight.
    pub firing_calls_max_per_partition: usize,
    pub live_runs_max_per_partition: usize,
    /// Bytes of the requests of runs in memory at which no further requests are taken.
    pub live_bytes_max_per_partition: usize,
    /// Unfinished requests up to which clients waiting for an acknowledgement go first: beyond that, a spike no longer
    /// fits into the backlog, and only ending runs frees room.
    pub spike_unfinished_max: usize,
    pub snapshot_after_bytes: u64,
    /// Ended occurrences to retain for each job.
    pub history_max_per_job: usize,
    /// Resident memory above which queues and topics accept no messages.
    pub memory_bytes_max: u64,
}

impl Settings {
    /// The share of one partition: the limits of the process are divided evenly.
    pub fn for_partitions(partitions: u16) -> Settings {
        let share = |total: usize| (total / usize::from(partitions)).max(1);
        Settings {
            partitions,
            calls_max_per_partition: share(CALLS_MAX),
            firing_calls_max_per_partition: share(FIRING_CALLS_MAX),
            live_runs_max_per_partition: share(LIVE_RUNS_MAX),
            live_bytes_max_per_partition: share(LIVE_BYTES_MAX),
            spike_unfinished_max: usize::MAX,
            snapshot_after_bytes: SNAPSHOT_AFTER_BYTES,
            history_max_per_job: HISTORY_MAX_PER_JOB,
            memory_bytes_max: u64::MAX,
        }
    }
}

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error(transparent)]
    Rejected(#[from] Rejection),
    #[error("partition {partition} is stopped: {reason}")]
    Stopped { partition: PartitionId, reason: String },
    /// Another instance owns it, or no instance does at the moment.
    #[error("partition {partition} is not owned by this instance")]
    NotHeld { partition: PartitionId },
    /// The partition was lost or released with the command in flight.
    #[error("partition {partition} changed owner before it answered: the outcome is unknown")]
    Unknown { partition: PartitionId },
}

impl CommandError {
    /// The error for a partition that has ended in order, without carrying out the command.
    pub(crate) fn of_end(partition: PartitionId, has_other_owners: bool) -> CommandError {
        if has_other_owners {
            CommandError::NotHeld { partition }
        } else {
            CommandError::Stopped { partition, reason: "the process is stopping".to_owned() }
        }
    }
}

/// The state of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionInfo {
    pub id: PartitionId,
    /// Why it is stopped, if it is.
    pub stopped: Option<String>,
}

/// The partitions that this process owns. Cheap to clone.
#[derive(Clone)]
pub struct Engine(Arc<OwnedPartitions>);

impl Engine {
    /// An engine that owns no partitions yet.
    pub fn new<J: Journal>(
        journal: Arc<J>,
        view: View,
        ids: Arc<Ids>,
        catalogs: Catalogs,
        effects: Arc<dyn Effects>,
        clock: Clock,
        settings: Settings,
        metrics: EngineMetrics,
    ) -> Engine {
        let calls_held = Arc::default();
        let memory = host::Memory::new(settings.memory_bytes_max);
        let shared = EngineParts {
            journal,
            view,
            ids,
            catalogs,
            effects,
            clock,
            settings,
            metrics,
            calls_held,
            memory,
        };
        Engine(Arc::new(OwnedPartitions::new(shared)))
    }

    /// Recovers all partitions and starts their loops. A partition that cannot be recovered is stopped, with
    /// its reason; the others run.
    pub async fn start<J: Journal>(
        journal: Arc<J>,
        view: View,
        ids: Arc<Ids>,
        catalogs: Catalogs,
        effects: Arc<dyn Effects>,
        clock: Clock,
        settings: Settings,
        metrics: EngineMetrics,
    ) -> Engine {
        let engine = Engine::new(journal, view, ids, catalogs, effects, clock, settings, metrics);
        engine.take_all().await;
        engine
    }

    /// Takes every partition. One that cannot be recovered is stopped, with its reason; the others run.
    pub async fn take_all(&self) {
        let taking = (0..self.0.count()).map(PartitionId).map(|id| {
            let engine = self.clone();
            // A task each: recovery uses the CPU, and there is more than one core.
            host::spawn("recover partition", async move { engine.take(id).await })
        });
        for taken in taking.collect::<Vec<_>>() {
            // The engine reports why a partition is stopped.
            let _ = taken.await.expect("a recovery does not panic");
        }
    }

    /// Claims a partition, recovers it and runs it. One that cannot be recovered is stopped until it is
    /// taken again.
    pub async fn take(&self, partition: PartitionId) -> Result<Epoch, RecoveryError> {
        self.0.take(partition).await
    }

    /// Releases a partition: starts no further calls, waits for a time until the calls in flight have ended, and writes
    /// a snapshot for the next owner. False when calls were still in flight; the next owner makes them again.
    pub async fn release(&self, partition: PartitionId, timeout: Duration) -> bool {
        self.0.release(partition, timeout).await
    }

    /// Whether a partition runs here.
    pub fn holds(&self, partition: PartitionId) -> bool {
        self.0.holds(partition)
    }

    /// The partitions that run here, with their epochs.
    pub fn held(&self) -> BTreeMap<PartitionId, Epoch> {
        self.0.owned()
    }

    /// Counts the partitions that this engine owned and lost: fenced by another owner, or stopped.
    pub fn lost(&self) -> watch::Receiver<u64> {
        self.0.lost()
    }

    /// Suspends calls until they are resumed: pending calls wait.
    pub fn hold_calls(&self, held: bool) {
        self.0.hold_calls(held);
    }

    /// Whether calls are suspended.
    pub fn calls_are_held(&self) -> bool {
        self.0.calls_are_held()
    }

    /// Sends a command to the partition of a run and waits until it is durable.
    pub async fn command(
        &self,
        partition: PartitionId,
        id: RunId,
        by: String,
        command: Command,
    ) -> Result<(), CommandError> {
        let (reply, answer) = oneshot::channel();
        self.send(partition, PartitionMessage::Command { id, by, command, reply })?;
        match answer.await {
            Ok(result) => result,
            Err(_) => Err(self.0.unanswered(partition)),
        }
    }

    /// Sends a command about a collection or its jobs to the partition that owns them; the answer is durable.
    pub async fn job(&self, partition: PartitionId, command: JobCommand) -> Result<JobAnswer, JobError> {
        let (reply, answer) = oneshot::channel();
        self.send(partition, PartitionMessage::Job { command, reply }).map_err(JobError::of_stop)?;
        match answer.await {
            Ok(result) => result,
            Err(_) => Err(JobError::of_stop(self.0.unanswered(partition))),
        }
    }

    /// Sends a command about a queue or a topic to the partition that owns it; the answer is durable.
    pub async fn queue(
        &self,
        partition: PartitionId,
        command: QueueCommand,
    ) -> Result<QueueAnswer, QueueError> {
        let (reply, answer) = oneshot::channel();
        let tx = self.0.sender(partition).map_err(QueueError::of_stop)?;
        let at = match &command {
            QueueCommand::Receive(receive) => Some(receive.at.clone()),
            _ => None,
        };
        let mut awaited = PendingReply { answer, at, tx };
        self.send(partition, PartitionMessage::Queue { command, reply }).map_err(QueueError::of_stop)?;
        match (&mut awaited.answer).await {
            Ok(result) => result,
            Err(_) => Err(QueueError::of_stop(self.0.unanswered(partition))),
        }
    }

    /// Reads the queues of a partition once every change to them is durable.
    pub async fn query_queues<T: Send + 'static>(
        &self,
        partition: PartitionId,
        query: impl FnOnce(&Queues) -> T + Send + 'static,
    ) -> Result<T, CommandError> {
        let (reply, answer) = oneshot::channel();
        let query = Box::new(move |queues: &Queues| {
            // The caller may have gone away.
            let _ = reply.send(query(queues));
        });
        self.send(partition, PartitionMessage::QueueQuery(query))?;
        answer.await.map_err(|_| self.stopped(partition))
    }

    /// Reads the state of a partition once every change to it is durable.
    pub async fn query<T: Send + 'static>(
        &self,
        partition: PartitionId,
        query: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<T, CommandError> {
        let (reply, answer) = oneshot::channel();
        let query = Box::new(move |state: &State| {
            // The caller may have gone away.
            let _ = reply.send(query(state));
        });
        self.send(partition, PartitionMessage::Query(query))?;
        answer.await.map_err(|_| self.stopped(partition))
    }

    /// Requests a snapshot of every partition, so that the journal can be trimmed.
    pub fn ask_snapshots(&self) {
        self.0.send_to_all(|| PartitionMessage::Snapshot);
    }

    /// Starts no further calls and waits, for a time, until the calls in flight have ended and the partitions with
    /// them. True when all have.
    pub async fn drain(&self, timeout: Duration) -> bool {
        self.0.drain(timeout).await
    }

    /// The counts that the metrics report.
    pub fn reading(&self) -> EngineReading {
        self.0.reading()
    }

    /// The partitions owned here, including stopped ones.
    pub fn partitions(&self) -> Vec<PartitionInfo> {
        self.0.partitions()
    }

    fn send(&self, partition: PartitionId, message: PartitionMessage) -> Result<(), CommandError> {
        let tx = self.0.sender(partition)?;
        tx.send(message).map_err(|_| self.stopped(partition))
    }

    fn stopped(&self, partition: PartitionId) -> CommandError {
        self.0.stopped(partition)
    }
}

/// A pending receive. If the caller drops it after the answer was sent, its messages return as never delivered.
struct PendingReply {
    answer: oneshot::Receiver<Result<QueueAnswer, QueueError>>,
    /// The queue or subscription to receive from.
    at: Option<QueueRef>,
    tx: UnboundedSender<PartitionMessage>,
}

impl Drop for PendingReply {
    fn drop(&mut self) {
        self.answer.close();
        let Some(at) = &self.at else { return };
        let Ok(Ok(QueueAnswer::Received(received))) = self.answer.try_recv() else { return };
        for (token, _) in received.iter().filter_map(|one| one.taken.lock) {
            let command = QueueCommand::Settle { at: at.clone(), token, how: Settle::Release };
            let (reply, _) = oneshot::channel();
            // A partition that has stopped delivers nothing either.
            let _ = self.tx.send(PartitionMessage::Queue { command, reply });
        }
    }
}
