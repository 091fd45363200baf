//! The tables of a partition as files that can be copied to another machine, and adopted from one.
//!
//! Every tree that a partition has had since the view was opened has its own directory name: a reader of a discarded
//! tree still opens tables by their path, and the last reader of a table removes it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use types::{PartitionId, Seq};

use super::View;
use crate::check;
use crate::error::Error;
use crate::partition::sync_dir;

const STAGING: &str = "staging";

/// A directory beside the partitions for files in transit. It is removed when this is dropped, and after a crash
/// when the view is opened.
#[derive(Debug)]
pub struct Staging {
    path: PathBuf,
}

impl Staging {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %self.path.display(), %error, "removing files in transit failed; they stay until the next start");
            }
            _ => {}
        }
    }
}

impl View {
    /// A new and empty directory on the disk of the view.
    pub fn staging(&self, id: PartitionId) -> Result<Staging, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = self.inner.dir.join(STAGING).join(format!("p-{:05}-{number}", id.0));
        fs::create_dir_all(&path)
            .map_err(|error| Error::io(id, "making a directory for its tables", &error))?;
        Ok(Staging { path })
    }

    /// As [`View::flush`]; then the files of the partition's tree, as of one moment, are in the empty
    /// directory `into`: links, or copies when it is on another disk. Writes and compactions continue meanwhile.
    pub fn checkpoint(&self, id: PartitionId, through: Seq, into: &Path) -> Result<(), Error> {
        self.partition(id)?.checkpoint(through, into)?;
        self.inner.background.wake();
        Ok(())
    }

    /// Closes a partition and removes all its data from the view, durably.
    pub fn discard(&self, id: PartitionId) -> Result<(), Error> {
        self.close_partition(id);
        let failed = |error| Error::io(id, "discarding its tables", &error);
        let gone = self.staging(id)?;
        for (location, dir) in found(&self.inner.dir).map_err(failed)? {
            if location.id == id {
                fs::rename(dir, gone.path.join(location.name())).map_err(failed)?;
            }
        }
        sync_dir(&self.inner.dir).map_err(failed)?;
        let mut locations = self.inner.locations.lock().expect("no panic under this lock");
        *locations.entry(id).or_default() += 1;
        Ok(())
    }

    /// Makes the files in `from`, which a [`View::checkpoint`] has created here or elsewhere, the tree of a partition
    /// that is closed and was discarded. After a crash either all of them are there or none.
    ///
    /// `from` no longer exists afterwards when it is on the disk of the view.
    pub fn adopt(&self, id: PartitionId, from: &Path) -> Result<(), Error> {
        let failed = |error| Error::io(id, "adopting tables", &error);
        let to = self.inner.partition_dir(id);
        if self.partition(id).is_ok() || to.exists() {
            return Err(failed(io::Error::from(io::ErrorKind::AlreadyExists)));
        }
        sync_tree(id, from)?;
        match fs::rename(from, &to) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                let near = self.staging(id)?;
                copy_tree(from, &near.path).map_err(failed)?;
                sync_tree(id, &near.path)?;
                fs::rename(&near.path, &to).map_err(failed)?;
            }
            renamed => renamed.map_err(failed)?,
        }
        sync_dir(&self.inner.dir).map_err(failed)
    }
}

/// The location of a tree: the first has the partition's name alone, later ones a number as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TreeLocation {
    pub id: PartitionId,
    pub number: u32,
}

impl TreeLocation {
    pub fn name(self) -> String {
        match self.number {
            0 => format!("p-{:05}", self.id.0),
            number => format!("p-{:05}.{number}", self.id.0),
        }
    }

    fn parse(name: &str) -> Option<TreeLocation> {
        let (id, number) = match name.strip_prefix("p-")?.split_once('.') {
            None => (name.strip_prefix("p-")?, 0),
            Some((id, number)) => (id, number.parse().ok()?),
        };
        let location = TreeLocation { id: PartitionId(id.parse().ok()?), number };
        (location.name() == name).then_some(location)
    }
}

/// The newest location of every partition that has one; removes files that were in transit when the process ended.
pub(super) fn locations(dir: &Path) -> io::Result<BTreeMap<PartitionId, u32>> {
    match fs::remove_dir_all(dir.join(STAGING)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut locations = BTreeMap::new();
    for (location, _) in found(dir)? {
        let newest: &mut u32 = locations.entry(location.id).or_default();
        *newest = location.number.max(*newest);
    }
    Ok(locations)
}

fn found(dir: &Path) -> io::Result<Vec<(TreeLocation, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        found.extend(
            entry.file_name().to_str().and_then(TreeLocation::parse).map(|location| (location, entry.path())),
        );
    }
    Ok(found)
}

/// Makes a tree's files and their names durable. The error names a missing one.
fn sync_tree(id: PartitionId, dir: &Path) -> Result<(), Error> {
    let manifest = check::read_manifest(id, dir)?
        .ok_or_else(|| Error::damaged(id, &dir.join("current"), "missing: there are no tables"))?;
    let heads = manifest.heads.iter().map(|(path, _)| path);
    for path in heads.chain(manifest.tables.iter().map(|table| &table.path)) {
        let synced = File::open(path).and_then(|file| file.sync_all());
        synced.map_err(|error| check::sorted(id, path, error))?;
    }
    for dir in [&dir.join("tables"), dir] {
        sync_dir(dir).map_err(|error| check::sorted(id, dir, error))?;
    }
    Ok(())
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs::create_dir_all(&target)?;
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    const ID: PartitionId = PartitionId(3);

    #[test]
    fn locations_are_distinguished_from_what_was_set_aside() {
        for (name, expected) in [
            ("p-00003", Some(0)),
            ("p-00003.12", Some(12)),
            ("p-00003.0", None),
            ("p-00003.aside-1", None),
            ("p-3", None),
            ("lock", None),
        ] {
            assert_eq!(
                TreeLocation::parse(name),
                expected.map(|number| TreeLocation { id: ID, number }),
                "{name}"
            );
        }
    }

    #[test]
    fn who_lets_go_last_of_a_discarded_tree_removes_nothing_of_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let carried = tempfile::tempdir().unwrap();
        let view = View::open(dir.path(), Settings::default()).unwrap();
        view.open_partition(ID).unwrap();
        let old = view.partition(ID).unwrap();
        for number in 1..=4u64 {
            // The same keys each time, so that the tables are merged and not only moved.
            for key in ["x1", "x2"] {
                old.put(key.into(), &number.to_le_bytes()).unwrap();
            }
            old.flush_memtables().unwrap();
        }
        let reader = old.range(b"x".to_vec(), b"y".to_vec());
        old.checkpoint(Seq(9), carried.path()).unwrap();
        while old.compact_once().unwrap() {}
        let listed = |dir: &Path| fs::read_dir(dir.join("tables")).unwrap().count();
        let before = listed(carried.path());
        view.discard(ID).unwrap();
        view.adopt(ID, carried.path()).unwrap();
        drop((reader, old));
        assert_eq!(listed(&view.inner.partition_dir(ID)), before);
        view.open_partition(ID).unwrap();
        assert_eq!(view.flushed_through(ID).unwrap(), Some(Seq(9)));
        view.verify(ID).unwrap();
    }
}
