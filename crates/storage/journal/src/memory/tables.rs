//! The files of a directory, in memory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;

/// Files by their paths within the directory.
pub(super) type Files = BTreeMap<PathBuf, Bytes>;

pub(super) fn read(dir: &Path) -> io::Result<Files> {
    let mut files = Files::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(dir.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                files.insert(path, fs::read(entry.path())?.into());
            }
        }
    }
    Ok(files)
}

pub(super) fn write(files: &Files, dir: &Path) -> io::Result<()> {
    for (path, bytes) in files {
        let file = dir.join(path);
        fs::create_dir_all(file.parent().expect("a file is in a folder"))?;
        fs::write(file, bytes)?;
    }
    Ok(())
}
