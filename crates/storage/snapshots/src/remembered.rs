//! What a process remembers of a partition's snapshots: what it stored, and what its own files are in the store.

use std::collections::{BTreeMap, BTreeSet};

use types::{Epoch, Seq};

use crate::files::{Found, Identity};
use crate::manifest::{Manifest, Object, Place, TableFile};
use journal_nats::Version;

/// Manifests that are kept; see [`super::stored`].
pub(super) const MANIFESTS_KEPT: usize = 3;

/// Snapshots of one partition whose tables are stored and that have not come: one is under way at a time.
const COMING_MAX: usize = 2;

/// Whoever began this snapshot is not the owner any more.
pub(super) struct Void;

/// A file on this disk, and where it is kept.
pub(super) struct Local {
    pub identity: Identity,
    pub file: TableFile,
}

#[derive(Default)]
pub(super) struct Remembered {
    /// How often a new owner has begun here.
    pub owners: u64,
    /// Tables that are stored for a snapshot to come, by the frame that it goes through.
    coming: BTreeMap<Seq, (Epoch, Vec<Local>)>,
    /// Snapshots whose owner has had a successor here since their tables were stored.
    void: BTreeSet<Seq>,
    /// The files of the newest manifest that was written or read here, and what they are on this disk.
    known: BTreeMap<String, (Identity, Object)>,
    /// The newest manifests that were written or read here.
    pub manifests: BTreeMap<Version, Manifest>,
}

impl Remembered {
    /// Whoever begins knows nothing: others may have deleted what was known. What is still under way here is void.
    pub fn begin(&mut self) {
        let mut void = std::mem::take(&mut self.void);
        void.extend(self.coming.keys());
        *self = Remembered { owners: self.owners + 1, void, ..Remembered::default() };
    }

    /// Tables were stored for a snapshot of the owner that was the so-manieth when it began.
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
        // Those before it never came.
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

    /// The object that this file is in already, told by the file itself.
    pub fn by_identity(&self, found: &Found) -> Option<Object> {
        let (identity, object) = self.known.get(&found.name)?;
        (*identity == found.identity).then(|| object.clone())
    }

    /// As above, told by what is in it.
    pub fn by_content(&self, fresh: &Object, name: &str) -> Option<Object> {
        let (_, object) = self.known.get(name)?;
        (object.length == fresh.length && object.crc32c == fresh.crc32c).then(|| object.clone())
    }
}
