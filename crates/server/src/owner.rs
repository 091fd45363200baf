//! The partitions that this instance owns: those of the engine, and the control partition.

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
        forward_losses(engine.lost(), lost.clone());
        forward_losses(control.owned(), lost.clone());
        Owner { engine, control, journal, lost, region, taken_in: Mutex::default() }
    }

    /// Requires that the events of a partition reach as far as was recorded when it is claimed.
    fn expect(&self, partition: PartitionId, durable_end: Option<DurableEnd>) {
        let region = *self.region.borrow();
        self.journal.expect(partition, DurableEnd::floor(durable_end, region));
        self.taken_in.lock().expect("no holder of the lock panics").insert(partition, region);
    }
}

/// Any change may be a lost partition, so membership checks them again.
fn forward_losses<T: Send + Sync + 'static>(mut from: watch::Receiver<T>, to: watch::Sender<u64>) {
    host::spawn("watch for lost partitions", async move {
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
        // Requests refer to versions of workflows, so the newest workflows are read first.
        self.control.look().await.map_err(|error| error.to_string())?;
        self.engine.take(partition).await.map_err(|error| error.to_string())
    }

    async fn release(&self, partition: PartitionId, patience: Duration) {
        if partition == PartitionId::CONTROL {
            return self.control.release().await;
        }
        if !self.engine.release(partition, patience).await {
            tracing::warn!(%partition, "calls were in flight when the partition was released; its next owner repeats them");
        }
    }

    fn owned(&self) -> BTreeMap<PartitionId, Epoch> {
        let mut owned = self.engine.held();
        owned.extend(self.control.owned().borrow().map(|epoch| (PartitionId::CONTROL, epoch)));
        owned
    }

    fn durable_end(&self, partition: PartitionId) -> Option<DurableEnd> {
        let last = self.journal.acknowledged(partition)?;
        let taken_in = self.taken_in.lock().expect("no holder of the lock panics");
        taken_in.get(&partition).map(|region| DurableEnd { region: *region, last })
    }

    fn lost(&self) -> watch::Receiver<u64> {
        self.lost.subscribe()
    }

    fn pause_calls(&self, paused: bool) {
        self.engine.hold_calls(paused);
    }
}
