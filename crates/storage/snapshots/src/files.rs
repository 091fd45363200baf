//! The files of a view's tree in a directory.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;

/// Identifies a file without reading it. Tables never change once they are written, and a hard link to one is the same file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

/// A file of a tree.
#[derive(Debug)]
pub(super) struct Found {
    /// The path in the tree, with `/`.
    pub name: String,
    pub identity: Identity,
    path: PathBuf,
}

impl Found {
    pub fn read(&self) -> io::Result<Bytes> {
        fs::read(&self.path).map(Bytes::from)
    }
}

/// All files below a directory, by name.
pub(super) fn find(dir: &Path) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    find_below(dir, "", &mut found)?;
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Writes a file of a tree below a directory.
pub(super) fn write(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<Identity> {
    // A manifest comes from outside: its names must not lead out of the directory.
    if name.is_empty() || !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::Error::new(ErrorKind::InvalidData, "not the name of a table"));
    }
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("it lies below the directory"))?;
    fs::write(&path, bytes)?;
    identity(&path)
}

fn find_below(dir: &Path, prefix: &str, found: &mut Vec<Found>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| io::Error::from(ErrorKind::InvalidData))?;
        let (name, path) = (format!("{prefix}{name}"), entry.path());
        if entry.file_type()?.is_dir() {
            find_below(&path, &format!("{name}/"), found)?;
        } else {
            found.push(Found { identity: identity(&path)?, name, path });
        }
    }
    Ok(())
}

fn identity(path: &Path) -> io::Result<Identity> {
    let metadata = fs::metadata(path)?;
    Ok(Identity {
        device: metadata.dev(),
        inode: metadata.ino(),
        length: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let outer = dir.path().join("outer");
        for name in ["../x", "/x", "a/../../x", ""] {
            assert!(write(&outer, name, b"").is_err(), "{name}");
        }
        write(&outer, "tables/1", b"abc").unwrap();
        let found = find(&outer).unwrap();
        assert_eq!(found.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["tables/1"]);
        assert_eq!(found[0].read().unwrap(), "abc");
    }
}
