//! Snapshots: the state as bytes, so that the journal before it can be forgotten.
//!
//! The order is what keeps it safe: the state is encoded at frame S, the view is flushed with all that ended
//! up to S, the snapshot is made durable, and only then is the journal trimmed.

use journal::{Journal, Snapshot};
use words::Seq;

use super::{Message, Partition};

/// When the next snapshot is due.
pub(crate) struct Schedule {
    through: Seq,
    bytes_since: u64,
    asked: bool,
    under_way: bool,
}

impl Schedule {
    pub fn new(through: Seq, bytes_since: u64) -> Schedule {
        Schedule { through, bytes_since, asked: false, under_way: false }
    }

    pub fn note_frame(&mut self, bytes: usize) {
        self.bytes_since += bytes as u64;
    }

    pub fn ask(&mut self) {
        self.asked = true;
    }

    fn is_due(&self, tail: Seq, bytes_max: u64) -> bool {
        !self.under_way && tail > self.through && (self.asked || self.bytes_since >= bytes_max)
    }
}

impl<J: Journal> Partition<J> {
    pub(super) fn snapshot_if_due(&mut self) {
        if !self.snapshots.is_due(self.tail, self.shared.settings.snapshot_after_bytes) {
            return;
        }
        self.snapshots =
            Schedule { through: self.snapshots.through, bytes_since: 0, asked: false, under_way: true };
        let (id, through, inbox) = (self.id, self.tail, self.state.inbox_through());
        let bytes = journal::codec::encode(&self.state);
        let (shared, tx) = (self.shared.clone(), self.tx.clone());
        host::spawn("snapshot", async move {
            let view = shared.view.clone();
            let flushed = tokio::task::spawn_blocking(move || view.flush(id, through)).await;
            let stored = match flushed.expect("a flush does not panic") {
                Ok(()) => shared
                    .journal
                    .snapshot_put(id, Snapshot { through, bytes })
                    .await
                    .map_err(|e| e.to_string()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(error) = &stored {
                tracing::error!(partition = %id, error, "a snapshot failed; the journal keeps growing");
            }
            // A partition that has stopped meanwhile trims after its next snapshot.
            let _ = tx.send(Message::SnapshotDone { through: stored.is_ok().then_some(through), inbox });
        });
    }

    pub(super) fn trim(&mut self, through: Option<Seq>, inbox: Seq) {
        self.snapshots.under_way = false;
        let Some(through) = through else { return };
        self.snapshots.through = through;
        let (shared, id) = (self.shared.clone(), self.id);
        host::spawn("trim", async move {
            if let Err(error) = shared.journal.trim(id, through.next(), inbox.next()).await {
                tracing::warn!(partition = %id, %error, "the journal could not be trimmed");
            }
        });
    }
}
