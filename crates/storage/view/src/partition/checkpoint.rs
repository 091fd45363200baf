//! A copy of a tree at one moment, made of hard links: nothing is rewritten, and compaction continues.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use lsm_tree::AbstractTree;
use types::Seq;

use super::ViewPartition;
use crate::check::{self, Manifest};
use crate::error::Error;

impl ViewPartition {
    /// Flushes, and links the current files of the tree into the empty directory `into`.
    ///
    /// They contain everything written before the call, and possibly some later writes.
    pub(crate) fn checkpoint(&self, through: Seq, into: &Path) -> Result<(), Error> {
        self.flush(through)?;
        // Closing the partition waits for this: afterwards its directory may belong to another tree.
        let _changing = self.tables_change.read().expect("no panic under this lock");
        loop {
            let tree = &self.writable()?.tree;
            // Holding the version keeps compaction from deleting its tables.
            let version = tree.current_version();
            match check::read_manifest(self.id, &self.dir) {
                Ok(Some(manifest)) if manifest.version == version.id() => {
                    let linked = link(&manifest, &self.dir, into);
                    return linked.map_err(|error| Error::io(self.id, "linking its tables", &error));
                }
                // There is a new version, and the manifest of the previous one may have been deleted.
                _ if tree.current_version().id() != version.id() => {}
                Ok(Some(_)) => std::thread::yield_now(),
                Ok(None) => return Err(self.damaged("its tree is gone")),
                Err(error) => return Err(error),
            }
        }
    }
}

fn link(manifest: &Manifest, dir: &Path, into: &Path) -> io::Result<()> {
    let target = |path: &Path| into.join(path.strip_prefix(dir).expect("every file lies in the directory"));
    // Copied, not linked: the tree overwrites manifests of versions that it never reached, and must not change these.
    for (path, bytes) in &manifest.heads {
        fs::write(target(path), bytes)?;
    }
    fs::create_dir(into.join("tables"))?;
    for table in &manifest.tables {
        link_or_copy(&table.path, &target(&table.path))?;
    }
    Ok(())
}

/// Tables never change, so two trees can share one; where the system cannot link, it is copied.
fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    use ErrorKind::{CrossesDevices, PermissionDenied, TooManyLinks, Unsupported};
    match fs::hard_link(from, to) {
        Err(error)
            if matches!(error.kind(), CrossesDevices | PermissionDenied | TooManyLinks | Unsupported) =>
        {
            fs::copy(from, to).map(drop)
        }
        linked => linked,
    }
}
