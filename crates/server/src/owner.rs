//! What this instance holds for the cluster: partitions by its engine, the control partition by itself.

use std::collections::BTreeMap;
use std::time::Duration;

use cluster::Holder;
use engine::{Control, Engine};
use tokio::sync::watch;
use words::{Epoch, PartitionId};

use crate::journals::AnyJournal;

pub(crate) struct Owner {
    engine: Engine,
    control: Control<AnyJournal>,
    lost: watch::Sender<u64>,
}

impl Owner {
    pub fn new(engine: Engine, control: Control<AnyJournal>) -> Owner {
        let lost = watch::Sender::new(0);
        tell_losses(engine.lost(), lost.clone());
        tell_losses(control.owned(), lost.clone());
        Owner { engine, control, lost }
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

impl Holder for Owner {
    async fn take(&self, partition: PartitionId) -> Result<Epoch, String> {
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

    fn held(&self) -> BTreeMap<PartitionId, Epoch> {
        let mut held = self.engine.held();
        held.extend(self.control.owned().borrow().map(|epoch| (PartitionId::CONTROL, epoch)));
        held
    }

    fn lost(&self) -> watch::Receiver<u64> {
        self.lost.subscribe()
    }

    fn hold_calls(&self, hold: bool) {
        self.engine.hold_calls(hold);
    }
}
