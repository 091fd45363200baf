//! Periodic work: gauges, snapshots that keep the journal small, and deletion of old runs.

use std::sync::{Arc, Weak};
use std::time::Duration;

use engine::Engine;
use host::Clock;
use journal::Journal;
use journal_nats::preflight::Survey;
use tokio::sync::watch;
use types::{PartitionId, Span};
use view::{Ids, View};

use crate::gauges::Gauges;
use crate::journals::AnyJournal;

/// Often enough that the journal grows little in between, and rare enough to cost nothing.
const EVERY: Duration = Duration::from_secs(2);

/// Runs that one round deletes from a partition: keeps up with 16,000 ended runs per second on 32 partitions.
const FORGET_MAX: usize = 1000;

pub(crate) struct Housekeeper {
    /// Weak, so that the journal can be closed while this waits.
    pub journal: Weak<AnyJournal>,
    pub view: View,
    pub ids: Arc<Ids>,
    pub engine: Engine,
    pub gauges: Gauges,
    pub journal_bytes_max: u64,
    pub partitions: u16,
    pub keep_ended: Span,
    /// What the NATS servers report about their configuration, in a cluster.
    pub survey: Option<watch::Receiver<Survey>>,
    pub clock: Clock,
}

impl Housekeeper {
    pub async fn run(self) {
        loop {
            let Some(journal) = self.journal.upgrade() else { return };
            let (room, refused, capabilities) = (journal.room(), journal.fenced(), journal.capabilities());
            let gaps = journal.inbox_gaps();
            drop(journal);
            self.gauges.frames_refused.inc_by(refused - self.gauges.frames_refused.get());
            self.gauges.inbox_gaps.inc_by(gaps - self.gauges.inbox_gaps.get());
            self.gauges.disk_free_bytes.set(signed(room.free_bytes));
            self.gauges.journal_bytes.set(signed(room.used_bytes));
            self.gauges.view_bytes.set(signed(self.view.sizes().disk_bytes));
            if let Some(survey) = &self.survey {
                let survey = survey.borrow();
                self.gauges.servers_unfit.set(signed(survey.unfit.len() as u64));
                self.gauges.servers_silent.set(signed(survey.silent as u64));
            }
            self.gauges.unfinished.set(signed(self.ids.len() as u64));
            if room.used_bytes > self.journal_bytes_max && capabilities.has_one_log {
                // All partitions share one log: an idle partition never reaches its own threshold and would keep the
                // oldest segment for ever.
                self.engine.ask_snapshots();
            }
            self.forget_old().await;
            tokio::time::sleep(EVERY).await;
        }
    }
}

impl Housekeeper {
    /// Deletes the oldest ended runs from the view, a few at a time.
    async fn forget_old(&self) {
        let (view, before) = (self.view.clone(), self.clock.now() - self.keep_ended);
        let partitions = (0..self.partitions).map(PartitionId);
        let forgotten = tokio::task::spawn_blocking(move || {
            for partition in partitions {
                if let Err(error) = view.forget_before(partition, before, FORGET_MAX) {
                    tracing::debug!(%partition, %error, "could not delete old runs");
                }
            }
        });
        forgotten.await.expect("forgetting does not panic");
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
