//! The partitions that a process holds: taken, run, given up, lost.

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

/// What is held, by partition.
pub(crate) struct OwnedPartitions {
    /// Of how many there are, wherever they are held.
    count: u16,
    /// Gone when the engine is drained: what it holds on to may hold on to the engine.
    bring_back: RwLock<Option<RecoverPartition>>,
    // Every command looks in here; only taking and giving up change it.
    held: RwLock<BTreeMap<PartitionId, PartitionHandle>>,
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
    /// None while it comes back, when it is stopped, and when somebody waits for its end.
    task: Option<JoinHandle<()>>,
}

/// Claims a partition and brings it back, whatever its journal is.
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

/// A partition that has come back.
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
        // Recoveries are work: not all at once.
        let turns = Arc::new(Semaphore::new(RECOVERIES_MAX));
        let bring_back: RecoverPartition = Arc::new(move |id, tx, rx| {
            let (shared, turns) = (shared.clone(), turns.clone());
            Box::pin(async move {
                let partition = Partition::recover(id, shared, &turns, tx, rx).await?;
                Ok(RecoveredPartition { epoch: partition.epoch(), run: Box::pin(partition.run()) })
            })
        });
        OwnedPartitions {
            count,
            bring_back: RwLock::new(Some(bring_back)),
            held: RwLock::default(),
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
        let bring_back = self.bring_back.read().expect("nobody panics while holding it").clone();
        let Some(bring_back) = bring_back else { return Err(AppendError::Closed.into()) };
        let (tx, rx) = mpsc::unbounded_channel();
        let back = bring_back(id, tx.clone(), rx).await;
        drop(bring_back);
        let RecoveredPartition { epoch, run } = match back {
            Ok(back) => back,
            Err(error) => {
                match &error {
                    RecoveryError::Claim(AppendError::Fenced { .. }) if self.ids.partitions_move() => {
                        self.note_fenced(id);
                    }
                    // Nothing is wrong with it: whoever takes it tries again.
                    RecoveryError::Unanswered { .. } => {}
                    error => self.note_stop(id, tx, Epoch::default(), error.to_string()),
                }
                return Err(error);
            }
        };
        let (holdings, own) = (Arc::downgrade(self), tx.clone());
        // Its end is noted only when it is in the register of what is held.
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
        // Whoever let calls go again meanwhile did not know of this partition.
        let _ = tx.send(PartitionMessage::MakeCalls);
        let _ = registered.send(());
        Ok(epoch)
    }

    pub async fn release(&self, id: PartitionId, patience: Duration) -> bool {
        let task = match self.write().get_mut(&id) {
            None => return true,
            Some(handle) => {
                // Requests go to the next owner from here on.
                self.ids.set_partition_state(id, PartitionState::Elsewhere);
                let _ = handle.tx.send(PartitionMessage::Drain { hand_over: true });
                handle.task.take()
            }
        };
        let ended = match task {
            None => true,
            Some(mut task) => {
                let ended = tokio::time::timeout(patience, &mut task).await.is_ok();
                if !ended {
                    task.abort();
                    // It ends at its next pause; whether its last frame is there, the next owner finds out.
                    let _ = task.await;
                }
                ended
            }
        };
        self.forget(id);
        ended
    }

    /// The partition ran, and cannot go on.
    fn lose(&self, id: PartitionId, tx: UnboundedSender<PartitionMessage>, epoch: Epoch, error: AppendError) {
        if self.read().get(&id).is_some_and(|handle| handle.epoch != epoch) {
            return; // It was taken again in the meantime: this handle is stale.
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
        // Among others, somebody else may bring it back: what is asked of it is not refused here.
        let standing =
            if self.ids.partitions_move() { PartitionState::Elsewhere } else { PartitionState::Stopped };
        self.ids.set_partition_state(id, standing);
        self.put(id, PartitionHandle { tx, epoch, stopped: Some(reason), task: None });
    }

    fn put(&self, id: PartitionId, handle: PartitionHandle) {
        let mut held = self.write();
        held.insert(id, handle);
        self.count_stopped(&held);
    }

    /// What was known of a partition that is not held.
    fn forget(&self, id: PartitionId) {
        let mut held = self.write();
        held.remove(&id);
        self.count_stopped(&held);
        drop(held);
        self.clear_caches(id);
    }

    /// What was known of a partition that is about to be taken again. One that stopped is a stopped one until it runs:
    /// whoever waits five minutes before an alarm would never hear of one that is tried every minute.
    fn clear(&self, id: PartitionId) {
        self.write().retain(|held, handle| *held != id || handle.stopped.is_some());
        self.clear_caches(id);
    }

    fn count_stopped(&self, held: &BTreeMap<PartitionId, PartitionHandle>) {
        let stopped = held.values().filter(|handle| handle.stopped.is_some()).count();
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

    pub fn held(&self) -> BTreeMap<PartitionId, Epoch> {
        let held = self.read();
        let running = held.iter().filter(|(_, handle)| handle.stopped.is_none());
        running.map(|(id, handle)| (*id, handle.epoch)).collect()
    }

    pub fn lost(&self) -> watch::Receiver<u64> {
        self.lost.subscribe()
    }

    pub fn hold_calls(&self, held: bool) {
        let before = self.calls_held.swap(held, Ordering::AcqRel);
        if before && !held {
            self.send_to_all(|| PartitionMessage::MakeCalls);
        }
    }

    pub fn calls_are_held(&self) -> bool {
        self.calls_held.load(Ordering::Acquire)
    }

    pub fn send_to_all(&self, message: impl Fn() -> PartitionMessage) {
        for handle in self.read().values() {
            // A stopped partition is as it is.
            let _ = handle.tx.send(message());
        }
    }

    pub async fn drain(&self, patience: Duration) -> bool {
        *self.bring_back.write().expect("nobody panics while holding it") = None;
        self.send_to_all(|| PartitionMessage::Drain { hand_over: false });
        let tasks: Vec<_> = self.write().values_mut().filter_map(|handle| handle.task.take()).collect();
        let all = async {
            for task in tasks {
                task.await.expect("a partition that panics takes the process down");
            }
        };
        tokio::time::timeout(patience, all).await.is_ok()
    }

    pub fn partitions(&self) -> Vec<PartitionInfo> {
        let info = |(id, handle): (&PartitionId, &PartitionHandle)| PartitionInfo {
            id: *id,
            stopped: handle.stopped.clone(),
        };
        self.read().iter().map(info).collect()
    }

    /// The way into a partition. A stopped one takes messages and drops them, unless another instance may have it.
    pub fn sender(&self, id: PartitionId) -> Result<UnboundedSender<PartitionMessage>, CommandError> {
        match self.read().get(&id) {
            Some(handle) if handle.stopped.is_none() || !self.ids.partitions_move() => Ok(handle.tx.clone()),
            Some(_) | None => Err(CommandError::NotHeld { partition: id }),
        }
    }

    /// Why a partition takes no messages.
    pub fn stopped(&self, partition: PartitionId) -> CommandError {
        let held = self.read();
        let Some(handle) = held.get(&partition) else { return CommandError::NotHeld { partition } };
        match handle.stopped.clone() {
            Some(reason) => CommandError::Stopped { partition, reason },
            None => CommandError::of_end(partition, self.ids.partitions_move()),
        }
    }

    /// Why a partition gave no answer to what had reached it: a frame of it may be stored all the same.
    pub fn unanswered(&self, partition: PartitionId) -> CommandError {
        match self.stopped(partition) {
            CommandError::NotHeld { partition } => CommandError::Unknown { partition },
            stopped => stopped,
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<PartitionId, PartitionHandle>> {
        self.held.read().expect("nobody panics while holding what is held")
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<PartitionId, PartitionHandle>> {
        self.held.write().expect("nobody panics while holding what is held")
    }
}
