//! Snapshots in an object store: tables and state are stored first, then the manifest that names them.
//!
//! **Deleting.** Old snapshots are deleted only after the events were trimmed up to a newer one: a paired region that has
//! fewer events may need an older snapshot. An owner keeps the newest [`MANIFESTS_KEPT`] manifests of its own and lower
//! epochs and all manifests of higher epochs, and deletes objects of its own and lower epochs that no kept manifest names.
//! So an owner that was fenced and does not know it cannot delete what its successor needs. The successor reads the newest
//! manifest after its claim; since then the fenced owner can append nothing, so it can complete at most the snapshot in
//! progress and one more, and the manifest that was read is still among the newest three. The last manifest of a fenced
//! owner may name objects that were deleted meanwhile, but it ends before the claim, and every manifest of the successor
//! ends after it, so it is never the newest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use journal::{AppendError, ReadError, Snapshot};
use tokio::time::Instant;
use types::{Epoch, PartitionId, Seq};

use crate::files::{self, Found, Identity};
use crate::manifest::{INLINE_BYTES_MAX, Layout, Manifest, Object, Place, TableFile};
use crate::remembered::{Local, MANIFESTS_KEPT, Remembered, Void};
use crate::retrying::Retrying;
use crate::store::{Store, StoreError};
use journal_nats::{Snapshots, Version};

/// Objects that are transferred concurrently, each of them in memory: four tables of 16 MiB.
const UNDER_WAY_MAX: usize = 4;

/// How often interrupted uploads are swept, and how old they must be: no upload takes that long.
const SWEEP_EVERY: Duration = Duration::from_secs(3600);
const UNFINISHED_AGE: Duration = Duration::from_secs(3600);

/// The snapshots of an installation in an object store.
pub struct StoredSnapshots<S> {
    store: Retrying<S>,
    installation: String,
    /// What is remembered about each partition.
    // A lock: never held across an await.
    partitions: Mutex<BTreeMap<PartitionId, Remembered>>,
    /// When interrupted uploads were last swept.
    swept: Mutex<Instant>,
}

impl<S: Store> StoredSnapshots<S> {
    pub fn new(store: S, installation: &str) -> StoredSnapshots<S> {
        StoredSnapshots {
            store: Retrying(store),
            installation: installation.to_owned(),
            partitions: Mutex::default(),
            swept: Mutex::new(Instant::now()),
        }
    }

    fn layout(&self, partition: PartitionId) -> Layout {
        Layout::new(&self.installation, partition)
    }

    fn remembered<T>(&self, partition: PartitionId, with: impl FnOnce(&mut Remembered) -> T) -> T {
        let mut partitions = self.partitions.lock().expect("no panic under this lock");
        with(partitions.entry(partition).or_default())
    }

    async fn store_manifest(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        snapshot: Snapshot,
        tables: Option<Vec<Local>>,
    ) -> Result<(), StoreError> {
        let (layout, through) = (self.layout(partition), snapshot.through);
        let state = layout.state(epoch, through, &snapshot.bytes);
        self.store.put(&state.name, snapshot.bytes.clone()).await?;
        let files = tables.as_ref().map(|files| files.iter().map(|local| local.file.clone()).collect());
        let manifest = Manifest { partition, through, epoch, state, tables: files };
        let (name, bytes) = (layout.manifest(through, epoch), manifest.encode());
        self.store.put(&name, bytes.clone()).await?;
        self.remembered(partition, |held| held.remember(manifest, &tables.unwrap_or_default()));
        Ok(())
    }

    async fn store_table(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        found: Found,
    ) -> Result<Local, StoreError> {
        let (identity, name) = (found.identity, found.name.clone());
        let local = |name, place| Local { identity, file: TableFile { name, place } };
        if let Some(object) = self.remembered(partition, |held| held.by_identity(&found)) {
            return Ok(local(name, Place::There(object)));
        }
        let bytes = host::run_blocking(move || found.read()).await;
        let bytes = bytes.map_err(|error| StoreError::new("reading the table", &name, error))?;
        if bytes.len() <= INLINE_BYTES_MAX {
            return Ok(local(name, Place::Here(bytes)));
        }
        let fresh = self.layout(partition).table(epoch, &name, &bytes);
        let object = match self.remembered(partition, |held| held.by_content(&fresh, &name)) {
            Some(object) => object,
            None => {
                self.store.put(&fresh.name, bytes).await?;
                fresh
            }
        };
        Ok(local(name, Place::There(object)))
    }

    /// The newest manifest before `before`. An unreadable manifest is an error: its predecessor would be an older state.
    async fn newest(
        &self,
        partition: PartitionId,
        before: Option<Version>,
    ) -> Result<Option<Manifest>, ReadError> {
        let layout = self.layout(partition);
        let names = self.store.list(&layout.manifests()).await;
        let names = names.map_err(|error| unreadable(partition, error))?;
        let versions = names.iter().filter_map(|name| layout.parse_manifest(name));
        let Some(newest) = versions.filter(|version| before.is_none_or(|before| *version < before)).max()
        else {
            return Ok(None);
        };
        self.manifest(partition, newest).await.map(Some)
    }

    async fn manifest(&self, partition: PartitionId, at: Version) -> Result<Manifest, ReadError> {
        let name = self.layout(partition).manifest(at.1, at.0);
        let bytes = self.object(partition, &name).await?;
        let manifest = Manifest::decode(&bytes).map_err(|detail| damaged(partition, &name, &detail))?;
        if (manifest.partition, manifest.epoch, manifest.through) != (partition, at.0, at.1) {
            return Err(damaged(partition, &name, "it is another snapshot's"));
        }
        Ok(manifest)
    }

    async fn checked(&self, partition: PartitionId, object: &Object) -> Result<Bytes, ReadError> {
        let bytes = self.object(partition, &object.name).await?;
        match object.mismatch(&bytes) {
            None => Ok(bytes),
            Some(detail) => Err(ReadError::Damaged { partition, detail: format!("the snapshot: {detail}") }),
        }
    }

    async fn object(&self, partition: PartitionId, name: &str) -> Result<Bytes, ReadError> {
        let bytes = self.store.get(name).await;
        let bytes = bytes.map_err(|error| unreadable(partition, error))?;
        bytes.ok_or_else(|| damaged(partition, name, "it is missing"))
    }

    async fn bring(
        &self,
        partition: PartitionId,
        file: &TableFile,
        dir: PathBuf,
    ) -> Result<Identity, ReadError> {
        let bytes = match &file.place {
            Place::Here(bytes) => bytes.clone(),
            Place::There(object) => self.checked(partition, object).await?,
        };
        let name = file.name.clone();
        let written = host::run_blocking(move || files::write(&dir, &name, &bytes)).await;
        written
            .map_err(|error| unreadable(partition, StoreError::new("writing the table", &file.name, error)))
    }

    /// Deletes the objects that no kept snapshot needs; see the top of this file.
    async fn delete_old(&self, partition: PartitionId, epoch: Epoch) -> Result<(), String> {
        let layout = self.layout(partition);
        let names = self.store.list(&layout.root).await.map_err(|error| error.to_string())?;
        let (higher, mut own): (BTreeSet<_>, BTreeSet<_>) =
            names.iter().filter_map(|name| layout.parse_manifest(name)).partition(|(of, _)| *of > epoch);
        let mut old = Vec::new();
        while own.len() > MANIFESTS_KEPT {
            old.extend(own.pop_first());
        }
        let mut needed = BTreeSet::new();
        for at in higher.into_iter().chain(own) {
            let manifest = match self.remembered(partition, |held| held.manifests.get(&at).cloned()) {
                Some(manifest) => manifest,
                None => self.manifest(partition, at).await.map_err(|error| error.to_string())?,
            };
            needed.extend(manifest.objects().map(str::to_owned));
        }
        // A listing may lag and lack the newest manifests.
        self.remembered(partition, |held| {
            needed.extend(held.manifests.values().flat_map(Manifest::objects).map(str::to_owned));
        });
        // Manifests are deleted first, so that none names a deleted object.
        let old = old.into_iter().map(|(of, through)| layout.manifest(through, of));
        let unneeded = names.iter().filter(|name| {
            layout.stored_under(name).is_some_and(|under| under <= epoch) && !needed.contains(*name)
        });
        for name in old.chain(unneeded.cloned()) {
            self.store.delete(&name).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

impl<S: Store> Snapshots for StoredSnapshots<S> {
    async fn put(&self, partition: PartitionId, epoch: Epoch, snapshot: Snapshot) -> Result<(), AppendError> {
        let tables = self.remembered(partition, |held| held.take_coming(snapshot.through, epoch));
        let tables = tables.map_err(|Void| AppendError::Fenced { partition })?;
        self.store_manifest(partition, epoch, snapshot, tables).await.map_err(|error| {
            tracing::warn!(%partition, %error, "could not store a snapshot");
            AppendError::Unknown { partition }
        })?;
        Ok(())
    }

    async fn clean(&self, partition: PartitionId, epoch: Epoch) {
        if let Err(error) = self.delete_old(partition, epoch).await {
            tracing::warn!(%partition, error, "could not delete old snapshots; retrying after the next one");
        }
        let is_due = {
            let mut swept = self.swept.lock().expect("no panic under this lock");
            let is_due = swept.elapsed() >= SWEEP_EVERY;
            if is_due {
                *swept = Instant::now();
            }
            is_due
        };
        if is_due && let Err(error) = self.store.sweep(UNFINISHED_AGE).await {
            tracing::warn!(%error, "could not sweep interrupted uploads from the snapshot store");
        }
    }

    async fn get(
        &self,
        partition: PartitionId,
        before: Option<Version>,
    ) -> Result<Option<(Version, Snapshot)>, ReadError> {
        self.remembered(partition, Remembered::begin);
        let Some(manifest) = self.newest(partition, before).await? else { return Ok(None) };
        let bytes = self.checked(partition, &manifest.state).await?;
        let (epoch, through) = (manifest.epoch, manifest.through);
        self.remembered(partition, |held| held.remember(manifest, &[]));
        Ok(Some(((epoch, through), Snapshot { through, bytes })))
    }

    async fn tables_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        through: Seq,
        dir: PathBuf,
    ) -> Result<(), AppendError> {
        let failed = |error: StoreError| {
            tracing::warn!(%partition, %error, "could not store the tables of a snapshot");
            AppendError::Unknown { partition }
        };
        let owners = self.remembered(partition, |held| held.owners);
        let found = host::run_blocking(move || files::find(&dir)).await;
        let found = found.map_err(|error| failed(StoreError::new("listing", "the tables", error)))?;
        let stored = found.into_iter().map(|found| self.store_table(partition, epoch, found));
        let stored: Vec<_> =
            stream::iter(stored).buffer_unordered(UNDER_WAY_MAX).try_collect().await.map_err(failed)?;
        let kept = self.remembered(partition, |held| held.add_coming(owners, through, epoch, stored));
        kept.map_err(|Void| AppendError::Fenced { partition })
    }

    async fn tables_get(&self, partition: PartitionId, through: Seq, dir: PathBuf) -> Result<(), ReadError> {
        let known = self.remembered(partition, |held| {
            held.manifests.values().rfind(|manifest| manifest.through == through).cloned()
        });
        let manifest = match known {
            Some(manifest) => Some(manifest),
            None => self.newest(partition, None).await?.filter(|manifest| manifest.through == through),
        };
        let detail = || format!("no tables were kept with the snapshot through {through}");
        let (manifest, files) = manifest
            .and_then(|manifest| manifest.tables.clone().map(|files| (manifest, files)))
            .ok_or_else(|| ReadError::Damaged { partition, detail: detail() })?;
        let brought = files.into_iter().map(|file| {
            let dir = dir.clone();
            async move { Ok(Local { identity: self.bring(partition, &file, dir).await?, file }) }
        });
        let brought: Vec<_> = stream::iter(brought).buffer_unordered(UNDER_WAY_MAX).try_collect().await?;
        self.remembered(partition, |held| held.remember(manifest, &brought));
        Ok(())
    }
}

fn unreadable(partition: PartitionId, error: StoreError) -> ReadError {
    ReadError::Damaged { partition, detail: format!("the snapshot: {error}") }
}

fn damaged(partition: PartitionId, name: &str, detail: &str) -> ReadError {
    ReadError::Damaged { partition, detail: format!("the snapshot: {name}: {detail}") }
}
