//! The superblock: the identity of a directory and how far its log is known to be durable. Two copies, written in turn.

use journal::OpenError;

use super::Cursor;
use crate::disk::Disk;

/// The format that this program writes. It reads every minor version of the same major one.
pub const MAJOR: u16 = 1;
const MINOR: u16 = 0;
const MAGIC: u64 = u64::from_le_bytes(*b"SortieJ\0");
// Magic, versions and the position of the checksum must stay the same in every later version.
const BYTES: usize = 512;
const CHECKED_BYTES: usize = BYTES - 4;
const NAMES: [&str; 2] = ["superblock.a", "superblock.b"];

/// The durable facts about a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    pub sequence: u64,
    pub installation: u128,
    pub partitions: u16,
    /// No later segment has ever contained an acknowledged record.
    pub segment: u32,
    /// Every frame up to here was synced.
    pub durable_through: u64,
}

/// The contents of the two copies.
pub enum LoadedSuperblock {
    Nothing,
    Superblock(Superblock),
}

impl Superblock {
    /// The newer of the valid copies.
    pub fn load(disk: &dyn Disk) -> Result<LoadedSuperblock, OpenError> {
        let mut newest: Option<Superblock> = None;
        let mut broken = None;
        for name in NAMES {
            let mut bytes = [0; BYTES];
            let read = match disk.open(name) {
                Ok(file) => file.read_at(&mut bytes, 0),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => Err(error),
            };
            if read.is_err() || !is_whole(&bytes) {
                broken = Some(name);
                continue;
            }
            let copy = decode(disk, &bytes)?;
            if newest.as_ref().is_none_or(|other| other.sequence < copy.sequence) {
                newest = Some(copy);
            }
        }
        match (newest, broken) {
            (Some(superblock), None) => Ok(LoadedSuperblock::Superblock(superblock)),
            (Some(superblock), Some(name)) => {
                tracing::warn!(file = name, "one copy of the superblock is damaged, the other is used");
                Ok(LoadedSuperblock::Superblock(superblock))
            }
            // A directory without segments was left in the middle of its creation.
            (None, _) if disk.list(crate::segment::DIR).is_ok_and(|names| names.is_empty()) => {
                Ok(LoadedSuperblock::Nothing)
            }
            (None, _) => Err(OpenError::Damaged {
                file: format!("{}/{}", disk.place(), NAMES[0]),
                detail: "no copy of the superblock is readable, but there is a log".to_owned(),
            }),
        }
    }

    /// Syncs what a previous process may have written without a sync, so that the remaining copy is
    /// whole while the other is written.
    pub fn secure(disk: &dyn Disk) -> std::io::Result<()> {
        for name in NAMES {
            match disk.open(name) {
                Ok(file) => file.sync_data()?,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        disk.sync_dir("")
    }

    /// Writes the next copy over the older one and syncs it.
    pub fn store(&mut self, disk: &dyn Disk) -> std::io::Result<()> {
        self.sequence += 1;
        let name = NAMES[(self.sequence % 2) as usize];
        let (file, is_new) = match disk.open(name) {
            Ok(file) => (file, false),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => (disk.create(name)?, true),
            Err(error) => return Err(error),
        };
        file.write_at(&self.encode(), 0)?;
        file.sync_data()?;
        if is_new { disk.sync_dir("") } else { Ok(()) }
    }

    fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[0..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..10].copy_from_slice(&MAJOR.to_le_bytes());
        bytes[10..12].copy_from_slice(&MINOR.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.partitions.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.segment.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[32..48].copy_from_slice(&self.installation.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.durable_through.to_le_bytes());
        let sum = crc32c::crc32c(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }
}

fn is_whole(bytes: &[u8; BYTES]) -> bool {
    bytes[0..8] == MAGIC.to_le_bytes()
        && bytes[CHECKED_BYTES..] == crc32c::crc32c(&bytes[..CHECKED_BYTES]).to_le_bytes()
}

fn decode(disk: &dyn Disk, bytes: &[u8; BYTES]) -> Result<Superblock, OpenError> {
    let mut cursor = Cursor(&bytes[8..]);
    let (major, minor) = (cursor.u16(), cursor.u16());
    if major != MAJOR {
        return Err(OpenError::Version {
            dir: disk.place(),
            found: format!("{major}.{minor}"),
            reads: format!("{MAJOR}.x"),
            fix: "use the version of sortie that wrote it, or restore a backup into a new directory"
                .to_owned(),
        });
    }
    let partitions = cursor.u16();
    let mut cursor = Cursor(&bytes[16..]);
    let segment = cursor.u32();
    let mut cursor = Cursor(&bytes[24..]);
    let sequence = cursor.u64();
    let installation = cursor.u128();
    Ok(Superblock { sequence, installation, partitions, segment, durable_through: cursor.u64() })
}

/// Rewrites both copies as if another major version had written them.
#[cfg(test)]
pub(crate) fn pretend_major(disk: &dyn Disk, major: u16) {
    for name in NAMES {
        let Ok(file) = disk.open(name) else { continue };
        let mut bytes = [0; BYTES];
        file.read_at(&mut bytes, 0).unwrap();
        bytes[8..10].copy_from_slice(&major.to_le_bytes());
        let sum = crc32c::crc32c(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&sum.to_le_bytes());
        file.write_at(&bytes, 0).unwrap();
        file.sync_data().unwrap();
    }
}
