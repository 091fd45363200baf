//! Checks that the tree itself does not make, so that damage is detected and never causes a panic.
//!
//! The tree checks every block that it reads against its checksum, but trusts two things: the manifest (`current`
//! and the `v<n>` that it names; their checksum is written and never read, and bad values trigger assertions) and
//! the length in a table's directory at its end (a damaged one allocates gigabytes before the checksum is
//! compared, which aborts the process). So before a tree is opened, the manifest is read whole and compared with
//! its checksum, and the directory at the end of every table that it names is compared with its own. This costs a
//! few hundred bytes of reading per table; the tables' blocks are checked when they are read.
//!
//! [`whole_table`] reads a table from end to end and compares it with its checksum: that is for `verify`, and for
//! finding the file when a read has detected damage.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use lsm_tree::checksum::ChecksummedWriter;
use types::PartitionId;

use crate::error::Error;

const CURRENT: &str = "current";
const TABLES: &str = "tables";

/// The contents of a partition's directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TreePresence {
    /// No tree, and no trace of one.
    Nothing,
    /// A tree that is safe to open.
    Tree,
}

/// The files of the tree that `current` names, without unrelated files beside them.
pub(crate) struct Manifest {
    pub version: u64,
    /// `current` and the manifest itself, as they were read.
    pub heads: [(PathBuf, Vec<u8>); 2],
    pub tables: Vec<ListedTable>,
}

pub(crate) struct ListedTable {
    pub path: PathBuf,
    checksum: u128,
}

/// Checks a partition's directory before its tree is opened.
pub(crate) fn before_open(partition: PartitionId, dir: &Path) -> Result<TreePresence, Error> {
    let Some(manifest) = read_manifest(partition, dir)? else { return Ok(TreePresence::Nothing) };
    check_table_names(partition, &dir.join(TABLES))?;
    for table in &manifest.tables {
        check_directory(&table.path).map_err(|error| sorted(partition, &table.path, error))?;
    }
    Ok(TreePresence::Tree)
}

/// The first damaged table of a tree that cannot be opened.
pub(crate) fn find_damage(partition: PartitionId, dir: &Path) -> Result<(), Error> {
    for table in read_manifest(partition, dir)?.into_iter().flat_map(|manifest| manifest.tables) {
        whole_table(partition, &table.path, table.checksum)?;
    }
    Ok(())
}

/// Reads a table and compares it with its checksum. Returns the bytes read.
pub(crate) fn whole_table(partition: PartitionId, path: &Path, expected: u128) -> Result<u64, Error> {
    let read = File::open(path).and_then(|mut file| checksum(&mut file));
    let (got, length) = read.map_err(|error| sorted(partition, path, error))?;
    if got == expected { Ok(length) } else { Err(Error::damaged(partition, path, "it fails its checksum")) }
}

/// The manifest and the tables that it names; `None` when there is no tree.
pub(crate) fn read_manifest(partition: PartitionId, dir: &Path) -> Result<Option<Manifest>, Error> {
    let current = dir.join(CURRENT);
    let head = match fs::read(&current) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A crash during the creation of a tree leaves no tables; tables without a manifest are a loss.
            let tables = dir.join(TABLES);
            let any = fs::read_dir(&tables).is_ok_and(|mut entries| entries.next().is_some());
            return if any { Err(Error::damaged(partition, &current, "missing")) } else { Ok(None) };
        }
        Err(error) => return Err(Error::io(partition, "reading the manifest", &error)),
    };
    let (version, expected) = parse_current(&head).ok_or_else(|| {
        Error::damaged(partition, &current, format!("its {} bytes are invalid", head.len()))
    })?;
    let manifest = dir.join(format!("v{version}"));
    let bytes = match fs::read(&manifest) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Either of the two may be damaged.
            let detail = format!("missing, and {} names it", current.display());
            return Err(Error::damaged(partition, &manifest, detail));
        }
        read => read.map_err(|error| sorted(partition, &manifest, error))?,
    };
    let (got, _) = checksum(&mut bytes.as_slice()).expect("reading from memory cannot fail");
    if got != expected {
        let detail = format!("its checksum is not the one in {}", current.display());
        return Err(Error::damaged(partition, &manifest, detail));
    }
    let tables = parse_manifest(&bytes, &dir.join(TABLES))
        .ok_or_else(|| Error::damaged(partition, &manifest, "its list of tables cannot be read"))?;
    Ok(Some(Manifest { version, heads: [(current, head), (manifest, bytes)], tables }))
}

/// The version and the checksum of its manifest.
fn parse_current(bytes: &[u8]) -> Option<(u64, u128)> {
    let mut bytes = Bytes(bytes);
    let (version, checksum, kind) = (bytes.u64()?, bytes.u128()?, bytes.u8()?);
    (kind == 0 && bytes.0.is_empty()).then_some((version, checksum))
}

fn parse_manifest(archive: &[u8], tables: &Path) -> Option<Vec<ListedTable>> {
    let directory_at = usize::try_from(parse_trailer(archive)?.directory_at).ok()?;
    let mut directory = Bytes(archive.get(directory_at..)?);
    directory.take(DIRECTORY_MAGIC.len())?;
    let mut listed = Vec::new();
    for _ in 0..directory.u32()? {
        let (at, length) = (usize::try_from(directory.u64()?).ok()?, usize::try_from(directory.u64()?).ok()?);
        let name_length = directory.u16()?;
        if directory.take(name_length.into())? == b"tables" {
            let section = archive.get(at..at.checked_add(length)?)?;
            listed = parse_tables(&mut Bytes(section), tables)?;
        }
    }
    Some(listed)
}

fn parse_tables(section: &mut Bytes, dir: &Path) -> Option<Vec<ListedTable>> {
    let mut listed = Vec::new();
    for _level in 0..section.u8()? {
        for _run in 0..section.u8()? {
            for _table in 0..section.u32()? {
                let (id, _kind, checksum, _seqno) =
                    (section.u64()?, section.u8()?, section.u128()?, section.u64()?);
                listed.push(ListedTable { path: dir.join(id.to_string()), checksum });
            }
        }
    }
    Some(listed)
}

const TRAILER_MAGIC: &[u8] = b"SFA!";
const DIRECTORY_MAGIC: &[u8] = b"TOC!";
const TRAILER_BYTES: usize = 38;

struct Trailer {
    directory_at: u64,
    directory_checksum: u128,
}

fn parse_trailer(archive: &[u8]) -> Option<Trailer> {
    let mut trailer = Bytes(archive.get(archive.len().checked_sub(TRAILER_BYTES)?..)?);
    if trailer.take(TRAILER_MAGIC.len())? != TRAILER_MAGIC || trailer.u8()? != 1 || trailer.u8()? != 0 {
        return None;
    }
    Some(Trailer { directory_checksum: trailer.u128()?, directory_at: trailer.u64()? })
}

/// Compares the directory at the end of a table with its checksum.
fn check_directory(path: &Path) -> io::Result<()> {
    let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let end = length.checked_sub(TRAILER_BYTES as u64).ok_or_else(|| damaged("shorter than its trailer"))?;
    let mut trailer = [0; TRAILER_BYTES];
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut trailer)?;
    let trailer = parse_trailer(&trailer).ok_or_else(|| damaged("its trailer is invalid"))?;
    let directory_length =
        end.checked_sub(trailer.directory_at).ok_or_else(|| damaged("its directory lies beyond its end"))?;
    file.seek(SeekFrom::Start(trailer.directory_at))?;
    let (checksum, _) = checksum(&mut file.take(directory_length))?;
    if checksum == trailer.directory_checksum {
        Ok(())
    } else {
        Err(damaged("its directory fails its checksum"))
    }
}

/// The tree would fail on a name that is not a table's, and panic on a directory.
fn check_table_names(partition: PartitionId, tables: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(tables).map_err(|error| sorted(partition, tables, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| sorted(partition, tables, error))?;
        let kind = entry.file_type().map_err(|error| sorted(partition, &entry.path(), error))?;
        let number = entry.file_name().to_str().is_some_and(|name| name.parse::<u64>().is_ok());
        if !number || !kind.is_file() {
            return Err(Error::damaged(partition, &entry.path(), "not a table; it does not belong here"));
        }
    }
    Ok(())
}

/// The tree's own checksum of everything in `reader`, and its length.
fn checksum(reader: &mut impl Read) -> io::Result<(u128, u64)> {
    let mut writer = ChecksummedWriter::new(io::sink());
    let mut buffer = vec![0; 256 * 1024];
    let mut length = 0;
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok((writer.checksum().into_u128(), length)),
            count => {
                writer.write_all(&buffer[..count])?;
                length += count as u64;
            }
        }
    }
}

/// A missing, short or malformed file is damage; anything else is a disk error.
pub(crate) fn sorted(partition: PartitionId, file: &Path, error: io::Error) -> Error {
    match Error::of_tree(partition, file, "reading it", lsm_tree::Error::Io(error)) {
        Error::Io { partition, kind, detail, .. } => {
            let detail = format!("{}: {detail}", file.display());
            Error::Io { partition, attempt: "reading a table", kind, detail }
        }
        error => error,
    }
}

/// Reads little-endian numbers from the front; `None` when there are not enough bytes.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(count)?;
        self.0 = tail;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn u128(&mut self) -> Option<u128> {
        self.array().map(u128::from_le_bytes)
    }
}
