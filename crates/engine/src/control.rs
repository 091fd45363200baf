//! The control partition: workflows, applied and deleted as durable events that every instance follows.

use std::sync::Arc;

use definition::{Definition, Problems};
use host::Clock;
use journal::codec;
use journal::{AppendError, Journal, ReadError, Snapshot};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use words::{Epoch, PartitionId, Seq, Timestamp, WorkflowName};

use crate::limits::RECOVERY_READ_BYTES;
use crate::recovery::snapshot_lost;
use crate::{Catalog, Catalogs, Entry};

/// A fact of the control partition. Read for ever: variants are only added, at the end.
#[derive(Debug, Serialize, Deserialize)]
enum ControlEvent {
    WorkflowApplied { name: WorkflowName, version: u32, source: String, at: Timestamp, by: String },
    WorkflowDeleted { name: WorkflowName, at: Timestamp, by: String },
}

/// The owner of the control partition. Cheap to clone.
pub struct Control<J>(Arc<Inner<J>>);

impl<J> Clone for Control<J> {
    fn clone(&self) -> Control<J> {
        Control(self.0.clone())
    }
}

struct Inner<J> {
    journal: Arc<J>,
    catalogs: Catalogs,
    clock: Clock,
    // One change at a time: each is checked against the catalog that it changes. Held across the commit.
    owner: Mutex<Owner>,
}

struct Owner {
    epoch: Epoch,
    tail: Seq,
    /// All that ever happened: a snapshot is made of it, and it is small.
    history: Vec<ControlEvent>,
}

/// What applying a workflow came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    pub name: WorkflowName,
    pub version: u32,
    /// False when the same text was already in force.
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
    #[error(transparent)]
    Journal(#[from] AppendError),
}

/// Why a workflow was not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    #[error("no workflow has this name")]
    NotFound,
    #[error(transparent)]
    Journal(#[from] AppendError),
}

/// Why the control partition cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("claiming the control partition: {0}")]
    Claim(#[from] AppendError),
    #[error("reading the control partition: {0}")]
    Read(#[from] ReadError),
    #[error("{}", snapshot_lost(PartitionId::CONTROL, *found, *first))]
    SnapshotLost { found: Seq, first: Seq },
    #[error(
        "event {seq} of the control partition cannot be read; it was written by a newer version of Sortie"
    )]
    Decode { seq: Seq },
    #[error("version {version} of workflow {name} no longer parses: {problems}")]
    Definition { name: WorkflowName, version: u32, problems: Problems },
}

impl<J: Journal> Control<J> {
    /// Claims the control partition and reads every workflow.
    pub async fn open(journal: Arc<J>, clock: Clock) -> Result<Control<J>, ControlError> {
        let claim = journal.claim(PartitionId::CONTROL).await?;
        let mut history: Vec<ControlEvent> = Vec::new();
        let mut tail = Seq::ZERO;
        if let Some(snapshot) = journal.snapshot_get(PartitionId::CONTROL).await? {
            tail = snapshot.through;
            history = codec::decode(&snapshot.bytes).map_err(|_| ControlError::Decode { seq: tail })?;
        }
        while tail < claim.events_tail {
            let records = journal.read(PartitionId::CONTROL, tail.next(), RECOVERY_READ_BYTES).await;
            for record in records.map_err(|error| behind_snapshot(error, tail))? {
                let event =
                    codec::decode(&record.bytes).map_err(|_| ControlError::Decode { seq: record.seq })?;
                history.push(event);
                tail = record.seq;
            }
        }
        let mut catalog = Catalog::default();
        for event in &history {
            evolve(&mut catalog, event)?;
        }
        let catalogs = Catalogs::default();
        catalogs.store(catalog);
        let owner = Mutex::new(Owner { epoch: claim.epoch, tail, history });
        let control = Control(Arc::new(Inner { journal, catalogs, clock, owner }));
        control.0.snapshot(&*control.0.owner.lock().await).await;
        Ok(control)
    }

    pub fn catalogs(&self) -> &Catalogs {
        &self.0.catalogs
    }

    /// Makes a definition the current version of its workflow. `if_version` must be the current one, if given.
    pub async fn apply(
        &self,
        source: &str,
        by: &str,
        if_version: Option<u32>,
    ) -> Result<Applied, ApplyError> {
        let (inner, source, by) = (self.0.clone(), source.to_owned(), by.to_owned());
        // A task of its own: a client that goes away must not leave a change half made.
        let applied =
            host::spawn("apply workflow", async move { inner.apply(&source, &by, if_version).await });
        applied.await.expect("a task that panics takes the process down")
    }

    /// Ends a workflow: new requests are refused, runs under way go on with their versions.
    pub async fn delete(&self, name: &WorkflowName, by: &str) -> Result<(), DeleteError> {
        let (inner, name, by) = (self.0.clone(), name.clone(), by.to_owned());
        let deleted = host::spawn("delete workflow", async move { inner.delete(&name, &by).await });
        deleted.await.expect("a task that panics takes the process down")
    }
}

impl<J: Journal> Inner<J> {
    async fn apply(&self, source: &str, by: &str, if_version: Option<u32>) -> Result<Applied, ApplyError> {
        let definition = Definition::parse(source).map_err(ApplyError::Invalid)?;
        let name = definition.name().clone();
        let mut owner = self.owner.lock().await;
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
            &mut owner,
            ControlEvent::WorkflowApplied { name: name.clone(), version, source, at, by: by.clone() },
        )
        .await?;
        let mut next = Catalog::clone(&catalog);
        next.insert(Entry {
            version,
            definition: Arc::new(definition),
            applied_at: at,
            applied_by: by.into(),
        });
        self.catalogs.store(next);
        Ok(Applied { name, version, changed: true })
    }

    async fn delete(&self, name: &WorkflowName, by: &str) -> Result<(), DeleteError> {
        let mut owner = self.owner.lock().await;
        let catalog = self.catalogs.load();
        catalog.current(name).ok_or(DeleteError::NotFound)?;
        let (at, by) = (self.clock.now(), by.to_owned());
        self.commit(&mut owner, ControlEvent::WorkflowDeleted { name: name.clone(), at, by }).await?;
        let mut next = Catalog::clone(&catalog);
        next.retire(name);
        self.catalogs.store(next);
        Ok(())
    }

    async fn commit(&self, owner: &mut Owner, event: ControlEvent) -> Result<(), AppendError> {
        let frame = codec::encode(&event);
        owner.tail = self.journal.append(PartitionId::CONTROL, owner.epoch, owner.tail, frame).await?;
        owner.history.push(event);
        self.snapshot(owner).await;
        Ok(())
    }

    /// Keeps the history in a snapshot and lets the journal forget its frames: one log holds all partitions, and
    /// the oldest frame that anybody needs keeps everything behind it.
    async fn snapshot(&self, owner: &Owner) {
        if owner.tail == Seq::ZERO {
            return;
        }
        let snapshot = Snapshot { through: owner.tail, bytes: codec::encode(&owner.history) };
        let stored = match self.journal.snapshot_put(PartitionId::CONTROL, snapshot).await {
            Ok(()) => self.journal.trim(PartitionId::CONTROL, owner.tail.next(), Seq(1)).await,
            Err(error) => Err(error),
        };
        if let Err(error) = stored {
            tracing::warn!(%error, "the workflows could not be kept in a snapshot; the journal keeps growing");
        }
    }
}

fn behind_snapshot(error: ReadError, found: Seq) -> ControlError {
    match error {
        ReadError::Trimmed { first, .. } => ControlError::SnapshotLost { found, first },
        error => ControlError::Read(error),
    }
}

fn evolve(catalog: &mut Catalog, event: &ControlEvent) -> Result<(), ControlError> {
    match event {
        ControlEvent::WorkflowApplied { name, version, source, at, by } => {
            let definition = Definition::parse(source).map_err(|problems| ControlError::Definition {
                name: name.clone(),
                version: *version,
                problems,
            })?;
            catalog.insert(Entry {
                version: *version,
                definition: Arc::new(definition),
                applied_at: *at,
                applied_by: by.as_str().into(),
            });
        }
        ControlEvent::WorkflowDeleted { name, .. } => catalog.retire(name),
    }
    Ok(())
}
