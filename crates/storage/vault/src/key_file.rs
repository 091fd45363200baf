//! The key in a file of its own: created when it is missing, refused when other users can read it.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::key::{InvalidKey, SealingKey};

/// Larger files are not key files, and are not read completely.
const FILE_BYTES_MAX: u64 = 1024;

/// Why the key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("key file {path}: mode {mode:04o} lets others read it; run `chmod 600 {path}`")]
    Exposed { path: PathBuf, mode: u32 },
    #[error("key file {path}: {source}")]
    Invalid { path: PathBuf, source: InvalidKey },
    #[error("key file {path} is not a regular file")]
    NotAFile { path: PathBuf },
    #[error("{attempt} key file {path}: {source}")]
    Io { attempt: &'static str, path: PathBuf, source: std::io::Error },
}

/// Reads the key, or creates one and stores it before it is used.
pub(crate) fn open_or_create(path: &Path) -> Result<SealingKey, KeyFileError> {
    match read(path) {
        Err(KeyFileError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => create(path),
        result => result,
    }
}

fn read(path: &Path) -> Result<SealingKey, KeyFileError> {
    let failed = |source| KeyFileError::Io { attempt: "reading", path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    // Checked on the open file, not on the path: the checked file is the one that is read.
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(KeyFileError::NotAFile { path: path.to_owned() });
    }
    let mode = about.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyFileError::Exposed { path: path.to_owned(), mode });
    }
    let mut text = Zeroizing::new(Vec::new());
    file.take(FILE_BYTES_MAX).read_to_end(&mut text).map_err(failed)?;
    let invalid = |source| KeyFileError::Invalid { path: path.to_owned(), source };
    let text = std::str::from_utf8(&text).map_err(|_| invalid(InvalidKey))?;
    SealingKey::from_text(text).map_err(invalid)
}

/// The file appears under its name only when it is whole and durable: a crash in between leaves none, because a
/// half-written key would be refused for ever, and a lost one would leave sealed secrets that nobody can open.
fn create(path: &Path) -> Result<SealingKey, KeyFileError> {
    let failed = |source| KeyFileError::Io { attempt: "creating", path: path.to_owned(), source };
    let key = SealingKey::random();
    let draft = draft_path(path, &key);
    let written = write_draft(&draft, &key).and_then(|()| std::fs::hard_link(&draft, path));
    // Best effort: a remaining draft is a secret file of mode 600 that is not used.
    let _ = std::fs::remove_file(&draft);
    match written {
        Ok(()) => sync_parent(path).map_err(failed)?,
        // Another process was faster: use its key.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return read(path),
        Err(error) => return Err(failed(error)),
    }
    Ok(key)
}

fn write_draft(draft: &Path, key: &SealingKey) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    file.write_all(key.to_text().as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

/// Beside the file, so that it can be linked; named by the key's id, so that two processes do not collide.
fn draft_path(path: &Path, key: &SealingKey) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.draft", key.id()));
    name.into()
}

fn sync_parent(path: &Path) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}
