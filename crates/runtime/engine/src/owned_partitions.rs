//! The partitions that a process owns: taken, run, released, lost.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use journal::{AppendError, Journal};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use types::{Epoch, PartitionId};
use view::{Ids, PartitionState, View};

use crate::engine::{CommandError, PartitionInfo};
use crate::limits::RECOVERIES_MAX;
use crate::partition::{CallsHeld, EngineParts, Partition, PartitionMessage};
use crate::{EngineMetrics, EngineReading, RecoveryError};

/// The owned partitions, by id.
pub(crate) struct OwnedPartitions {
    /// The number of partitions in the whole cluster.
    count: u16,
    /// Dropped when the engine is drained: its captures may hold a reference to the engine.
    recover: RwLock<Option<RecoverPartition>>,
    // Every command reads this; only taking and releasing a partition change it.
    owned: RwLock<BTreeMap<PartitionId, PartitionHandle>>,
    ids: Arc<Ids>,
    view: View,
    metrics: EngineMetrics,
    calls_held: CallsHeld,
    lost: watch::Sender<u64>,
}

struct PartitionHandle {
    tx: UnboundedSender<PartitionMessage>,
    epoch: Epoch,
    stopped: Option<String>,
    /// None while the partition recovers, when it is stopped, and when another task waits for its end.
    task: Option<JoinHandle<()>>,
}

/// Claims a partition and recovers it, whatever its journal is.
type RecoverPartition = Arc<
    dyn Fn(
            PartitionId,
            UnboundedSender<PartitionMessage>,
            UnboundedReceiver<PartitionMessage>,
        ) -> Boxed<Result<RecoveredPartition, RecoveryError>>
        + Send
        + Sync,
>;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A recovered partition.
struct RecoveredPartition {
    epoch: Epoch,
    run: Boxed<Result<(), AppendError>>,
}

impl OwnedPartitions {
    pub fn new<J: Journal>(shared: EngineParts<J>) -> OwnedPartitions {
        let (ids, view, metrics) = (shared.ids.clone(), shared.view.clone(), shared.metrics.clone());
        let count = shared.settings.partitions;
        let (calls_held, capabilities) = (shared.calls_held.clone(), shared.journal.capabilities());
        if capabilities.has_other_owners {
            ids.hold_none();
        }
        let shared = Arc::new(shared);
        // Recovery costs CPU and memory: only a few partitions recover at once.
        let turns = Arc::new(Semaphore::new(RECOVERIES_MAX));
        let recover: RecoverPartition = Arc::new(move |id, tx, rx| {
            let (shared, turns) = (shared.clone(), turns.clone());
            Box::pin(async move {
                let partition = Partition::recover(id, shared, &turns, tx, rx).await?;
                Ok(RecoveredPartition { epoch: partition.epoch(), run: Box::pin(partition.run()) })
            })
        });
        OwnedPartitions {
            count,
            recover: RwLock::new(Some(recover)),
            owned: RwLock::default(),
            ids,
            view,
            metrics,
            calls_held,
            lost: watch::Sender::new(0),
        }
    }

    pub fn reading(&self) -> EngineReading {
        self.metrics.read()
    }

    pub fn count(&self) -> u16 {
        self.count
    }

    pub async fn take(self: &Arc<Self>, id: PartitionId) -> Result<Epoch, RecoveryError> {
        self.clear(id);
        let recover = self.recover.read().expect("no holder of the lock panics").clone();
        let Some(recover) = recover else { return Err(AppendError::Closed.into()) };
        let (tx, rx) = mpsc::unbounded_channel();
        let back = recover(id, tx.clone(), rx).await;
        drop(recover);
        let RecoveredPartition { epoch, run } = match back {
            Ok(back) => back,
            Err(error) => {
                match &error {
                    RecoveryError::Claim(AppendError::Fenced { .. }) if self.ids.partitions_move() => {
                        self.note_fenced(id);
                    }
                    // The partition is not damaged: its next owner tries again.
                    RecoveryError::Unanswered { .. } => {}
                    error => self.note_stop(id, tx, Epoch::default(), error.to_string()),
                }
                return Err(error);
            }
        };
        let (holdings, own) = (Arc::downgrade(self), tx.clone());
        // The end of the task is recorded only if the partition is registered as owned.
        let (registered, may_end) = tokio::sync::oneshot::channel::<()>();
        let task = host::spawn("partition", async move {
            let ended = run.await;
            let _ = may_end.await;
            if let (Err(error), Some(holdings)) = (ended, holdings.upgrade()) {
                holdings.lose(id, own, epoch, error);
            }
        });
        self.put(id, PartitionHandle { tx: tx.clone(), epoch, stopped: None, task: Some(task) });
        self.ids.set_partition_state(id, PartitionState::Held);
        // Calls may have been resumed before this partition was registered.
        let _ = tx.send(PartitionMessage::MakeCalls);
        let _ = registered.send(());
        Ok(epoch)
    }

    pub async fn release(&self, id: PartitionId, timeout: Duration) -> bool {
        let task = match self.write().get_mut(&id) {
            None => return true,
            Some(handle) => {
                // From here on, requests are routed to the next owner.
                self.ids.set_partition_state(id, PartitionState::Elsewhere);
                let _ = handle.tx.send(PartitionMessage::Drain { hand_over: true });
                handle.task.take()
            }
        };
        let ended = match task {
            None => true,
            Some(mut task) => {
                let ended = tokio::time::timeout(timeout, &mut task).await.is_ok();
                if !ended {
                    task.abort();
                    // The loop ends at its next pause; the next owner finds out whether the last frame was stored.
                    let _ = task.await;
                }
                ended
            }
        };
        self.forget(id);
        ended
    }

    /// The partition ran, and cannot continue.
    fn lose(&self, id: PartitionId, tx: UnboundedSender<PartitionMessage>, epoch: Epoch, error: AppendError) {
        if self.read().get(&id).is_some_and(|handle| handle.epoch != epoch) {
            return; // The partition was taken again in the meantime: this handle is stale.
        }
        match error {
            AppendError::Fenced { .. } if self.ids.partitions_move() => self.note_fenced(id),
            error => self.note_stop(id, tx, epoch, error.to_string()),
        }
        self.lost.send_modify(|count| *count += 1);
    }

    fn note_fenced(&self, id: PartitionId) {
        tracing::warn!(partition = %id, "another owner has taken the partition");
        self.metrics.fenced.inc();
        self.forget(id);
    }

    fn note_stop(
        &self,
        id: PartitionId,
        tx: UnboundedSender<PartitionMessage>,
        epoch: Epoch,
        reason: String,
    ) {
        tracing::error!(partition = %id, reason, "partition stopped; its data is kept as it is");
        // In a cluster another instance may recover it, so commands for it are not refused here.
        let state =
            if self.ids.partitions_move() { PartitionState::Elsewhere } else { PartitionState::Stopped };
        self.ids.set_partition_state(id, state);
        self.put(id, PartitionHandle { tx, epoch, stopped: Some(reason), task: None });
    }

    fn put(&self, id: PartitionId, handle: PartitionHandle) {
        let mut owned = self.write();
        owned.insert(id, handle);
        self.count_stopped(&owned);
    }

    /// The last known state of a partition that is not owned.
    fn forget(&self, id: PartitionId) {
        let mut owned = self.write();
        owned.remove(&id);
        self.count_stopped(&owned);
        drop(owned);
        self.clear_caches(id);
    }

    /// The last known state of a partition that is about to be taken again. A stopped partition counts as stopped until
    /// it runs: otherwise an alert that waits five minutes would never fire for one that is retried every minute.
    fn clear(&self, id: PartitionId) {
        self.write().retain(|owned, handle| *owned != id || handle.stopped.is_some());
        self.clear_caches(id);
    }

    fn count_stopped(&self, owned: &BTreeMap<PartitionId, PartitionHandle>) {
        let stopped = owned.values().filter(|handle| handle.stopped.is_some()).count();
        self.metrics.stopped_partitions.set(stopped as i64);
    }

    fn clear_caches(&self, id: PartitionId) {
        if self.ids.partitions_move() {
            self.ids.set_partition_state(id, PartitionState::Elsewhere);
            self.ids.forget(id);
            self.view.close_partition(id);
        }
    }

    pub fn holds(&self, id: PartitionId) -> bool {
        self.read().get(&id).is_some_and(|handle| handle.stopped.is_none())
    }

    pub fn owned(&self) -> BTreeMap<PartitionId, Epoch> {
        let owned = self.read();
        let running = owned.iter().filter(|(_, handle)| handle.stopped.is_none());
        running.map(|(id, handle)| (*id, handle.epoch)).collect()
    }

    pub fn lost(&self) -> watch::Receiver<u64> {
        self.lost.subscribe()
    }

    pub fn hold_calls(&self, hold: bool) {
        let before = self.calls_held.swap(hold, Ordering::AcqRel);
        if before && !hold {
            self.send_to_all(|| PartitionMessage::MakeCalls);
        }
    }

    pub fn calls_are_held(&self) -> bool {
        self.calls_held.load(Ordering::Acquire)
    }

    pub fn send_to_all(&self, message: impl Fn() -> PartitionMessage) {
        for handle in self.read().values() {
            // A stopped partition has nothing to drain.
            let _ = handle.tx.send(message());
        }
    }

    pub async fn drain(&self, timeout: Duration) -> bool {
        *self.recover.write().expect("no holder of the lock panics") = None;
        self.send_to_all(|| PartitionMessage::Drain { hand_over: false });
        let tasks: Vec<_> = self.write().values_mut().filter_map(|handle| handle.task.take()).collect();
        let all = async {
            for task in tasks {
                task.await.expect("a partition that panics takes the process down");
            }
        };
        tokio::time::timeout(timeout, all).await.is_ok()
    }

    pub fn partitions(&self) -> Vec<PartitionInfo> {
        let info = |(id, handle): (&PartitionId, &PartitionHandle)| PartitionInfo {
            id: *id,
            stopped: handle.stopped.clone(),
        };
        self.read().iter().map(info).collect()
    }

    /// The sender of a partition. A stopped one drops messages, unless another instance may own it.
    pub fn sender(&self, id: PartitionId) -> Result<UnboundedSender<PartitionMessage>, CommandError> {
        match self.read().get(&id) {
            Some(handle) if handle.stopped.is_none() || !self.ids.partitions_move() => Ok(handle.tx.clone()),
            Some(_) | None => Err(CommandError::NotHeld { partition: id }),
        }
    }

    /// Why a partition accepts no messages.
    pub fn stopped(&self, partition: PartitionId) -> CommandError {
        let owned = self.read();
        let Some(handle) = owned.get(&partition) else { return CommandError::NotHeld { partition } };
        match handle.stopped.clone() {
            Some(reason) => CommandError::Stopped { partition, reason },
            None => CommandError::of_end(partition, self.ids.partitions_move()),
        }
    }

    /// Why a partition did not answer a message that had reached it: its frame may be stored all the same.
    pub fn unanswered(&self, partition: PartitionId) -> CommandError {
        match self.stopped(partition) {
            CommandError::NotHeld { partition } => CommandError::Unknown { partition },
            stopped => stopped,
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<PartitionId, PartitionHandle>> {
        self.owned.read().expect("no holder of the lock panics")
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<PartitionId, PartitionHandle>> {
        self.owned.write().expect("no holder of the lock panics")
    }
}
