//! Snapshots: the encoded state, so that earlier frames of the journal can be trimmed.
//!
//! The order makes it safe: the state is encoded at frame S, the view is flushed with every run that ended
//! up to S, the snapshot is made durable, and only then is the journal trimmed. When the next owner may be on another
//! machine, the tables of the view are stored before the snapshot.

use journal::{Journal, Snapshot};
use types::{Epoch, PartitionId, Seq};

use super::{EngineParts, Partition, PartitionMessage};

/// When the next snapshot is due.
pub(crate) struct SnapshotSchedule {
    through: Seq,
    bytes_since: u64,
    /// Bytes of the last snapshot.
    size: u64,
    asked: bool,
    running: bool,
}

impl SnapshotSchedule {
    pub fn new(through: Seq, bytes_since: u64) -> SnapshotSchedule {
        SnapshotSchedule { through, bytes_since, size: 0, asked: false, running: false }
    }

    pub fn note_frame(&mut self, bytes: usize) {
        self.bytes_since += bytes as u64;
    }

    pub fn ask(&mut self) {
        self.asked = true;
    }

    pub fn is_running(&self) -> bool {
        self.running
    }

    /// Whether anything happened since the last snapshot.
    pub fn has_news(&self, tail: Seq) -> bool {
        tail > self.through
    }

    fn is_due(&self, tail: Seq, bytes_max: u64) -> bool {
        // At least the size of the last snapshot: then writing snapshots never costs more than writing events.
        let enough = self.bytes_since >= bytes_max.max(self.size);
        !self.running && self.has_news(tail) && (self.asked || enough)
    }
}

impl<J: Journal> Partition<J> {
    pub(super) fn snapshot_if_due(&mut self) {
        if !self.snapshots.is_due(self.tail, self.shared.settings.snapshot_after_bytes) {
            return;
        }
        let (id, epoch, through) = (self.id, self.epoch, self.tail);
        let inbox = self.state.inbox_through();
        let bytes = journal::codec::encode_pair(&self.state, &self.queues);
        self.snapshots = SnapshotSchedule {
            through: self.snapshots.through,
            bytes_since: 0,
            size: bytes.len() as u64,
            asked: false,
            running: true,
        };
        let (shared, tx) = (self.shared.clone(), self.tx.clone());
        host::spawn("snapshot", async move {
            let stored = store(&shared, id, epoch, Snapshot { through, bytes }, inbox).await;
            // Released first: a caller that learns that the snapshot is done may close the journal.
            drop(shared);
            if let Err(error) = &stored {
                tracing::error!(partition = %id, error, "snapshot failed; the journal keeps growing");
            }
            // A partition that has stopped meanwhile trims after its next snapshot.
            let _ = tx.send(PartitionMessage::SnapshotDone { through: stored.is_ok().then_some(through) });
        });
    }

    pub(super) fn snapshot_done(&mut self, through: Option<Seq>) {
        self.snapshots.running = false;
        self.snapshots.through = through.unwrap_or(self.snapshots.through);
    }
}

async fn store<J: Journal>(
    shared: &EngineParts<J>,
    id: PartitionId,
    epoch: Epoch,
    snapshot: Snapshot,
    inbox: Seq,
) -> Result<(), String> {
    let through = snapshot.through;
    keep_view(shared, id, epoch, through).await?;
    shared.journal.snapshot_put(id, epoch, snapshot).await.map_err(|error| error.to_string())?;
    shared.journal.trim(id, epoch, through.next(), inbox.next()).await.map_err(|error| error.to_string())
}

/// Makes the contents of the view through this frame durable, where the next owner finds them.
async fn keep_view<J: Journal>(
    shared: &EngineParts<J>,
    id: PartitionId,
    epoch: Epoch,
    through: Seq,
) -> Result<(), String> {
    let view = shared.view.clone();
    if !shared.journal.capabilities().snapshots_carry_tables {
        let flushed = host::run_blocking(move || view.flush(id, through)).await;
        return flushed.map_err(|error| error.to_string());
    }
    let checkpoint = move || {
        let staging = view.staging(id)?;
        view.checkpoint(id, through, staging.path())?;
        Ok(staging)
    };
    let staging = host::run_blocking(checkpoint).await.map_err(|error: view::Error| error.to_string())?;
    let put = shared.journal.tables_put(id, epoch, through, staging.path().to_owned()).await;
    host::run_blocking(move || drop(staging)).await;
    put.map_err(|error| error.to_string())
}
