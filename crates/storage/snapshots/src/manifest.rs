//! The manifest of a snapshot, and the names of its objects in the store.
//!
//! `<installation>/<partition>/tables/<epoch>-<file>-<checksum>`, `…/state/<epoch>-<through>-<checksum>`, and last
//! `…/manifest/<through>-<epoch>`. The epoch is that of the owner that stored the object, and the checksum distinguishes
//! contents: an object that a manifest names is never overwritten with other content.

use bytes::Bytes;
use journal::codec;
use serde::{Deserialize, Serialize};
use types::{Epoch, PartitionId, Seq};

use journal_nats::Version;
use journal_nats::names;

/// Files up to this size are stored in the manifest itself, because a request for each would cost more. The tree's `current`
/// is among them, which has the same name and length in every snapshot.
pub(crate) const INLINE_BYTES_MAX: usize = 4096;

/// A snapshot: the state and, if there is a view, the files of its tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub partition: PartitionId,
    pub through: Seq,
    pub epoch: Epoch,
    pub state: Object,
    pub tables: Option<Vec<TableFile>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableFile {
    /// The path in the tree.
    pub name: String,
    pub place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    Here(Bytes),
    There(Object),
}

/// An object, with the length and checksum of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Object {
    pub name: String,
    pub length: u64,
    pub crc32c: u32,
}

impl Object {
    /// Why these bytes are not the content of the object, if they are not.
    pub fn mismatch(&self, bytes: &[u8]) -> Option<String> {
        if bytes.len() as u64 != self.length {
            return Some(format!("{} has {} bytes instead of {}", self.name, bytes.len(), self.length));
        }
        (crc32c::crc32c(bytes) != self.crc32c).then(|| format!("{} fails its checksum", self.name))
    }
}

impl Manifest {
    /// The names of all objects that it needs.
    pub fn objects(&self) -> impl Iterator<Item = &str> {
        let tables = self.tables.iter().flatten().filter_map(|file| match &file.place {
            Place::Here(_) => None,
            Place::There(object) => Some(object.name.as_str()),
        });
        tables.chain([self.state.name.as_str()])
    }

    pub fn encode(&self) -> Bytes {
        let mut bytes = codec::encode(self).to_vec();
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes.into()
    }

    pub fn decode(bytes: &[u8]) -> Result<Manifest, String> {
        let (bytes, checksum) = bytes.split_last_chunk().ok_or("it is too short")?;
        if crc32c::crc32c(bytes) != u32::from_le_bytes(*checksum) {
            return Err("it fails its checksum".to_owned());
        }
        codec::decode(bytes).map_err(|error| error.to_string())
    }
}

/// The names of one partition's objects.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// Ends with `/`.
    pub root: String,
}

impl Layout {
    pub fn new(installation: &str, partition: PartitionId) -> Layout {
        Layout { root: format!("{installation}/{}/", names::number(partition)) }
    }

    pub fn manifests(&self) -> String {
        format!("{}manifest/", self.root)
    }

    pub fn manifest(&self, through: Seq, epoch: Epoch) -> String {
        format!("{}manifest/{:020}-{:010}", self.root, through.0, epoch.0)
    }

    /// The version of a snapshot, from the name of its manifest.
    pub fn parse_manifest(&self, name: &str) -> Option<Version> {
        let (through, epoch) = name.strip_prefix(&self.manifests())?.split_once('-')?;
        Some((Epoch(epoch.parse().ok()?), Seq(through.parse().ok()?)))
    }

    pub fn state(&self, epoch: Epoch, through: Seq, bytes: &[u8]) -> Object {
        let crc32c = crc32c::crc32c(bytes);
        let name = format!("{}state/{:010}-{}-{crc32c:08x}", self.root, epoch.0, through.0);
        Object { name, length: bytes.len() as u64, crc32c }
    }

    pub fn table(&self, epoch: Epoch, file: &str, bytes: &[u8]) -> Object {
        let crc32c = crc32c::crc32c(bytes);
        let name = format!("{}tables/{:010}-{}-{crc32c:08x}", self.root, epoch.0, file.replace('/', "."));
        Object { name, length: bytes.len() as u64, crc32c }
    }

    /// The epoch under which a state or a table was stored, from its name.
    pub fn stored_under(&self, name: &str) -> Option<Epoch> {
        let below = name.strip_prefix(&self.root)?;
        let file = below.strip_prefix("state/").or_else(|| below.strip_prefix("tables/"))?;
        Some(Epoch(file.split_once('-')?.0.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_belong_to() {
        let layout = Layout::new("shop", PartitionId(3));
        let manifest = layout.manifest(Seq(70), Epoch(2));
        assert_eq!(manifest, "shop/00003/manifest/00000000000000000070-0000000002");
        assert_eq!(layout.parse_manifest(&manifest), Some((Epoch(2), Seq(70))));
        let table = layout.table(Epoch(2), "tables/17", b"x").name;
        assert!(table.starts_with("shop/00003/tables/0000000002-tables.17-"), "{table}");
        assert_eq!(layout.stored_under(&table), Some(Epoch(2)));
        assert_eq!(layout.stored_under(&layout.state(Epoch(9), Seq(1), b"").name), Some(Epoch(9)));
        assert_eq!(layout.stored_under(&manifest), None);
        assert_eq!(layout.parse_manifest(&table), None);
    }

    #[test]
    fn a_manifest_with_any_byte_changed_is_refused() {
        let state = Object { name: "s".to_owned(), length: 3, crc32c: 7 };
        let tables = Some(vec![TableFile { name: "current".to_owned(), place: Place::Here("abc".into()) }]);
        let manifest =
            Manifest { partition: PartitionId(1), through: Seq(5), epoch: Epoch(1), state, tables };
        let bytes = manifest.encode();
        assert_eq!(Manifest::decode(&bytes), Ok(manifest));
        for at in 0..bytes.len() {
            let mut changed = bytes.to_vec();
            changed[at] ^= 1;
            assert!(Manifest::decode(&changed).is_err(), "byte {at}");
            assert!(Manifest::decode(&bytes[..at]).is_err(), "cut at {at}");
        }
    }
}
