//! What a process remembers about the snapshots of a partition: what it has stored, and which objects have its local files.

use std::collections::{BTreeMap, BTreeSet};

use types::{Epoch, Seq};

use crate::files::{Found, Identity};
use crate::manifest::{Manifest, Object, Place, TableFile};
use journal_nats::Version;

/// Manifests that are kept; see [`super::stored`].
pub(super) const MANIFESTS_KEPT: usize = 3;

/// Snapshots of one partition whose tables are stored and whose state is not: one is stored at a time.
const COMING_MAX: usize = 2;

/// The owner that began this snapshot is not the owner any more.
pub(super) struct Void;

/// A local file, and where it is stored.
pub(super) struct Local {
    pub identity: Identity,
    pub file: TableFile,
}

#[derive(Default)]
pub(super) struct Remembered {
    /// How often this process has become the owner.
    pub owners: u64,
    /// Tables that are stored for a snapshot that is not complete, by its last frame.
    coming: BTreeMap<Seq, (Epoch, Vec<Local>)>,
    /// Snapshots whose owner was replaced since their tables were stored.
    void: BTreeSet<Seq>,
    /// The files of the newest manifest that was written or read here, with their local identities.
    known: BTreeMap<String, (Identity, Object)>,
    /// The newest manifests that were written or read here.
    pub manifests: BTreeMap<Version, Manifest>,
}

impl Remembered {
    /// Starts a new ownership: other owners may have deleted the known objects, and snapshots that are not complete are void.
    pub fn begin(&mut self) {
        let mut void = std::mem::take(&mut self.void);
        void.extend(self.coming.keys());
        *self = Remembered { owners: self.owners + 1, void, ..Remembered::default() };
    }

    /// Adds the tables of a snapshot that was begun by the owner with this count.
    pub fn add_coming(
        &mut self,
        owners: u64,
        through: Seq,
        epoch: Epoch,
        files: Vec<Local>,
    ) -> Result<(), Void> {
        if self.owners != owners {
            return Err(Void);
        }
        self.coming.insert(through, (epoch, files));
        // Earlier snapshots were never completed.
        while self.coming.len() > COMING_MAX {
            self.void.extend(self.coming.pop_first().map(|(through, _)| through));
        }
        Ok(())
    }

    /// The tables that were stored for a snapshot, if it has any.
    pub fn take_coming(&mut self, through: Seq, epoch: Epoch) -> Result<Option<Vec<Local>>, Void> {
        match self.coming.remove(&through) {
            Some((of, files)) if of == epoch => Ok(Some(files)),
            None if !self.void.contains(&through) => Ok(None),
            _ => Err(Void),
        }
    }

    pub fn remember(&mut self, manifest: Manifest, files: &[Local]) {
        let there = files.iter().filter_map(|Local { identity, file }| match &file.place {
            Place::Here(_) => None,
            Place::There(object) => Some((file.name.clone(), (*identity, object.clone()))),
        });
        self.known = there.collect();
        self.manifests.insert((manifest.epoch, manifest.through), manifest);
        while self.manifests.len() > MANIFESTS_KEPT {
            self.manifests.pop_first();
        }
    }

    /// The object that already has this file, found by the identity of the file.
    pub fn by_identity(&self, found: &Found) -> Option<Object> {
        let (identity, object) = self.known.get(&found.name)?;
        (*identity == found.identity).then(|| object.clone())
    }

    /// The object that already has this file, found by its content.
    pub fn by_content(&self, fresh: &Object, name: &str) -> Option<Object> {
        let (_, object) = self.known.get(name)?;
        (object.length == fresh.length && object.crc32c == fresh.crc32c).then(|| object.clone())
    }
}
