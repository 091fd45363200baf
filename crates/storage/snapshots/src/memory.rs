//! Snapshots in memory, for tests: durable for as long as a clone exists.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use journal::{AppendError, ReadError, Snapshot};
use types::{Epoch, PartitionId, Seq};

use journal_nats::{Snapshots, Version};

/// A store in memory; clones share it.
#[derive(Clone, Default)]
pub struct MemorySnapshots {
    kept: Arc<Mutex<BTreeMap<PartitionId, Kept>>>,
}

#[derive(Default)]
struct Kept {
    /// The newest snapshot, and the epoch under which it was stored.
    snapshot: Option<(Epoch, Snapshot)>,
    /// The files of each snapshot, by its last frame and the epoch of its owner.
    tables: BTreeMap<(Seq, Epoch), BTreeMap<String, Bytes>>,
}

impl MemorySnapshots {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PartitionId, Kept>> {
        self.kept.lock().expect("no holder of the lock panics")
    }
}

impl Snapshots for MemorySnapshots {
    async fn put(&self, partition: PartitionId, epoch: Epoch, snapshot: Snapshot) -> Result<(), AppendError> {
        let mut kept = self.lock();
        let kept = kept.entry(partition).or_default();
        let newest = kept.snapshot.as_ref().map(|(epoch, snapshot)| (*epoch, snapshot.through));
        if newest.is_none_or(|newest| newest <= (epoch, snapshot.through)) {
            kept.tables = kept.tables.split_off(&(snapshot.through, Epoch(0)));
            kept.snapshot = Some((epoch, snapshot));
        }
        Ok(())
    }

    async fn get(
        &self,
        partition: PartitionId,
        before: Option<Version>,
    ) -> Result<Option<(Version, Snapshot)>, ReadError> {
        let kept = self.lock();
        let newest = kept.get(&partition).and_then(|kept| kept.snapshot.as_ref());
        let newest = newest.map(|(epoch, snapshot)| ((*epoch, snapshot.through), snapshot.clone()));
        Ok(newest.filter(|(version, _)| before.is_none_or(|before| *version < before)))
    }

    async fn tables_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        through: Seq,
        dir: PathBuf,
    ) -> Result<(), AppendError> {
        let files = files_of(&dir).map_err(|error| AppendError::Damaged {
            partition,
            detail: format!("reading {}: {error}", dir.display()),
        })?;
        self.lock().entry(partition).or_default().tables.insert((through, epoch), files);
        Ok(())
    }

    async fn tables_get(&self, partition: PartitionId, through: Seq, dir: PathBuf) -> Result<(), ReadError> {
        let files = {
            let kept = self.lock();
            let mut puts = kept.get(&partition).into_iter().flat_map(|kept| kept.tables.iter());
            puts.rfind(|((frame, _), _)| *frame == through).map(|(_, files)| files.clone())
        };
        for (name, bytes) in files.unwrap_or_default() {
            fs::write(dir.join(name), bytes).map_err(|error| ReadError::Damaged {
                partition,
                detail: format!("writing to {}: {error}", dir.display()),
            })?;
        }
        Ok(())
    }
}

fn files_of(dir: &Path) -> std::io::Result<BTreeMap<String, Bytes>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.insert(name, Bytes::from(fs::read(&path)?));
    }
    Ok(files)
}
