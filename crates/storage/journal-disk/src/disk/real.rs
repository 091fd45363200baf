//! The real disk: one directory, locked by one process.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use journal::OpenError;
use rustix::fs::{FallocateFlags, FlockOperation};

use super::{Disk, DiskFile};

const LOCK: &str = "LOCK";

/// A directory of the file system. It is locked for as long as this value lives.
pub struct RealDisk {
    root: PathBuf,
    _lock: File,
}

impl RealDisk {
    /// Creates the directory if it does not exist and locks it.
    pub fn open(root: &Path) -> Result<RealDisk, OpenError> {
        let at = |doing| move |source| OpenError::Io { doing, path: root.display().to_string(), source };
        if !root.is_dir() {
            fs::create_dir_all(root).map_err(at("creating"))?;
            if let Some(parent) = root.canonicalize().map_err(at("finding"))?.parent() {
                sync_dir_at(parent).map_err(at("syncing the parent of"))?;
            }
        }
        let lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(root.join(LOCK))
            .map_err(at("locking"))?;
        take_lock(root, &lock)?;
        Ok(RealDisk { root: root.to_owned(), _lock: lock })
    }
}

fn take_lock(root: &Path, mut lock: &File) -> Result<(), OpenError> {
    let dir = root.display().to_string();
    match rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            let known = lock.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
            let holder = if known { format!(" (pid {})", holder.trim()) } else { String::new() };
            return Err(OpenError::InUse { dir, holder });
        }
        Err(errno) => {
            return Err(OpenError::Io { doing: "locking", path: dir, source: errno.into() });
        }
    }
    let pid = std::process::id().to_string();
    lock.set_len(0).and_then(|()| lock.write_all(pid.as_bytes())).map_err(|source| OpenError::Io {
        doing: "writing the lock of",
        path: dir,
        source,
    })
}

fn sync_dir_at(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

impl Disk for RealDisk {
    fn place(&self) -> String {
        self.root.display().to_string()
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        fs::create_dir_all(self.root.join(path))
    }

    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        let path = self.root.join(path);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).open(self.root.join(path))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.root.join(dir)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            // The journal's file names are ASCII; any other name is not one of them.
            names.extend(entry?.file_name().into_string().ok());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.root.join(from), self.root.join(to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.root.join(path))
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        sync_dir_at(&self.root.join(dir))
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let space = rustix::fs::statvfs(&self.root)?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }

    fn unique(&self) -> u128 {
        // Each hasher state is seeded by the operating system.
        let half = || u128::from(RandomState::new().hash_one(std::process::id()));
        half() << 64 | half()
    }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, at)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        match rustix::fs::fallocate(&self.0, FallocateFlags::empty(), 0, len) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::OPNOTSUPP) => super::super::segment::write_zeros(self, 0, len),
            Err(errno) => Err(errno.into()),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
