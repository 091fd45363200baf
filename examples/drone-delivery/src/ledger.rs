//! The ledger: an append-only file with one line of JSON per effect. It is the only thing a service keeps.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::service::Service;

/// One mark per this many entries finds the place of any entry in the file.
const MARK_EVERY: u64 = 1024;

/// What happened to a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    Create,
    Update,
    Delete,
    /// A DELETE of what was never created. From then on it cannot be.
    Tombstone,
}

/// One effect as recorded in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Dense, from 1, per service.
    pub seq: u64,
    pub service: Service,
    pub id: String,
    /// The delivery that holds a package, or the run that changed a delivery.
    pub claim: Option<String>,
    /// The `Idempotency-Key` that asked for it.
    pub key: Option<String>,
    pub effect: Effect,
    /// How often this effect has now happened to this thing.
    pub count: u32,
    pub at_ms: u64,
}

/// A line of the file, with what a service needs to carry on after a restart.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line<'a> {
    pub seq: u64,
    pub service: Service,
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Cow<'a, str>>,
    pub effect: Effect,
    pub count: u32,
    pub at_ms: u64,
    /// The status that was answered.
    pub status: u16,
    /// Fingerprint of the request.
    pub request: u64,
    /// The resource after the effect. Serialized manually, always last.
    #[serde(borrow, default, skip_serializing)]
    pub state: Option<&'a RawValue>,
}

/// Where a state stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    offset: u64,
    bytes: u32,
}

pub(crate) struct Ledger {
    file: Arc<File>,
    end: u64,
    next: u64,
    marks: Vec<u64>,
    buffer: Vec<u8>,
}

impl Ledger {
    /// A ledger in memory, gone with the process.
    pub fn in_memory(service: Service) -> anyhow::Result<Ledger> {
        let memory = rustix::fs::memfd_create(service.as_str(), rustix::fs::MemfdFlags::CLOEXEC)
            .context("making a ledger in memory")?;
        Ok(Ledger::over(File::from(memory)))
    }

    /// Opens or creates the file and passes every entry in it to `replay`. A torn last line is cut off;
    /// a damaged line before it is refused.
    pub fn open(
        path: &Path,
        service: Service,
        mut replay: impl FnMut(&Line<'_>, Span),
    ) -> anyhow::Result<Ledger> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .with_context(|| format!("opening {}", path.display()))?;
        file.try_lock().with_context(|| format!("locking {}: another process has it", path.display()))?;
        let mut ledger = Ledger::over(file);
        let whole_bytes = ledger.file.metadata()?.len();
        let mut reader = BufReader::with_capacity(1 << 20, ledger.file.try_clone()?);
        let mut text = Vec::new();
        loop {
            text.clear();
            let bytes = reader.read_until(b'\n', &mut text)? as u64;
            if bytes == 0 {
                break;
            }
            let last = ledger.end + bytes == whole_bytes;
            match parse_line(&text) {
                Some(line) => {
                    let place = || format!("{} entry {} at byte {}", path.display(), line.seq, ledger.end);
                    ensure!(
                        line.seq == ledger.next && line.service == service,
                        "{} is out of place",
                        place()
                    );
                    let span = ledger.admit(text.len(), line.state.map_or(0, |state| state.get().len()));
                    replay(&line, span);
                }
                None if last => break,
                None => anyhow::bail!("{} is damaged at byte {}", path.display(), ledger.end),
            }
        }
        if ledger.end < whole_bytes {
            ledger.file.set_len(ledger.end).with_context(|| format!("cutting {}", path.display()))?;
        }
        Ok(ledger)
    }

    /// A new ledger over an empty file.
    pub fn over(file: File) -> Ledger {
        Ledger { file: Arc::new(file), end: 0, next: 1, marks: Vec::new(), buffer: Vec::new() }
    }

    /// The number that the next entry will have.
    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Hands one entry to the operating system. After an error nothing of it counts.
    pub fn append(&mut self, line: &Line<'_>, state: Option<&str>) -> io::Result<Span> {
        debug_assert_eq!(line.seq, self.next, "entries are numbered without gaps");
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, line)?;
        if let Some(state) = state {
            self.buffer.pop();
            self.buffer.extend_from_slice(b",\"state\":");
            self.buffer.extend_from_slice(state.as_bytes());
            self.buffer.push(b'}');
        }
        self.buffer.push(b'\n');
        // By position: the remains of a failed write are overwritten by the next one.
        self.file.write_all_at(&self.buffer, self.end)?;
        Ok(self.admit(self.buffer.len(), state.map_or(0, str::len)))
    }

    /// A state that an entry brought.
    pub fn read(&self, span: Span) -> io::Result<String> {
        let mut bytes = vec![0; span.bytes as usize];
        self.file.read_exact_at(&mut bytes, span.offset)?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }

    pub fn text(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.end as usize];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    /// The part of the file that holds the entries from `seq` on.
    pub fn range_from(&self, seq: u64) -> io::Result<std::ops::Range<u64>> {
        let seq = seq.max(1);
        if seq >= self.next {
            return Ok(self.end..self.end);
        }
        let mark = (seq - 1) / MARK_EVERY;
        let mut offset = self.marks[mark as usize];
        let mut lines_left = (seq - 1) % MARK_EVERY;
        let mut chunk = vec![0; 64 << 10];
        while lines_left > 0 {
            let bytes = self.file.read_at(&mut chunk, offset)?;
            let ends = chunk[..bytes].iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            match ends.map(|(index, _)| index as u64).nth(lines_left as usize - 1) {
                Some(index) => return Ok(offset + index + 1..self.end),
                None => lines_left -= chunk[..bytes].iter().filter(|byte| **byte == b'\n').count() as u64,
            }
            offset += bytes as u64;
        }
        Ok(offset..self.end)
    }

    fn admit(&mut self, line_bytes: usize, state_bytes: usize) -> Span {
        if (self.next - 1).is_multiple_of(MARK_EVERY) {
            self.marks.push(self.end);
        }
        self.end += line_bytes as u64;
        self.next += 1;
        // The state ends before the closing brace and the line end.
        Span { offset: self.end - 2 - state_bytes as u64, bytes: state_bytes as u32 }
    }
}

/// Reads entries from the text of a ledger, as a file or `GET /ledger/entries` gives it. A torn last
/// line is ignored.
pub fn entries_of(text: &[u8]) -> anyhow::Result<Vec<Entry>> {
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let mut entries = Vec::with_capacity(lines.len());
    for (index, text) in lines.iter().enumerate() {
        match parse_line(text) {
            Some(line) => entries.push(Entry::from(line)),
            None => ensure!(index + 1 == lines.len(), "line {} of the ledger is damaged", index + 1),
        }
    }
    Ok(entries)
}

/// Reads the ledgers of all services from a data directory; a missing one is empty.
pub fn read_directory(directory: &Path) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for service in Service::ALL {
        let path = file_in(directory, service);
        match std::fs::read(&path) {
            Ok(text) => entries.extend(entries_of(&text).with_context(|| path.display().to_string())?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
        }
    }
    Ok(entries)
}

/// Where a service keeps its ledger.
pub(crate) fn file_in(directory: &Path, service: Service) -> std::path::PathBuf {
    directory.join(format!("{service}.ledger"))
}

fn parse_line(text: &[u8]) -> Option<Line<'_>> {
    let text = text.strip_suffix(b"\n")?;
    serde_json::from_slice(text).ok()
}

impl From<Line<'_>> for Entry {
    fn from(line: Line<'_>) -> Entry {
        Entry {
            seq: line.seq,
            service: line.service,
            id: line.id.into_owned(),
            claim: line.claim.map(Cow::into_owned),
            key: line.key.map(Cow::into_owned),
            effect: line.effect,
            count: line.count,
            at_ms: line.at_ms,
        }
    }
}
