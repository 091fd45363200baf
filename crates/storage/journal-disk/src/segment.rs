//! Segment files: their names, creation ahead of use, and removal.

use std::io;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile};

/// The directory of the segments.
pub const DIR: &str = "journal";
const SUFFIX: &str = ".segment";
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// A segment file that contains only zeros, durably.
pub struct Spare {
    pub number: u32,
    pub size: u64,
    pub file: Arc<dyn DiskFile>,
}

/// A spare that is still to be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpareJob {
    pub number: u32,
    pub size: u64,
}

impl SpareJob {
    /// Writes and syncs the zeros. Overwriting them later needs no new space and no change of the file's length,
    /// which is what makes a sync fast. A partial file of a failed attempt is removed.
    pub fn run(self, disk: &dyn Disk) -> io::Result<Spare> {
        let path = path(self.number);
        let made = disk.create(&path).and_then(|file| {
            write_zeros(&*file, 0, self.size)?;
            file.sync_data()?;
            disk.sync_dir(DIR)?;
            Ok(Spare { number: self.number, size: self.size, file })
        });
        if made.is_err() {
            // The first error is the one to report; a remaining file is removed at the next open.
            let _ = disk.remove(&path);
        }
        made
    }
}

/// Removes a segment durably.
pub fn remove(disk: &dyn Disk, number: u32) -> io::Result<()> {
    disk.remove(&path(number))?;
    disk.sync_dir(DIR)
}

pub fn path(number: u32) -> String {
    format!("{DIR}/{number:010}{SUFFIX}")
}

/// The numbers of the segment files that exist, in order.
pub fn list(disk: &dyn Disk) -> io::Result<Vec<u32>> {
    let names = disk.list(DIR)?;
    let mut numbers: Vec<u32> =
        names.iter().filter_map(|name| name.strip_suffix(SUFFIX)?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

pub fn write_zeros(file: &(impl DiskFile + ?Sized), from: u64, to: u64) -> io::Result<()> {
    let mut at = from;
    while at < to {
        let bytes = (to - at).min(ZEROS.len() as u64);
        file.write_at(&ZEROS[..bytes as usize], at)?;
        at += bytes;
    }
    Ok(())
}

/// Whether an error means that the disk is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
