//! A disk that skips syncs or hides their failures.

use std::io;
use std::sync::Arc;

use journal_disk::disk::{Disk, DiskFile};

use super::Fault;

/// The directory of the segments, as the disk journal names it.
const SEGMENTS: &str = "journal";

/// A snapshot has this ending until it is complete.
const UNFINISHED: &str = ".unfinished";

pub struct FaultyDisk<D>(pub D);

struct FaultyFile {
    inner: Arc<dyn DiskFile>,
    is_segment: bool,
    is_snapshot: bool,
}

impl FaultyFile {
    fn wrap(path: &str, inner: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        let is_segment = path.strip_prefix(SEGMENTS).is_some_and(|rest| rest.starts_with('/'));
        Arc::new(FaultyFile { inner, is_segment, is_snapshot: path.ends_with(UNFINISHED) })
    }
}

impl<D: Disk> Disk for FaultyDisk<D> {
    fn place(&self) -> String {
        self.0.place()
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        self.0.create_dir(path)
    }

    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(FaultyFile::wrap(path, self.0.create(path)?))
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(FaultyFile::wrap(path, self.0.open(path)?))
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        self.0.list(dir)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.0.remove(path)
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        if Fault::SegmentNameNotSynced.is_awake() && dir == SEGMENTS {
            return Ok(());
        }
        self.0.sync_dir(dir)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.0.free_bytes()
    }

    fn unique(&self) -> u128 {
        self.0.unique()
    }
}

impl DiskFile for FaultyFile {
    fn size(&self) -> io::Result<u64> {
        self.inner.size()
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        self.inner.read_at(buffer, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.inner.write_at(bytes, at)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.inner.allocate(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.is_segment && Fault::AckBeforeSync.is_awake() {
            return Ok(());
        }
        if self.is_snapshot && Fault::SnapshotNotSynced.is_awake() {
            return Ok(());
        }
        let synced = self.inner.sync_data();
        if self.is_segment && Fault::SyncErrorIgnored.is_awake() { Ok(()) } else { synced }
    }
}
