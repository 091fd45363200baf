//! The control partition: workflows and named documents, changed by durable events that every instance follows.

mod control_state;
mod documents;

use std::sync::Arc;

use host::Clock;
use journal::codec;
use journal::{AppendError, DynJournal, Journal, ReadError, Snapshot};
use tokio::sync::{Mutex, watch};
use types::{Epoch, PartitionId, Seq, WorkflowName};
use workflow::{Definition, Problems};

use self::control_state::{ControlEvent, ControlState};
pub use self::documents::{DocumentSet, Documents, ExpectedVersion, StoredDocument};
use crate::limits::{
    CLAIM_PATIENCE, DOCUMENT_BYTES_MAX, DOCUMENT_NAME_BYTES_MAX, DOCUMENTS_MAX, RECOVERY_READ_BYTES,
};
use crate::recovery::{SnapshotStore, in_time, snapshot_lost};
use crate::{Catalog, CatalogEntry, Catalogs};

/// The control partition, as its owner or as a follower. Cheap to clone.
#[derive(Clone)]
pub struct Control(Arc<ControlInner>);

struct ControlInner {
    journal: DynJournal,
    catalogs: Catalogs,
    documents: Documents,
    clock: Clock,
    // One change at a time: each is checked against the state that it changes. Locked across the commit.
    state: Mutex<ControlState>,
    /// The epoch under which it is owned here; changes only while the control state is locked.
    owned: watch::Sender<Option<Epoch>>,
}

/// The result of applying a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    pub name: WorkflowName,
    pub version: u32,
    /// False when the same text was already active.
    pub changed: bool,
}

/// Why a workflow was not applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error("{0}")]
    Invalid(Problems),
    #[error("route {route} belongs to workflow {owner}")]
    RouteTaken { route: String, owner: WorkflowName },
    #[error("the workflow is at version {current}, not at the version that If-Match names")]
    Changed { current: u32 },
    #[error("the control partition is not owned by this instance")]
    NotHeld,
    #[error(transparent)]
    Journal(#[from] AppendError),
}

/// Why a workflow was not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    #[error("no workflow has this name")]
    NotFound,
    #[error("the control partition is not owned by this instance")]
    NotHeld,
    #[error(transparent)]
    Journal(#[from] AppendError),
}

/// Why a document was not stored.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    #[error("the document has {bytes} bytes; at most {DOCUMENT_BYTES_MAX} are kept")]
    TooLarge { bytes: usize },
    #[error("the name has {bytes} bytes; at most {DOCUMENT_NAME_BYTES_MAX} are kept")]
    NameTooLong { bytes: usize },
    #[error("{DOCUMENTS_MAX} documents are kept there already; remove one first")]
    TooMany,
    #[error("the document has changed meanwhile")]
    Changed { current: Option<u64> },
    #[error("the control partition is not owned by this instance")]
    NotHeld,
    #[error(transparent)]
    Journal(#[from] AppendError),
}

/// Why the control partition cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("claiming the control partition: {0}")]
    Claim(#[from] AppendError),
    #[error("the journal has not answered the claim of the control partition for {} s", CLAIM_PATIENCE.as_secs())]
    Unanswered,
    #[error("reading the control partition: {0}")]
    Read(#[from] ReadError),
    #[error("the control partition could be read through {tail} only, and ends at {events_tail}")]
    Short { tail: Seq, events_tail: Seq },
    #[error("{}", snapshot_lost(PartitionId::CONTROL, *found, *first, *kept))]
    SnapshotLost { found: Seq, first: Seq, kept: SnapshotStore },
    #[error(
        "event {seq} of the control partition cannot be read; it was written by a newer version of Sortie"
    )]
    Decode { seq: Seq },
    #[error("version {version} of workflow {name} no longer parses: {problems}")]
    Definition { name: WorkflowName, version: u32, problems: Problems },
}

impl Control {
    /// Claims the control partition and reads every workflow.
    pub async fn open<J: Journal>(journal: Arc<J>, clock: Clock) -> Result<Control, ControlError> {
        let control = Control::follow(journal, clock);
        control.take().await?;
        Ok(control)
    }

    /// A follower, which has no state until its first read.
    pub fn follow<J: Journal>(journal: Arc<J>, clock: Clock) -> Control {
        let journal = DynJournal::new(journal);
        let (catalogs, documents) = (Catalogs::default(), Documents::default());
        let (state, owned) = (Mutex::default(), watch::Sender::default());
        Control(Arc::new(ControlInner { journal, catalogs, documents, clock, state, owned }))
    }

    /// Becomes the owner: from now on this instance makes the changes.
    pub async fn take(&self) -> Result<Epoch, ControlError> {
        let inner = &self.0;
        let mut state = inner.state.lock().await;
        let claimed = in_time(&inner.journal, inner.journal.claim(PartitionId::CONTROL)).await;
        let claim = claimed.map_err(|_| ControlError::Unanswered)??;
        // From the beginning: a follower may have read a history that a forced failover has replaced.
        *state = ControlState::default();
        inner.catch_up(&mut state).await?;
        if state.tail < claim.events_tail {
            return Err(ControlError::Short { tail: state.tail, events_tail: claim.events_tail });
        }
        inner.owned.send_replace(Some(claim.epoch));
        inner.snapshot(&state, claim.epoch).await;
        Ok(claim.epoch)
    }

    /// Stops making changes and becomes a follower.
    pub async fn release(&self) {
        let _state = self.0.state.lock().await;
        self.0.owned.send_replace(None);
    }

    /// The epoch under which the control partition is owned here, while it is.
    pub fn owned(&self) -> watch::Receiver<Option<Epoch>> {
        self.0.owned.subscribe()
    }

    /// Makes the next read start over. Owned state stays as it is until then: it was read from the beginning.
    pub async fn forget(&self) {
        self.0.state.lock().await.outlived = true;
    }

    /// Reads the changes that other instances have made since the last read.
    pub async fn look(&self) -> Result<(), ControlError> {
        let mut state = self.0.state.lock().await;
        if self.0.owned.borrow().is_some() {
            return Ok(());
        }
        if state.outlived {
            *state = ControlState::default();
        }
        self.0.catch_up(&mut state).await
    }

    pub fn catalogs(&self) -> &Catalogs {
        &self.0.catalogs
    }

    pub fn documents(&self) -> &Documents {
        &self.0.documents
    }

    /// Replaces the document of this kind and name, or removes it. Returns the version that is stored now. A text
    /// that is already stored is not written again.
    pub async fn keep(
        &self,
        kind: &str,
        name: &str,
        document: Option<String>,
        by: &str,
        expected: ExpectedVersion,
    ) -> Result<Option<u64>, KeepError> {
        let (inner, kind, name, by) = (self.0.clone(), kind.to_owned(), name.to_owned(), by.to_owned());
        let kept =
            host::spawn("keep document", async move { inner.keep(kind, name, document, by, expected).await });
        kept.await.expect("a task that panics takes the process down")
    }

    /// Makes a definition the current version of its workflow. `if_version` must be the current one, if given.
    pub async fn apply(
        &self,
        source: &str,
        by: &str,
        if_version: Option<u32>,
    ) -> Result<Applied, ApplyError> {
        let (inner, source, by) = (self.0.clone(), source.to_owned(), by.to_owned());
        // A task of its own: a client that disconnects must not leave a change half made.
        let applied =
            host::spawn("apply workflow", async move { inner.apply(&source, &by, if_version).await });
        applied.await.expect("a task that panics takes the process down")
    }

    /// Ends a workflow: new requests are refused, running runs continue with their versions.
    pub async fn delete(&self, name: &WorkflowName, by: &str) -> Result<(), DeleteError> {
        let (inner, name, by) = (self.0.clone(), name.clone(), by.to_owned());
        let deleted = host::spawn("delete workflow", async move { inner.delete(&name, &by).await });
        deleted.await.expect("a task that panics takes the process down")
    }
}

impl ControlInner {
    async fn apply(&self, source: &str, by: &str, if_version: Option<u32>) -> Result<Applied, ApplyError> {
        let definition = Definition::parse(source).map_err(ApplyError::Invalid)?;
        let name = definition.name().clone();
        let mut state = self.state.lock().await;
        let Some(epoch) = *self.owned.borrow() else { return Err(ApplyError::NotHeld) };
        let catalog = self.catalogs.load();
        let current = catalog.current(&name);
        let current_version = current.map_or(0, |entry| entry.version);
        if if_version.is_some_and(|version| version != current_version) {
            return Err(ApplyError::Changed { current: current_version });
        }
        if let Some(entry) = current.filter(|entry| entry.definition.source() == source) {
            return Ok(Applied { name, version: entry.version, changed: false });
        }
        if let Some(route) = definition.accept().route()
            && let Some(other) = catalog.by_route(route)
            && *other.definition.name() != name
        {
            let owner = other.definition.name().clone();
            return Err(ApplyError::RouteTaken { route: route.to_owned(), owner });
        }
        let version = catalog.latest_version(&name) + 1;
        let (at, by, source) = (self.clock.now(), by.to_owned(), source.to_owned());
        self.commit(
            &mut state,
            epoch,
            ControlEvent::WorkflowApplied { name: name.clone(), version, source, at, by: by.clone() },
        )
        .await?;
        let mut next = Catalog::clone(&catalog);
        next.insert(CatalogEntry {
            version,
            definition: Arc::new(definition),
            applied_at: at,
            applied_by: by.into(),
        });
        self.catalogs.store(next);
        state.catalog_is_known();
        Ok(Applied { name, version, changed: true })
    }

    async fn delete(&self, name: &WorkflowName, by: &str) -> Result<(), DeleteError> {
        let mut state = self.state.lock().await;
        let Some(epoch) = *self.owned.borrow() else { return Err(DeleteError::NotHeld) };
        let catalog = self.catalogs.load();
        catalog.current(name).ok_or(DeleteError::NotFound)?;
        let (at, by) = (self.clock.now(), by.to_owned());
        self.commit(&mut state, epoch, ControlEvent::WorkflowDeleted { name: name.clone(), at, by }).await?;
        let mut next = Catalog::clone(&catalog);
        next.retire(name);
        self.catalogs.store(next);
        state.catalog_is_known();
        Ok(())
    }

    async fn keep(
        &self,
        kind: String,
        name: String,
        document: Option<String>,
        by: String,
        expected: ExpectedVersion,
    ) -> Result<Option<u64>, KeepError> {
        let bytes = document.as_ref().map_or(0, String::len);
        if bytes > DOCUMENT_BYTES_MAX {
            return Err(KeepError::TooLarge { bytes });
        }
        if name.len() > DOCUMENT_NAME_BYTES_MAX {
            return Err(KeepError::NameTooLong { bytes: name.len() });
        }
        let mut state = self.state.lock().await;
        let Some(epoch) = *self.owned.borrow() else { return Err(KeepError::NotHeld) };
        let current = state.documents.get(&kind, &name);
        let current_version = current.map(|current| current.version);
        if !expected.holds(current_version) {
            return Err(KeepError::Changed { current: current_version });
        }
        if current.map(|current| &*current.text) == document.as_deref() {
            return Ok(current_version);
        }
        if current.is_none() && state.documents.count(&kind) >= DOCUMENTS_MAX {
            return Err(KeepError::TooMany);
        }
        // The number of its frame, which no other change ever has.
        let version = state.tail.next().0;
        let kept = document.is_some().then_some(version);
        let event = ControlEvent::Kept { kind, name, version, document, at: self.clock.now(), by };
        self.commit(&mut state, epoch, event).await?;
        self.documents.store(&state.documents);
        Ok(kept)
    }

    async fn commit(
        &self,
        state: &mut ControlState,
        epoch: Epoch,
        event: ControlEvent,
    ) -> Result<(), AppendError> {
        let frame = codec::encode(&event);
        match self.journal.append(PartitionId::CONTROL, epoch, state.tail, frame).await {
            Ok(seq) => state.tail = seq,
            Err(error @ (AppendError::Full | AppendError::TooLarge { .. })) => return Err(error),
            Err(error) => {
                // The next owner reads what was stored.
                tracing::warn!(%error, "released the control partition");
                self.owned.send_replace(None);
                return Err(error);
            }
        }
        state.push(event);
        self.snapshot(state, epoch).await;
        Ok(())
    }

    /// Reads all events after the known state, from a newer snapshot if the journal has trimmed the next event.
    async fn catch_up(&self, state: &mut ControlState) -> Result<(), ControlError> {
        loop {
            match self.journal.read(PartitionId::CONTROL, state.tail.next(), RECOVERY_READ_BYTES).await {
                Ok(records) if records.is_empty() => break,
                Ok(records) => {
                    for record in records {
                        let event = codec::decode(&record.bytes)
                            .map_err(|_| ControlError::Decode { seq: record.seq })?;
                        state.push(event);
                        state.tail = record.seq;
                    }
                }
                Err(ReadError::Trimmed { first, .. }) => self.read_snapshot(state, first).await?,
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(catalog) = state.changed_catalog()? {
            self.catalogs.store(catalog);
        }
        self.documents.store(&state.documents);
        Ok(())
    }

    /// The journal begins at `first`: the snapshot must cover everything before it.
    async fn read_snapshot(&self, state: &mut ControlState, first: Seq) -> Result<(), ControlError> {
        let snapshot = self.journal.snapshot_get(PartitionId::CONTROL).await?;
        let found = snapshot.as_ref().map_or(Seq::ZERO, |snapshot| snapshot.through);
        match snapshot.filter(|snapshot| snapshot.through > state.tail && snapshot.through.next() >= first) {
            None => {
                let (found, kept) = (found.max(state.tail), SnapshotStore::by(&self.journal));
                Err(ControlError::SnapshotLost { found, first, kept })
            }
            Some(snapshot) => {
                state.restore(&snapshot.bytes, found).map_err(|_| ControlError::Decode { seq: found })
            }
        }
    }

    /// Writes the control state to a snapshot and trims the journal: one log contains all partitions, and
    /// the oldest frame that is still needed keeps all later ones.
    async fn snapshot(&self, state: &ControlState, epoch: Epoch) {
        if state.tail == Seq::ZERO {
            return;
        }
        let snapshot = Snapshot { through: state.tail, bytes: state.snapshot() };
        let stored = match self.journal.snapshot_put(PartitionId::CONTROL, epoch, snapshot).await {
            Ok(()) => self.journal.trim(PartitionId::CONTROL, epoch, state.tail.next(), Seq(1)).await,
            Err(error) => Err(error),
        };
        if let Err(error) = stored {
            tracing::warn!(%error, "control snapshot failed; the journal keeps growing");
        }
    }
}
