//! Damage to one file of a data directory: which file, which kind, where.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::dice::Dice;

const SECTOR_BYTES: usize = 512;
const BLOCK_BYTES: usize = 4096;
/// Draws until a damage is found that changes anything.
const DRAWS_MAX: usize = 50;

/// All files of a data directory, by their paths in it.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    Superblock,
    Segment,
    Snapshot,
    ControlSnapshot,
    Manifest,
    Table,
    Secrets,
    /// Locks and the reserve: files without content that counts.
    Other,
}

/// What happens to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DamageKind {
    Bit,
    Sector,
    Cut,
    Swap,
    Missing,
    Older,
}

pub const WAYS: [DamageKind; 6] = [
    DamageKind::Bit,
    DamageKind::Sector,
    DamageKind::Cut,
    DamageKind::Swap,
    DamageKind::Missing,
    DamageKind::Older,
];

/// One file as it is after the damage; none when it is gone.
pub struct Damage {
    pub file: PathBuf,
    pub kind: FileKind,
    pub way: DamageKind,
    pub place: String,
    pub bytes: Option<Vec<u8>>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}{}", self.way, self.file.display(), self.place)
    }
}

/// What a file is for, by its name.
pub fn kind_of(file: &Path) -> FileKind {
    let text = file.to_string_lossy();
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match text.split('/').next() {
        Some("journal") => FileKind::Segment,
        Some("snapshots") if name.starts_with(&format!("{:05}-", super::PARTITIONS)) => {
            FileKind::ControlSnapshot
        }
        Some("snapshots") => FileKind::Snapshot,
        Some("view") if text.contains("/tables/") => FileKind::Table,
        Some("view") if name != "lock" => FileKind::Manifest,
        Some(_) if name.starts_with("superblock") => FileKind::Superblock,
        Some(_) if name == "secrets.key" => FileKind::Secrets,
        Some(_) | None => FileKind::Other,
    }
}

/// Draws a damage of a kind and a way; none when no file of the kind can be damaged so.
pub fn draw(
    files: &Files,
    older: &Files,
    kind: FileKind,
    way: DamageKind,
    dice: &mut Dice,
) -> Option<Damage> {
    let candidates: Vec<&PathBuf> = files.keys().filter(|file| kind_of(file) == kind).collect();
    if candidates.is_empty() {
        return None;
    }
    (0..DRAWS_MAX).find_map(|_| {
        let file = candidates[dice.range(0, candidates.len() as u64) as usize];
        let bytes = &files[file];
        let (damaged, place) = damaged(files, older, file, bytes, way, dice)?;
        let changed = damaged.as_ref() != Some(bytes);
        changed.then(|| Damage { file: file.clone(), kind, way, place, bytes: damaged })
    })
}

fn damaged(
    files: &Files,
    older: &Files,
    file: &Path,
    bytes: &[u8],
    way: DamageKind,
    dice: &mut Dice,
) -> Option<(Option<Vec<u8>>, String)> {
    let mut copy = bytes.to_vec();
    let place = match way {
        DamageKind::Missing => return Some((None, String::new())),
        DamageKind::Older => {
            copy.clone_from(older.get(file)?);
            String::new()
        }
        DamageKind::Bit => {
            let at = offset(bytes, dice)?;
            copy[at] ^= 1 << dice.range(0, 8);
            format!(" at {at}")
        }
        DamageKind::Sector => {
            let at = offset(bytes, dice)? / SECTOR_BYTES * SECTOR_BYTES;
            let end = (at + SECTOR_BYTES).min(copy.len());
            copy[at..end].fill(0);
            format!(" at {at}")
        }
        DamageKind::Cut => {
            let at = offset(bytes, dice)?;
            copy.truncate(at);
            format!(" at {at}")
        }
        DamageKind::Swap => {
            let block = if bytes.len() >= 2 * BLOCK_BYTES { BLOCK_BYTES } else { SECTOR_BYTES };
            let at = offset(bytes, dice)? / block * block;
            let (other, other_at) = other_block(files, file, block, dice)?;
            let source = files[&other].get(other_at..other_at + block)?;
            let end = (at + block).min(copy.len());
            copy[at..end].copy_from_slice(&source[..end - at]);
            format!(" at {at}, with {other_at} of {}", other.display())
        }
    };
    Some((Some(copy), place))
}

/// Mostly where there is something: the tail of a segment is zeros.
fn offset(bytes: &[u8], dice: &mut Dice) -> Option<usize> {
    let used = bytes.chunks(BLOCK_BYTES).rposition(|block| !is_zero(block));
    let used = used.map_or(bytes.len(), |last| ((last + 1) * BLOCK_BYTES).min(bytes.len()));
    let beyond = if dice.hits_percent(90) { used } else { bytes.len() };
    (beyond > 0).then(|| dice.range(0, beyond as u64) as usize)
}

/// Compares whole blocks: byte by byte it would take most of the time.
fn is_zero(block: &[u8]) -> bool {
    const ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];
    *block == ZEROS[..block.len()]
}

/// A whole block of a file of the same kind: what a disk writes to the wrong place.
fn other_block(files: &Files, file: &Path, block: usize, dice: &mut Dice) -> Option<(PathBuf, usize)> {
    let kind = kind_of(file);
    let same: Vec<_> =
        files.iter().filter(|(other, bytes)| kind_of(other) == kind && bytes.len() >= block).collect();
    if same.is_empty() {
        return None;
    }
    let (other, bytes) = same[dice.range(0, same.len() as u64) as usize];
    let at = offset(bytes, dice)? / block * block;
    Some((other.clone(), at.min((bytes.len() - block) / block * block)))
}

/// Reads a directory into memory.
pub fn read(directory: &Path) -> anyhow::Result<Files> {
    let mut files = Files::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).with_context(|| format!("reading {}", next.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            // A file of a directory that is in use may be gone by now.
            if let Ok(bytes) = std::fs::read(&path) {
                files.insert(path.strip_prefix(directory)?.to_owned(), bytes);
            }
        }
    }
    Ok(files)
}

/// Writes a copy with the damage in it. What is zero stays a hole: most of a segment is.
pub fn write(files: &Files, damage: Option<&Damage>, directory: &Path) -> anyhow::Result<()> {
    for (file, bytes) in files {
        let path = directory.join(file);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let bytes = match damage {
            Some(damage) if damage.file == *file => match &damage.bytes {
                None => continue,
                Some(bytes) => bytes,
            },
            _ => bytes,
        };
        write_file(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn write_file(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::{FileExt, OpenOptionsExt};
    // The key of the secrets is refused when others can read it.
    let file = std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_len(bytes.len() as u64)?;
    for (index, block) in bytes.chunks(BLOCK_BYTES).enumerate() {
        if !is_zero(block) {
            file.write_all_at(block, (index * BLOCK_BYTES) as u64)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        let kinds =
            ["journal/0000000001.segment", "snapshots/00004-1.snapshot", "snapshots/00001-1.snapshot"];
        let found = kinds.map(|file| kind_of(Path::new(file)));
        assert_eq!(found, [FileKind::Segment, FileKind::ControlSnapshot, FileKind::Snapshot]);
        let kinds =
            ["view/p-00000/tables/1", "view/p-00000/current", "view/lock", "superblock.a", "secrets.key"];
        let found = kinds.map(|file| kind_of(Path::new(file)));
        assert_eq!(
            found,
            [FileKind::Table, FileKind::Manifest, FileKind::Other, FileKind::Superblock, FileKind::Secrets]
        );
    }

    #[test]
    fn every_damage_changes_its_file() {
        let file = PathBuf::from("journal/1.segment");
        let bytes: Vec<u8> = (0..20_000_u32).map(|n| (n / 100 + 1) as u8).collect();
        let files = Files::from([(file.clone(), bytes.clone())]);
        let older = Files::from([(file, bytes[1..].to_vec())]);
        let mut dice = Dice::new(7);
        for way in WAYS {
            let damage = draw(&files, &older, FileKind::Segment, way, &mut dice).unwrap();
            assert_ne!(damage.bytes, Some(bytes.clone()), "{damage}");
        }
        assert!(draw(&files, &Files::new(), FileKind::Segment, DamageKind::Older, &mut dice).is_none());
        assert!(draw(&files, &older, FileKind::Table, DamageKind::Bit, &mut dice).is_none());
    }
}
