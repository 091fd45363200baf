//! The handle that requests go through, and the first thing that it is asked: whether there is room.

use std::sync::Arc;

use host::Clock;
use journal::{DynJournal, Journal};
use view::{Ids, View};

use crate::admission::{Admission, Refusal, RefusalReason};
use crate::metrics::{IngestReading, Metrics, Reason};

/// Proof that there was room when a request arrived, so that it is checked once.
#[derive(Debug, Clone, Copy)]
pub struct Admitted(());

/// Accepts requests: checks them, makes them durable, acknowledges them. Refuses them when there is too much.
pub struct Ingest {
    pub(crate) journal: DynJournal,
    pub(crate) view: View,
    pub(crate) ids: Arc<Ids>,
    pub(crate) clock: Clock,
    pub(crate) partitions: u16,
    pub(crate) admission: Admission,
    pub(crate) metrics: Metrics,
}

impl Ingest {
    pub fn new<J: Journal>(
        journal: Arc<J>,
        view: View,
        ids: Arc<Ids>,
        clock: Clock,
        partitions: u16,
        admission: Admission,
        metrics: Metrics,
    ) -> Ingest {
        let journal = DynJournal::new(journal);
        Ingest { journal, view, ids, clock, partitions, admission, metrics }
    }

    /// Checks whether there is room for another request. Counts a refusal.
    pub fn admit(&self) -> Result<Admitted, Refusal> {
        let checked = self.admission.check(self.clock.now(), self.ids.len(), self.journal.room());
        checked.map(|()| Admitted(())).inspect_err(|refusal| {
            let reason = match refusal.reason {
                RefusalReason::Backlog => "backlog",
                RefusalReason::Disk => "disk",
                RefusalReason::Memory => "memory",
            };
            self.metrics.shed.get_or_create(&Reason { reason }).inc();
        })
    }

    /// What has been accepted and refused, as the metrics count it.
    pub fn reading(&self) -> IngestReading {
        self.metrics.read()
    }
}
