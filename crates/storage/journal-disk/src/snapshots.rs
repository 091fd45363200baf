//! Snapshots: one file per partition and position, complete or absent.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use journal::{AppendError, ReadError, Snapshot};
use types::Seq;

use crate::disk::Disk;
use crate::format::{Cursor, checksum};
use crate::index::Index;
use crate::limits::SNAPSHOTS_KEPT;
use crate::log::Log;
use crate::segment;
use crate::space::Space;

const DIR: &str = "snapshots";
const SUFFIX: &str = ".snapshot";
const HEADER_BYTES: usize = 40;
const CHECKED_BYTES: usize = HEADER_BYTES - 4;
const MAGIC: u64 = u64::from_le_bytes(*b"SJsnap1\0");

/// The snapshots of one directory.
pub struct Snapshots {
    disk: Arc<dyn Disk>,
    index: Arc<Index>,
    space: Arc<Space>,
    installation: u128,
    /// One snapshot is stored at a time.
    storing: Mutex<()>,
}

impl Snapshots {
    /// Lists the snapshots and removes incomplete ones.
    pub fn open(log: &Log) -> io::Result<Snapshots> {
        let disk = Arc::clone(log.disk());
        disk.create_dir(DIR)?;
        disk.sync_dir("")?;
        for name in disk.list(DIR)? {
            let path = format!("{DIR}/{name}");
            if name.ends_with(SUFFIX) {
                log.space().add_used(disk.open(&path)?.size()?);
            } else {
                disk.remove(&path)?;
            }
        }
        disk.sync_dir(DIR)?;
        Ok(Snapshots {
            disk,
            index: Arc::clone(log.index()),
            space: Arc::clone(log.space()),
            installation: log.installation(),
            storing: Mutex::new(()),
        })
    }

    /// Stores a snapshot durably, then removes all but the newest two.
    pub fn put(&self, slot: u16, snapshot: &Snapshot) -> Result<(), AppendError> {
        let partition = self.index.partition(slot);
        if let Some(detail) = self.index.stopped(slot) {
            return Err(AppendError::Damaged { partition, detail });
        }
        let _one = self.storing.lock().expect("no holder of the lock panics");
        match self.store(slot, snapshot) {
            Ok(()) => {}
            Err(error) if segment::is_full(&error) => return Err(AppendError::Full),
            Err(error) => {
                tracing::error!(%partition, %error, "storing a snapshot failed");
                return Err(AppendError::Unknown { partition });
            }
        }
        if let Err(error) = self.forget_old(slot) {
            tracing::warn!(%partition, %error, "removing old snapshots failed");
        }
        Ok(())
    }

    /// The newest snapshot that is whole. An older one is used only if the events since it are still there.
    pub fn get(&self, slot: u16) -> Result<Option<Snapshot>, ReadError> {
        let partition = self.index.partition(slot);
        let damaged = |detail| ReadError::Damaged { partition, detail };
        if let Some(detail) = self.index.stopped(slot) {
            return Err(damaged(detail));
        }
        let positions = self.positions(slot).map_err(|error| damaged(error.to_string()))?;
        let mut harmed = None;
        let mut found = None;
        for through in positions.into_iter().rev() {
            match self.load(slot, through) {
                Ok(Some(snapshot)) => {
                    found = Some(snapshot);
                    break;
                }
                Ok(None) => {
                    let path = path(slot, through);
                    tracing::error!(%partition, path, "a snapshot is damaged");
                    harmed.get_or_insert(path);
                }
                Err(error) => return Err(damaged(format!("{}: {error}", path(slot, through)))),
            }
        }
        let through = found.as_ref().map_or(Seq::ZERO, |snapshot| snapshot.through);
        match harmed {
            Some(path) if self.index.events_first(slot) > through.next() => Err(damaged(path)),
            _ => Ok(found),
        }
    }

    fn store(&self, slot: u16, snapshot: &Snapshot) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + snapshot.bytes.len());
        bytes.extend_from_slice(&MAGIC.to_le_bytes());
        bytes.extend_from_slice(&snapshot.through.0.to_le_bytes());
        bytes.extend_from_slice(&(snapshot.bytes.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&u64::from(slot).to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&snapshot.bytes).to_le_bytes());
        let sum = checksum(self.installation, 0, &bytes[..CHECKED_BYTES]);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(&snapshot.bytes);

        let path = path(slot, snapshot.through.0);
        let unfinished = format!("{path}.unfinished");
        let replaced = self.disk.open(&path).and_then(|file| file.size()).unwrap_or(0);
        let written = self.disk.create(&unfinished).and_then(|file| {
            file.write_at(&bytes, 0)?;
            file.sync_data()?;
            self.disk.rename(&unfinished, &path)?;
            self.disk.sync_dir(DIR)
        });
        if let Err(error) = written {
            // The file is incomplete and unused; the next start removes it as well.
            let _ = self.disk.remove(&unfinished);
            return Err(error);
        }
        self.space.add_used(bytes.len() as u64);
        self.space.remove_used(replaced);
        Ok(())
    }

    fn load(&self, slot: u16, through: u64) -> io::Result<Option<Snapshot>> {
        let file = self.disk.open(&path(slot, through))?;
        let mut bytes = vec![0; file.size()? as usize];
        file.read_at(&mut bytes, 0)?;
        if bytes.len() < HEADER_BYTES {
            return Ok(None);
        }
        let mut cursor = Cursor(&bytes);
        let named = (cursor.u64(), cursor.u64(), cursor.u64(), cursor.u64());
        let (content_sum, sum) = (cursor.u32(), cursor.u32());
        let length = (bytes.len() - HEADER_BYTES) as u64;
        let is_whole = named == (MAGIC, through, length, u64::from(slot))
            && sum == checksum(self.installation, 0, &bytes[..CHECKED_BYTES])
            && content_sum == crc32c::crc32c(&bytes[HEADER_BYTES..]);
        if !is_whole {
            return Ok(None);
        }
        Ok(Some(Snapshot { through: Seq(through), bytes: Bytes::from(bytes).slice(HEADER_BYTES..) }))
    }

    fn forget_old(&self, slot: u16) -> io::Result<()> {
        let positions = self.positions(slot)?;
        let old = positions.len().saturating_sub(SNAPSHOTS_KEPT);
        for through in &positions[..old] {
            let path = path(slot, *through);
            let bytes = self.disk.open(&path)?.size()?;
            self.disk.remove(&path)?;
            self.space.remove_used(bytes);
        }
        if old > 0 { self.disk.sync_dir(DIR) } else { Ok(()) }
    }

    /// The positions of a partition's snapshots, in order.
    fn positions(&self, slot: u16) -> io::Result<Vec<u64>> {
        let prefix = format!("{slot:05}-");
        let names = self.disk.list(DIR)?;
        let mut positions: Vec<u64> = names
            .iter()
            .filter_map(|name| name.strip_prefix(&prefix)?.strip_suffix(SUFFIX)?.parse().ok())
            .collect();
        positions.sort_unstable();
        Ok(positions)
    }
}

fn path(slot: u16, through: u64) -> String {
    format!("{DIR}/{slot:05}-{through:020}{SUFFIX}")
}
