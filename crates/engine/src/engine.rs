//! The engine: all partitions of the process, behind one handle.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use host::Clock;
use journal::Journal;
use kernel::queue::{QueueRef, Queues, Settle};
use kernel::{Command, Rejection, State};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use view::{Ids, View};
use words::{PartitionId, RunId};

use crate::jobs::{JobAnswer, JobCommand, JobError};
use crate::limits::{
    CALLS_MAX, FIRING_CALLS_MAX, HISTORY_MAX_PER_JOB, LIVE_BYTES_MAX, LIVE_RUNS_MAX, RECOVERIES_MAX,
    SNAPSHOT_AFTER_BYTES,
};
use crate::partition::{Message, Partition, Shared};
use crate::queues::{QueueAnswer, QueueCommand, QueueError};
use crate::{Catalogs, Effects, Metrics};

/// How much the engine may do at once.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub partitions: u16,
    pub calls_max_per_partition: usize,
    /// Jobs fire while fewer calls than these are owed or under way.
    pub firing_calls_max_per_partition: usize,
    pub live_runs_max_per_partition: usize,
    /// Bytes of the requests of runs in memory at which no more requests are taken.
    pub live_bytes_max_per_partition: usize,
    /// Unfinished requests up to which clients that wait for their yes go first: beyond, a spike no longer fits into
    /// the backlog, and ending runs is what makes room.
    pub spike_unfinished_max: usize,
    pub snapshot_after_bytes: u64,
    /// Ended occurrences that are kept of a job.
    pub history_max_per_job: usize,
}

impl Settings {
    /// The limits of the process, shared out evenly.
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
}

/// Where a partition stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionInfo {
    pub id: PartitionId,
    /// Why it is stopped, if it is.
    pub stopped: Option<String>,
}

/// The running partitions. Cheap to clone.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    partitions: BTreeMap<PartitionId, Handle>,
    // Taken once, by whoever drains.
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

struct Handle {
    tx: UnboundedSender<Message>,
    // Written once by the partition's task when it stops; a lock because readers come from any task.
    stopped: Arc<Mutex<Option<String>>>,
}

impl Engine {
    /// Brings all partitions back and starts their loops. A partition that cannot come back is stopped, with
    /// its reason; the others run.
    pub async fn start<J: Journal>(
        journal: Arc<J>,
        view: View,
        ids: Arc<Ids>,
        catalogs: Catalogs,
        effects: Arc<dyn Effects>,
        clock: Clock,
        settings: Settings,
        metrics: Metrics,
    ) -> Engine {
        let shared = Arc::new(Shared { journal, view, ids, catalogs, effects, clock, settings, metrics });
        let mut starting = Vec::new();
        let turns = Arc::new(Semaphore::new(RECOVERIES_MAX));
        for id in (0..settings.partitions).map(PartitionId) {
            let (tx, rx) = mpsc::unbounded_channel();
            let recovery = Partition::recover(id, shared.clone(), tx.clone(), rx);
            let turns = turns.clone();
            let recovery = async move {
                let _turn = turns.acquire().await.expect("the semaphore is never closed");
                recovery.await
            };
            starting.push((id, tx, host::spawn("recover partition", recovery)));
        }
        let mut partitions = BTreeMap::new();
        let mut tasks = Vec::new();
        for (id, tx, recovery) in starting {
            let stopped = Arc::new(Mutex::new(None));
            match recovery.await.expect("a recovery does not panic") {
                Ok(partition) => {
                    let (note, ids, metrics) = (stopped.clone(), shared.ids.clone(), shared.metrics.clone());
                    tasks.push(host::spawn("partition", async move {
                        if let Err(error) = partition.run().await {
                            note_stop(id, &note, &ids, &metrics, &error.to_string());
                        }
                    }));
                }
                Err(error) => note_stop(id, &stopped, &shared.ids, &shared.metrics, &error.to_string()),
            }
            partitions.insert(id, Handle { tx, stopped });
        }
        Engine(Arc::new(Inner { partitions, tasks: Mutex::new(tasks) }))
    }

    /// Gives a command to the partition of a run and waits until it is durable.
    pub async fn command(
        &self,
        partition: PartitionId,
        id: RunId,
        by: String,
        command: Command,
    ) -> Result<(), CommandError> {
        let (reply, answer) = oneshot::channel();
        self.send(partition, Message::Command { id, by, command, reply })?;
        match answer.await {
            Ok(result) => result.map_err(CommandError::Rejected),
            Err(_) => Err(self.stopped(partition)),
        }
    }

    /// Asks something about a collection or its jobs of the partition that holds them; the answer is durable.
    pub async fn job(&self, partition: PartitionId, command: JobCommand) -> Result<JobAnswer, JobError> {
        let (reply, answer) = oneshot::channel();
        let stopped = |error| match error {
            CommandError::Stopped { partition, reason } => JobError::Stopped { partition, reason },
            CommandError::Rejected(_) => unreachable!("sending rejects nothing"),
        };
        self.send(partition, Message::Job { command, reply }).map_err(stopped)?;
        match answer.await {
            Ok(result) => result.map_err(JobError::Rejected),
            Err(_) => Err(stopped(self.stopped(partition))),
        }
    }

    /// Asks something about a queue or a topic of the partition that holds it; the answer is durable.
    pub async fn queue(
        &self,
        partition: PartitionId,
        command: QueueCommand,
    ) -> Result<QueueAnswer, QueueError> {
        let (reply, answer) = oneshot::channel();
        let tx = &self.0.partitions[&partition].tx;
        let at = match &command {
            QueueCommand::Receive(receive) => Some(receive.at.clone()),
            _ => None,
        };
        let mut awaited = Awaited { answer, at, tx };
        self.send(partition, Message::Queue { command, reply }).map_err(QueueError::of_stop)?;
        match (&mut awaited.answer).await {
            Ok(result) => result,
            Err(_) => Err(QueueError::of_stop(self.stopped(partition))),
        }
    }

    /// Looks at the queues of a partition when all that led to them is durable.
    pub async fn query_queues<T: Send + 'static>(
        &self,
        partition: PartitionId,
        query: impl FnOnce(&Queues) -> T + Send + 'static,
    ) -> Result<T, CommandError> {
        let (reply, answer) = oneshot::channel();
        let query = Box::new(move |queues: &Queues| {
            // Whoever asked may have gone away.
            let _ = reply.send(query(queues));
        });
        self.send(partition, Message::QueueQuery(query))?;
        answer.await.map_err(|_| self.stopped(partition))
    }

    /// Looks at the state of a partition when all that led to it is durable.
    pub async fn query<T: Send + 'static>(
        &self,
        partition: PartitionId,
        query: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<T, CommandError> {
        let (reply, answer) = oneshot::channel();
        let query = Box::new(move |state: &State| {
            // Whoever asked may have gone away.
            let _ = reply.send(query(state));
        });
        self.send(partition, Message::Query(query))?;
        answer.await.map_err(|_| self.stopped(partition))
    }

    /// Asks every partition for a snapshot, so that the journal can be trimmed.
    pub fn ask_snapshots(&self) {
        for handle in self.0.partitions.values() {
            // A stopped partition keeps its journal as it is.
            let _ = handle.tx.send(Message::Snapshot);
        }
    }

    /// Starts nothing more and waits, for a time, until the calls under way have ended and the partitions with
    /// them. True when all have.
    pub async fn drain(&self, patience: Duration) -> bool {
        for handle in self.0.partitions.values() {
            // A partition that has stopped has nothing under way.
            let _ = handle.tx.send(Message::Drain);
        }
        let tasks = std::mem::take(&mut *self.0.tasks.lock().expect("nobody panics while holding the tasks"));
        let all = async {
            for task in tasks {
                task.await.expect("a partition that panics takes the process down");
            }
        };
        tokio::time::timeout(patience, all).await.is_ok()
    }

    pub fn partitions(&self) -> Vec<PartitionInfo> {
        let info = |(id, handle): (&PartitionId, &Handle)| PartitionInfo {
            id: *id,
            stopped: handle.stopped.lock().expect("nobody panics while holding the reason").clone(),
        };
        self.0.partitions.iter().map(info).collect()
    }

    fn send(&self, partition: PartitionId, message: Message) -> Result<(), CommandError> {
        let handle = self.0.partitions.get(&partition).expect("every partition of the process has a handle");
        handle.tx.send(message).map_err(|_| self.stopped(partition))
    }

    fn stopped(&self, partition: PartitionId) -> CommandError {
        let handle = self.0.partitions.get(&partition).expect("every partition of the process has a handle");
        let reason = handle.stopped.lock().expect("nobody panics while holding the reason").clone();
        CommandError::Stopped {
            partition,
            reason: reason.unwrap_or_else(|| "the process is stopping".to_owned()),
        }
    }
}

/// An answer that is awaited. Given up when it has come already, the messages in it go back as never delivered.
struct Awaited<'a> {
    answer: oneshot::Receiver<Result<QueueAnswer, QueueError>>,
    /// Where messages are received from.
    at: Option<QueueRef>,
    tx: &'a UnboundedSender<Message>,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.answer.close();
        let Some(at) = &self.at else { return };
        let Ok(Ok(QueueAnswer::Received(received))) = self.answer.try_recv() else { return };
        for (token, _) in received.iter().filter_map(|one| one.taken.lock) {
            let command = QueueCommand::Settle { at: at.clone(), token, how: Settle::Release };
            let (reply, _) = oneshot::channel();
            // A partition that has stopped gives nothing out either.
            let _ = self.tx.send(Message::Queue { command, reply });
        }
    }
}

fn note_stop(id: PartitionId, stopped: &Mutex<Option<String>>, ids: &Ids, metrics: &Metrics, reason: &str) {
    tracing::error!(partition = %id, reason, "partition stopped; its data is kept as it is");
    ids.stop(id);
    metrics.stopped_partitions.inc();
    *stopped.lock().expect("nobody panics while holding the reason") = Some(reason.to_owned());
}
