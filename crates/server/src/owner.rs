//! What this instance holds for the cluster: partitions by its engine, the control partition by itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cluster::{DurableEnd, PartitionOwner};
use engine::{Control, Engine};
use tokio::sync::watch;
use types::{Epoch, PartitionId};

use crate::journals::AnyJournal;

pub(crate) struct Owner {
    engine: Engine,
    control: Control,
    journal: Arc<AnyJournal>,
    lost: watch::Sender<u64>,
    /// The region's epoch.
    region: watch::Receiver<u64>,
    /// The region's epoch in which each partition was taken. Locked for lookups only.
    taken_in: Mutex<BTreeMap<PartitionId, u64>>,
}

impl Owner {
    pub fn new(
        engine: Engine,
        control: Control,
        journal: Arc<AnyJournal>,
        region: watch::Receiver<u64>,
    ) -> Owner {
        let lost = watch::Sender::new(0);
        tell_losses(engine.lost(), lost.clone());
        tell_losses(control.owned(), lost.clone());
        Owner { engine, control, journal, lost, region, taken_in: Mutex::default() }
    }

    /// Lets a partition be claimed only if its events go as far as was noted.
    fn expect(&self, partition: PartitionId, durable_end: Option<DurableEnd>) {
        let region = *self.region.borrow();
        self.journal.expect(partition, DurableEnd::floor(durable_end, region));
        self.taken_in.lock().expect("no owner of the lock panics").insert(partition, region);
    }
}

/// Whatever changes on one side may be a loss: who keeps partitions looks again.
fn tell_losses<T: Send + Sync + 'static>(mut from: watch::Receiver<T>, to: watch::Sender<u64>) {
    host::spawn("watch for losses", async move {
        while from.changed().await.is_ok() {
            to.send_modify(|count| *count += 1);
        }
    });
}

impl PartitionOwner for Owner {
    async fn acquire(
        &self,
        partition: PartitionId,
        durable_end: Option<DurableEnd>,
    ) -> Result<Epoch, String> {
        self.expect(partition, durable_end);
        if partition == PartitionId::CONTROL {
            return self.control.take().await.map_err(|error| error.to_string());
        }
        // What was accepted under a version must find it: the newest workflows first.
        self.control.look().await.map_err(|error| error.to_string())?;
        self.engine.take(partition).await.map_err(|error| error.to_string())
    }

    async fn release(&self, partition: PartitionId, patience: Duration) {
        if partition == PartitionId::CONTROL {
            return self.control.release().await;
        }
        if !self.engine.release(partition, patience).await {
            tracing::warn!(%partition, "calls were under way when the partition was let go; its next owner repeats them");
        }
    }

    fn owned(&self) -> BTreeMap<PartitionId, Epoch> {
        let mut held = self.engine.held();
        held.extend(self.control.owned().borrow().map(|epoch| (PartitionId::CONTROL, epoch)));
        held
    }

    fn durable_end(&self, partition: PartitionId) -> Option<DurableEnd> {
        let last = self.journal.acknowledged(partition)?;
        let taken_in = self.taken_in.lock().expect("no owner of the lock panics");
        taken_in.get(&partition).map(|region| DurableEnd { region: *region, last })
    }

    fn lost(&self) -> watch::Receiver<u64> {
        self.lost.subscribe()
    }

    fn pause_calls(&self, paused: bool) {
        self.engine.hold_calls(paused);
    }
}
