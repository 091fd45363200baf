//! Where the snapshots of a region are kept, as one instance reaches it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use journal::{AppendError, ReadError, Snapshot};
use journal_nats::Snapshots;
use journal_nats::Version;
use types::{Epoch, PartitionId, Seq};

use super::world::Sim;
use crate::faults::Fault;

/// Snapshots that are kept, as in the product.
const KEPT_MAX: usize = 3;

/// The snapshots of a region.
#[derive(Default, Clone)]
pub struct StoredSnapshots(BTreeMap<PartitionId, PartitionSnapshots>);

#[derive(Default, Clone)]
struct PartitionSnapshots {
    snapshots: BTreeMap<Version, Snapshot>,
    tables: BTreeMap<(Epoch, Seq), BTreeMap<PathBuf, Bytes>>,
}

/// The access of one instance to the snapshots.
pub struct SnapshotStore {
    pub sim: Arc<Sim>,
    pub life: u32,
    pub region: usize,
}

impl SnapshotStore {
    async fn reach(&self, partition: PartitionId) {
        self.sim.gate(self.life).await;
        let trip = self.sim.trip(self.life, &format!("snapshots {partition}"));
        tokio::time::sleep(Duration::from_millis(trip.there_ms)).await;
        self.sim.gate(self.life).await;
    }

    fn kept<T>(&self, partition: PartitionId, look: impl FnOnce(&mut PartitionSnapshots) -> T) -> T {
        look(self.sim.world().regions[self.region].snapshots.0.entry(partition).or_default())
    }
}

impl Snapshots for SnapshotStore {
    async fn put(&self, partition: PartitionId, epoch: Epoch, snapshot: Snapshot) -> Result<(), AppendError> {
        self.reach(partition).await;
        self.kept(partition, |kept| {
            let version = (epoch, snapshot.through);
            // As in the product: an owner that has begun again does not finish what it began before.
            if partition != PartitionId::CONTROL && !kept.tables.contains_key(&version) {
                return Err(AppendError::Fenced { partition });
            }
            if Fault::OlderSnapshotWins.is_awake() {
                kept.snapshots.clear();
            }
            kept.snapshots.insert(version, snapshot);
            while kept.snapshots.len() > KEPT_MAX {
                kept.snapshots.pop_first();
            }
            let oldest = kept.snapshots.keys().next().copied().expect("one was put just now");
            kept.tables.retain(|at, _| *at >= oldest);
            Ok(())
        })
    }

    async fn get(
        &self,
        partition: PartitionId,
        before: Option<Version>,
    ) -> Result<Option<(Version, Snapshot)>, ReadError> {
        self.reach(partition).await;
        Ok(self.kept(partition, |kept| {
            let mut older = kept.snapshots.iter().filter(|(at, _)| before.is_none_or(|before| **at < before));
            older.next_back().map(|(at, snapshot)| (*at, snapshot.clone()))
        }))
    }

    async fn tables_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        through: Seq,
        dir: PathBuf,
    ) -> Result<(), AppendError> {
        let files = files_in(&dir, Path::new("")).expect("tables in memory can be read");
        self.reach(partition).await;
        self.kept(partition, |kept| kept.tables.insert((epoch, through), files));
        Ok(())
    }

    async fn tables_get(&self, partition: PartitionId, through: Seq, dir: PathBuf) -> Result<(), ReadError> {
        self.reach(partition).await;
        let files = self.kept(partition, |kept| {
            let at = kept.snapshots.keys().rfind(|(_, at)| *at == through)?;
            kept.tables.get(at).cloned()
        });
        let lost =
            || ReadError::Damaged { partition, detail: format!("the tables through {through} are gone") };
        for (name, bytes) in files.ok_or_else(lost)? {
            let path = dir.join(name);
            let parent = path.parent().expect("it is below the directory");
            fs::create_dir_all(parent).expect("a directory in memory can be made");
            fs::write(path, bytes).expect("a directory in memory can be written");
        }
        Ok(())
    }
}

/// All files below a directory, by where they are in it.
fn files_in(dir: &Path, below: &Path) -> std::io::Result<BTreeMap<PathBuf, Bytes>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            files.append(&mut files_in(dir, &path)?);
        } else {
            let bytes = fs::read(dir.join(&path))?;
            files.insert(path, Bytes::from(bytes));
        }
    }
    Ok(files)
}
