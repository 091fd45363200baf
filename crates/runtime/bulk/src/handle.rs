//! Bulks as they are stored in the control partition: shown, started, stopped, forgotten.

use std::sync::Arc;

use api_types::{BulkAction, BulkState, BulkView, Time};
use engine::{Control, ExpectedVersion, KeepError};
use host::Clock;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tokio::sync::Mutex;

use crate::limits::{BULKS_ENDED_MAX, BULKS_RUNNING_MAX};
use crate::{ActionOutcome, Bulk, BulkError};

/// Where bulks are kept, and the ids of those that name their runs.
pub(crate) const BULK_DOCUMENTS: &str = "bulk";
pub(crate) const ID_DOCUMENTS: &str = "bulk.ids";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ActionLabels {
    action: &'static str,
    outcome: &'static str,
}

/// All bulks of the installation. Cheap to clone.
#[derive(Clone)]
pub struct Bulks {
    pub(crate) control: Control,
    pub(crate) clock: Clock,
    /// One begins at a time: those that run are counted first.
    beginning: Arc<Mutex<()>>,
    actions: Family<ActionLabels, Counter>,
}

impl Bulks {
    pub fn new(control: Control, clock: Clock, registry: &mut Registry) -> Bulks {
        let actions = Family::default();
        registry.register("sortie_bulk_actions", "Runs that bulks have dealt with", actions.clone());
        Bulks { control, clock, beginning: Arc::default(), actions }
    }

    /// Every bulk that is known, newest first.
    pub fn all(&self) -> Vec<BulkView> {
        let documents = self.control.documents().load();
        let mut all: Vec<_> =
            documents.all(BULK_DOCUMENTS).filter_map(|(_, document)| Bulk::read(document)).collect();
        all.sort_by(|a, b| (b.view.started_at.0, &b.view.id).cmp(&(a.view.started_at.0, &a.view.id)));
        all.into_iter().map(|bulk| bulk.view).collect()
    }

    pub fn get(&self, id: &str) -> Result<BulkView, BulkError> {
        Ok(self.stored(id)?.0.view)
    }

    /// The bulks that have not ended, each with its version.
    pub(crate) fn running(&self) -> Vec<(Bulk, u64)> {
        let documents = self.control.documents().load();
        let all = documents
            .all(BULK_DOCUMENTS)
            .filter_map(|(_, stored)| Some((Bulk::read(stored)?, stored.version)));
        all.filter(|(bulk, _)| bulk.is_running()).collect()
    }

    pub(crate) fn stored(&self, id: &str) -> Result<(Bulk, u64), BulkError> {
        let documents = self.control.documents().load();
        let found = documents
            .get(BULK_DOCUMENTS, id)
            .and_then(|document| Some((Bulk::read(document)?, document.version)));
        found.ok_or_else(|| BulkError::NotFound(format!("no bulk {id}")))
    }

    /// Ends a bulk before it is through. The actions in flight are still completed.
    pub async fn stop(&self, id: &str, by: &str) -> Result<BulkView, BulkError> {
        loop {
            let (mut bulk, version) = self.stored(id)?;
            if !bulk.is_running() {
                return Ok(bulk.view);
            }
            bulk.view.state = BulkState::Stopped;
            bulk.view.ended_at = Some(Time(self.clock.now()));
            bulk.view.waiting = None;
            match self.store(&bulk, by, ExpectedVersion::Version(version)).await {
                Ok(_) => return Ok(bulk.view),
                // Its driver has stored its progress; or, when that cannot be seen here, the partition changes owners.
                Err(KeepError::Changed { .. }) if self.stored(id)?.1 == version => {
                    return Err(KeepError::NotHeld.into());
                }
                Err(KeepError::Changed { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Stores a new bulk. From now on it is driven.
    pub(crate) async fn begin(&self, bulk: &Bulk, ids: &[String]) -> Result<(), BulkError> {
        let _alone = self.beginning.lock().await;
        let running = self.all().iter().filter(|view| view.state == BulkState::Running).count();
        if running >= BULKS_RUNNING_MAX {
            let text = format!("{running} bulks are running; wait for one to end, or stop one");
            return Err(BulkError::TooMany(text));
        }
        self.forget_old().await?;
        let (id, by) = (&bulk.view.id, &bulk.view.by);
        if !ids.is_empty() {
            let text = serde_json::to_string(ids).expect("texts can always be encoded");
            self.control.keep(ID_DOCUMENTS, id, Some(text), by, ExpectedVersion::Absent).await?;
        }
        self.store(bulk, by, ExpectedVersion::Absent).await?;
        Ok(())
    }

    /// Deletes bulks that ended long ago, and ids whose bulk is deleted or never began.
    async fn forget_old(&self) -> Result<(), BulkError> {
        let all = self.all();
        let ended = all.iter().filter(|view| view.state != BulkState::Running);
        for old in ended.skip(BULKS_ENDED_MAX - 1) {
            self.control.keep(BULK_DOCUMENTS, &old.id, None, "sortie", ExpectedVersion::Anything).await?;
        }
        let stored = self.control.documents().load();
        for (name, _) in stored.all(ID_DOCUMENTS) {
            // Also a bulk that cannot be read here may need its ids: its driver runs another version.
            if stored.get(BULK_DOCUMENTS, name).is_none() {
                self.control.keep(ID_DOCUMENTS, name, None, "sortie", ExpectedVersion::Anything).await?;
            }
        }
        Ok(())
    }

    pub(crate) async fn store(
        &self,
        bulk: &Bulk,
        by: &str,
        expected: ExpectedVersion,
    ) -> Result<u64, KeepError> {
        let version =
            self.control.keep(BULK_DOCUMENTS, &bulk.view.id, Some(bulk.text()), by, expected).await?;
        Ok(version.expect("a stored document has a version"))
    }

    /// The ids that a bulk was given, if they are there.
    pub(crate) fn ids(&self, id: &str) -> Option<Vec<String>> {
        let documents = self.control.documents().load();
        serde_json::from_str(&documents.get(ID_DOCUMENTS, id)?.text).ok()
    }

    pub(crate) fn count(&self, action: BulkAction, outcome: &ActionOutcome) {
        let outcome = match outcome {
            ActionOutcome::Done => "done",
            ActionOutcome::Skipped(_) => "skipped",
            ActionOutcome::Failed { .. } => "failed",
        };
        self.actions.get_or_create(&ActionLabels { action: action.as_str(), outcome }).inc();
    }
}
