//! A store in a directory that all machines mount.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use crate::store::{Store, StoreError};

/// Where objects are written before they are renamed; no object name begins like this.
const UNFINISHED: &str = ".unfinished";

/// Objects as files below a directory.
#[derive(Debug, Clone)]
pub struct Directory {
    root: PathBuf,
}

impl Directory {
    /// A store in this directory, which is created with the first object.
    pub fn new(root: PathBuf) -> Directory {
        Directory { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

impl Store for Directory {
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let (root, path) = (self.root.clone(), self.path(name));
        let put = host::run_blocking(move || put(&root, &path, &bytes)).await;
        put.map_err(|error| StoreError::new("putting", name, error))
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let path = self.path(name);
        match host::run_blocking(move || fs::read(path)).await {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::new("reading", name, error)),
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let (dir, own) = (self.path(prefix), prefix.to_owned());
        let listed = host::run_blocking(move || {
            let mut names = Vec::new();
            list(&dir, &own, &mut names).map(|()| names)
        });
        listed.await.map_err(|error| StoreError::new("listing", prefix, error))
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        let path = self.path(name);
        match host::run_blocking(move || fs::remove_file(path)).await {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(StoreError::new("deleting", name, error))
            }
            _ => Ok(()),
        }
    }

    async fn sweep(&self, age: Duration) -> Result<(), StoreError> {
        let dir = self.root.join(UNFINISHED);
        let swept = host::run_blocking(move || sweep(&dir, age)).await;
        swept.map_err(|error| StoreError::new("sweeping", UNFINISHED, error))
    }
}

fn put(root: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let parent = path.parent().expect("an object lies below the root");
    make_dir(parent)?;
    let unfinished = root.join(UNFINISHED);
    make_dir(&unfinished)?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // Several machines write here: the name of an unfinished file must be unique.
    let started = SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nanos = started.map_or(0, |since| since.as_nanos());
    let written = unfinished.join(format!("{}-{nanos}-{number}", std::process::id()));
    let stored = File::create_new(&written).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&written, path)?;
        sync_dir(parent)
    });
    if stored.is_err() {
        // A file that stays behind only takes room, and is swept.
        let _ = fs::remove_file(&written);
    }
    stored
}

/// Deletes the files of a directory that were last written longer ago than this.
fn sweep(dir: &Path, age: Duration) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        // A file that has disappeared meanwhile was completed.
        let is_old =
            |file: fs::Metadata| Some(SystemTime::now().duration_since(file.modified().ok()?).ok()? >= age);
        if fs::metadata(&path).ok().and_then(is_old) == Some(true) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Creates a directory and its parents, and syncs each in its parent.
fn make_dir(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_dir(parent)?;
        match fs::create_dir(dir) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => return sync_dir(parent),
        }
    }
    Ok(())
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn list(dir: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}
