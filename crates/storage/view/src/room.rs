//! Checks that the disk has space for tables before they are written.
//!
//! A table that does not fit may leave a partition in an unknown state, and the process has to restart. So
//! the space is checked first: without it nothing is written, nothing is lost, and the journal keeps its records.

use std::path::Path;

use types::PartitionId;

use crate::error::Error;
use crate::limits::{COMPACTED_BYTES_MAX, ROOM_BYTES_MIN};

/// For memtables of this size: a table is never larger than its entries in memory, except for its overhead.
pub(crate) fn for_flush(partition: PartitionId, dir: &Path, memtable_bytes: u64) -> Result<(), Error> {
    check(partition, dir, memtable_bytes)
}

/// Whether to try a flush that has less space than it may need: tables are often far smaller than that.
pub(crate) fn is_worth_a_try(full: &Error) -> bool {
    matches!(full, Error::Full { free_bytes, .. } if *free_bytes >= ROOM_BYTES_MIN)
}

/// For one step of compaction in a tree of this size, which it may rewrite in part.
pub(crate) fn for_compaction(partition: PartitionId, dir: &Path, tree_bytes: u64) -> Result<(), Error> {
    check(partition, dir, tree_bytes.min(COMPACTED_BYTES_MAX))
}

/// For a second copy of a tree of this size.
pub(crate) fn for_whole_tree(partition: PartitionId, dir: &Path, tree_bytes: u64) -> Result<(), Error> {
    check(partition, dir, tree_bytes)
}

fn check(partition: PartitionId, dir: &Path, bytes: u64) -> Result<(), Error> {
    let needed_bytes = bytes.saturating_add(ROOM_BYTES_MIN);
    let Ok(disk) = rustix::fs::statvfs(dir) else {
        // If the disk does not report its free space, try: failures are handled where they happen.
        return Ok(());
    };
    let free_bytes = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free_bytes < needed_bytes {
        return Err(Error::Full { partition, free_bytes, needed_bytes });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_before_it_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let id = PartitionId(3);
        assert!(for_flush(id, dir.path(), 0).is_ok());
        assert!(matches!(for_flush(id, dir.path(), u64::MAX), Err(Error::Full { .. })));
        assert!(matches!(for_whole_tree(id, dir.path(), u64::MAX), Err(Error::Full { .. })));
        assert!(for_flush(id, Path::new("/nowhere"), u64::MAX).is_ok());
    }
}
