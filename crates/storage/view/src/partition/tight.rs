//! A flush on a disk that may have too little room for it.
//!
//! The disk may be full of the journal that only this flush allows to be trimmed, and tables are often far smaller
//! than their entries in memory. So the flush is tried, alone, such that a failure for lack of space changes nothing.

use std::fs;
use std::io::ErrorKind;

use lsm_tree::{AbstractTree, AnyTree, SeqNo};

use super::ViewPartition;
use crate::error::Error;
use crate::limits::SEALED_MAX;

impl ViewPartition {
    /// Flushes, or returns `full` when it did not fit.
    pub(super) fn flush_tight(&self, full: Error) -> Result<u64, Error> {
        // Alone: every table created meanwhile belongs to this flush.
        let _alone = self.tables_change.write().expect("no panic under this lock");
        let tree = &self.writable()?.tree;
        // Every failed attempt leaves one more memtable to search; beyond some the old ones go first.
        if tree.sealed_memtable_count() >= SEALED_MAX {
            let flushed = self.try_flush(tree, &full)?;
            self.count(-flushed.cast_signed());
        }
        tree.rotate_memtable();
        self.try_flush(tree, &full)
    }

    fn try_flush(&self, tree: &AnyTree, full: &Error) -> Result<u64, Error> {
        let first = tree.get_next_table_id();
        let flushed = {
            let lock = tree.get_flush_lock();
            tree.flush(&lock, SeqNo::MAX)
        };
        match flushed {
            Err(lsm_tree::Error::Io(error))
                if error.kind() == ErrorKind::StorageFull && self.is_unchanged(tree) =>
            {
                self.remove_tables(first);
                Err(full.clone())
            }
            flushed => Ok(self.written("flushing", flushed)?.unwrap_or(0)),
        }
    }

    /// Whether the version on disk is still the one in memory: then no part of a failed flush is active.
    fn is_unchanged(&self, tree: &AnyTree) -> bool {
        let current = fs::read(self.dir.join("current")).unwrap_or_default();
        current.first_chunk().is_some_and(|id| u64::from_le_bytes(*id) == tree.current_version().id())
    }

    /// Removes the tables from this number on, which no version contains. The next start removes remaining files.
    fn remove_tables(&self, first: u64) {
        let Ok(tables) = fs::read_dir(self.dir.join("tables")) else { return };
        for table in tables.flatten() {
            let number = table.file_name().to_str().and_then(|name| name.parse::<u64>().ok());
            if number.is_some_and(|number| number >= first)
                && let Err(error) = fs::remove_file(table.path())
            {
                tracing::warn!(partition = %self.id, %error, "removing an incomplete table failed; it stays until the next start");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::AtomicI64;

    use lsm_tree::{Cache, DescriptorTable};
    use types::{PartitionId, Seq};

    use super::*;
    use crate::partition::SharedResources;
    use crate::view::OnFailure;

    const ID: PartitionId = PartitionId(0);

    fn open(dir: &Path) -> ViewPartition {
        let shared = SharedResources {
            cache: Arc::new(Cache::with_capacity_bytes(1 << 20)),
            descriptors: Arc::new(DescriptorTable::new(10)),
            memtable_bytes: AtomicI64::new(0),
            on_failure: OnFailure::StopPartition,
        };
        ViewPartition::open(ID, dir.to_owned(), Arc::new(shared)).unwrap()
    }

    fn value(partition: &ViewPartition, key: &str) -> Option<Vec<u8>> {
        partition.get("reading", key.as_bytes(), |bytes| Ok(bytes.to_vec())).unwrap()
    }

    fn tables(dir: &Path) -> usize {
        fs::read_dir(dir.join("tables")).unwrap().count()
    }

    #[test]
    fn a_flush_that_does_not_fit_leaves_all_as_it_was_and_is_made_up_for() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("p-00000");
        let partition = open(&dir);
        partition.put(b"xa".to_vec(), b"1").unwrap();
        partition.flush(Seq(1)).unwrap();
        partition.put(b"xb".to_vec(), b"2").unwrap();
        let (made, next) = (tables(&dir), partition.tree.get().unwrap().tree.current_version().id() + 1);
        // The table fits, the manifest does not.
        symlink("/dev/full", dir.join(format!("v{next}"))).unwrap();
        for _ in 0..2 * SEALED_MAX {
            partition.put(b"xc".to_vec(), b"3").unwrap();
            let full = Error::Full { partition: ID, free_bytes: 0, needed_bytes: 1 };
            assert!(matches!(partition.flush_tight(full), Err(Error::Full { .. })));
        }
        let sealed = partition.tree.get().unwrap().tree.sealed_memtable_count();
        assert_eq!((tables(&dir), sealed), (made, SEALED_MAX));
        assert!(partition.stopped().is_none());
        assert_eq!(value(&partition, "xb").as_deref(), Some(&b"2"[..]));
        fs::remove_file(dir.join(format!("v{next}"))).unwrap();
        let full = Error::Full { partition: ID, free_bytes: 0, needed_bytes: 1 };
        partition.flush_tight(full).unwrap();
        drop(partition);
        let partition = open(&dir);
        for (key, expected) in [("xa", b"1"), ("xb", b"2"), ("xc", b"3")] {
            assert_eq!(value(&partition, key).as_deref(), Some(&expected[..]), "{key}");
        }
    }
}
