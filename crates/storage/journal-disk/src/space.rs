//! Disk space: the reserve for running work, and whether there is room for new requests.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use journal::Room;

use crate::disk::Disk;
use crate::limits::SPACE_LOOK;

const RESERVE: &str = "reserve";

/// The state of the space, shared by the writer, the segment preparer and readers of `room`.
pub struct Space {
    reserve_bytes: u64,
    full: AtomicBool,
    has_reserve: AtomicBool,
    used_bytes: AtomicU64,
    looked: Mutex<Option<(Instant, u64)>>,
}

impl Space {
    pub fn new(reserve_bytes: u64) -> Space {
        Space {
            reserve_bytes,
            full: AtomicBool::new(false),
            has_reserve: AtomicBool::new(reserve_bytes == 0),
            used_bytes: AtomicU64::new(0),
            looked: Mutex::new(None),
        }
    }

    /// Whether requests are refused, so that the remaining space serves running work.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    pub fn set_full(&self) {
        if !self.full.swap(true, Ordering::Relaxed) {
            tracing::warn!("the disk is full: new requests are refused");
        }
    }

    fn set_accepting(&self) {
        if self.full.swap(false, Ordering::Relaxed) {
            tracing::info!("the disk has space again: new requests are accepted");
        }
    }

    pub fn add_used(&self, bytes: u64) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn remove_used(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub fn room(&self, disk: &dyn Disk) -> Room {
        let mut looked = self.looked.lock().expect("no holder of the lock panics");
        let known = looked.filter(|(at, _)| at.elapsed() < SPACE_LOOK);
        // An unreadable figure counts as none; whether requests are accepted does not depend on it.
        let free_bytes = known.map_or_else(|| disk.free_bytes().unwrap_or(0), |(_, free)| free);
        if known.is_none() {
            *looked = Some((Instant::now(), free_bytes));
        }
        let used_bytes = self.used_bytes.load(Ordering::Relaxed);
        Room { free_bytes, used_bytes, accepts: !self.is_full() }
    }

    /// Releases the reserve to the log, if it exists.
    pub fn release_reserve(&self, disk: &dyn Disk) -> io::Result<()> {
        self.has_reserve.store(self.reserve_bytes == 0, Ordering::Relaxed);
        match disk.remove(RESERVE) {
            Ok(()) => {
                tracing::warn!("the space reserve is released for running work");
                disk.sync_dir("")
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Creates the reserve if it is missing; with it and a spare segment, requests are accepted.
    pub fn restore(&self, disk: &dyn Disk, has_spare: bool) -> io::Result<()> {
        match self.make_reserve(disk) {
            Ok(()) if has_spare => self.set_accepting(),
            Ok(()) => {}
            Err(error) if crate::segment::is_full(&error) => self.set_full(),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn make_reserve(&self, disk: &dyn Disk) -> io::Result<()> {
        if self.has_reserve.load(Ordering::Relaxed) {
            return Ok(());
        }
        match disk.open(RESERVE) {
            Ok(file) if file.size()? >= self.reserve_bytes => {
                self.has_reserve.store(true, Ordering::Relaxed);
                return Ok(());
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        if disk.free_bytes()? < self.reserve_bytes {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let made = disk.create(RESERVE).and_then(|file| {
            file.allocate(self.reserve_bytes)?;
            file.sync_data()?;
            disk.sync_dir("")
        });
        if made.is_ok() {
            self.has_reserve.store(true, Ordering::Relaxed);
        } else {
            // A partial reserve is useless, and its space is needed elsewhere.
            let _ = disk.remove(RESERVE);
        }
        made
    }
}
