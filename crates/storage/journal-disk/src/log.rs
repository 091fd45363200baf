//! The log itself, without threads: forms a group's bytes, writes and syncs them, then makes them visible.
//!
//! A group starts on a page of its own. One write and one sync carry it. State is advanced while the group is
//! formed and published to readers after the sync; if either fails, the log is closed and only a restart finds out
//! what was stored.

mod group;
mod recover;
mod roll;
mod scan;
mod sync;
#[cfg(test)]
mod tests;

pub use group::group_length;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use journal::{AppendError, Claim};
use types::{Epoch, Seq};

use crate::disk::{Disk, DiskFile};
use crate::format::frame::{self, FrameHeader, FrameKind};
use crate::format::segment_header::PartitionMark;
use crate::format::superblock::Superblock;
use crate::index::{Index, Position, Stream};
use crate::limits::PAGE_BYTES;
use crate::segment::{self, Spare, SpareJob};
use crate::settings::{FatalError, Settings, Sync};
use crate::space::Space;

/// One request to the log.
#[derive(Debug, Clone)]
pub struct LogRequest {
    pub slot: u16,
    pub ask: LogOperation,
}

/// The operation.
#[derive(Debug, Clone)]
pub enum LogOperation {
    Claim,
    Append { epoch: Epoch, expected_tail: Seq, frame: Bytes },
    Inbox { records: Vec<Bytes> },
    Trim { events: Seq, inbox: Seq },
}

/// The durable result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogCompletion {
    Claimed(Claim),
    Appended(Seq),
    Trimmed,
}

/// The answer to one request.
pub type LogResult = Result<LogCompletion, AppendError>;

/// The log of one directory, owned by one writer.
pub struct Log {
    disk: Arc<dyn Disk>,
    index: Arc<Index>,
    space: Arc<Space>,
    sync: Sync,
    segment_bytes: u64,
    cache_bytes_max: usize,
    superblock: Superblock,
    /// By slot, as of the last frame formed.
    marks: Vec<PartitionMark>,
    /// Every partition's frame number when the active segment began.
    segment_began: Vec<u64>,
    /// The last frame's number.
    lsn: u64,
    /// The last frame's checksum.
    chain: u32,
    /// The position of the last mark.
    marked: u64,
    active: Active,
    /// All segments with their sizes, oldest first, the active one last.
    segments: VecDeque<(u32, u64)>,
    next_segment: u32,
    spare: SpareState,
    /// A trim or a new segment may have made old segments obsolete.
    may_remove: bool,
    /// No segment from here on is ever removed: it contains damage.
    kept_from: Option<u32>,
    buffer: Vec<u8>,
    frames: Vec<FormedFrame>,
    /// The cached inbox frames in write order: slot and bytes.
    cached: VecDeque<(u16, usize)>,
    cached_bytes: usize,
    /// For each slot the requests of this group that go to its inbox.
    inboxes: Vec<Vec<u32>>,
    failed: bool,
}

/// The active segment.
struct Active {
    number: u32,
    size: u64,
    file: Arc<dyn DiskFile>,
    /// The offset of the next group.
    position: u64,
}

/// The state of the next segment.
enum SpareState {
    None,
    Planned,
    /// Preparing it failed; it may still arrive.
    Overdue,
    Ready(Spare),
}

/// A frame in the buffer.
struct FormedFrame {
    header: FrameHeader,
    /// The offset of its header in the buffer.
    at: usize,
}

impl Log {
    /// Writes a group; when it returns, every `Ok` in `answers` is durable. After an error the state of the group is
    /// unknown, and the log accepts nothing more.
    pub fn write_group(
        &mut self,
        requests: &[LogRequest],
        answers: &mut Vec<LogResult>,
    ) -> Result<(), FatalError> {
        answers.clear();
        self.check_alive()?;
        self.buffer.clear();
        self.frames.clear();
        let segment_before = self.active.number;
        let admission = self.make_room(requests).inspect_err(|_| self.failed = true)?;
        self.form_group(requests, admission, answers);
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = self.write_and_sync(segment_before).map_err(|(doing, source)| FatalError {
            doing,
            file: format!("{}/{}", self.disk.place(), segment::path(self.active.number)),
            source,
        });
        written.inspect_err(|_| self.failed = true)?;
        self.publish();
        Ok(())
    }

    /// Writes, without a sync, that everything so far is durable, so that damage to the last group can be
    /// distinguished from a torn write of it. Worth doing when nothing else is to be written.
    pub fn mark(&mut self) -> Result<(), FatalError> {
        self.check_alive()?;
        if !self.wants_mark() {
            return Ok(());
        }
        self.form_mark();
        self.marked = self.lsn;
        self.active.file.write_at(&self.buffer, self.active.position).map_err(|source| {
            self.failed = true;
            FatalError { doing: "marking", file: segment::path(self.active.number), source }
        })
    }

    /// Whether a group was written since the last mark.
    pub fn wants_mark(&self) -> bool {
        self.marked != self.lsn
    }

    /// Marks the end and records it in the superblock.
    pub fn close(&mut self) -> Result<(), FatalError> {
        self.mark()?;
        let synced = self.active.file.sync_data().and_then(|()| self.store_superblock());
        synced.map_err(|source| {
            self.failed = true;
            FatalError { doing: "closing", file: segment::path(self.active.number), source }
        })
    }

    /// The next segment to prepare, if it is time. Answer with [`Log::take_spare`].
    pub fn plan_spare(&mut self) -> Option<SpareJob> {
        if !matches!(self.spare, SpareState::None) {
            return None;
        }
        self.spare = SpareState::Planned;
        Some(self.spare_job(self.segment_bytes))
    }

    /// Receives a prepared segment, or the failure to prepare one.
    pub fn take_spare(&mut self, spare: io::Result<Spare>) {
        self.spare = match spare {
            Ok(spare) => {
                self.space.add_used(spare.size);
                if spare.number < self.active.number {
                    self.discard(&spare);
                    SpareState::None
                } else {
                    SpareState::Ready(spare)
                }
            }
            Err(error) => {
                if segment::is_full(&error) {
                    self.space.set_full();
                } else {
                    tracing::warn!(%error, "preparing a segment failed");
                }
                SpareState::Overdue
            }
        };
    }

    /// Whether a group of these requests needs a segment that is still being prepared.
    pub fn waits_for_spare(&self, requests: &[LogRequest]) -> bool {
        matches!(self.spare, SpareState::Planned)
            && !self.fits(group::bytes_of(requests, group::Admission::All))
    }

    /// Removes obsolete segments from the list; the caller removes the files, in order.
    pub fn take_removable(&mut self) -> Vec<u32> {
        if !std::mem::take(&mut self.may_remove) {
            return Vec::new();
        }
        let needed = self.index.segment_needed().unwrap_or(u32::MAX);
        let floor = needed.min(self.active.number).min(self.kept_from.unwrap_or(u32::MAX));
        let mut removable = Vec::new();
        while let Some(&(number, size)) = self.segments.front()
            && number < floor
        {
            self.segments.pop_front();
            self.space.remove_used(size);
            removable.push(number);
        }
        removable
    }

    /// Does the work of the segment preparer synchronously: for callers that run the log without threads.
    pub fn tend(&mut self) -> io::Result<()> {
        if matches!(self.spare, SpareState::Overdue) {
            self.spare = SpareState::None;
        }
        if let Some(job) = self.plan_spare() {
            let spare = job.run(&*self.disk);
            self.take_spare(spare);
        }
        self.space.restore(&*self.disk, matches!(self.spare, SpareState::Ready(_)))?;
        for number in self.take_removable() {
            segment::remove(&*self.disk, number)?;
        }
        Ok(())
    }

    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    pub fn installation(&self) -> u128 {
        self.superblock.installation
    }

    fn check_alive(&self) -> Result<(), FatalError> {
        if self.failed {
            let source = io::Error::other("an earlier write or sync failed");
            return Err(FatalError { doing: "writing", file: segment::path(self.active.number), source });
        }
        Ok(())
    }

    /// Publishes the frames of the buffer to readers.
    fn publish(&mut self) {
        let buffer_at = self.active.position - self.buffer.len() as u64;
        for formed in &self.frames {
            let header = &formed.header;
            let position = Position::new(header.first_seq, header.segment, buffer_at + formed.at as u64);
            match header.kind {
                FrameKind::Events => self.index.add(header.slot, Stream::Events, position, 1),
                FrameKind::Inbox => {
                    let payload_at = formed.at + frame::HEADER_BYTES;
                    let payload = &self.buffer[payload_at..payload_at + header.payload_bytes as usize];
                    let count = u64::from(header.count);
                    self.index.add_cached(header.slot, position, count, Bytes::copy_from_slice(payload));
                    self.index.publish_tail(header.slot);
                    self.cached.push_back((header.slot, payload.len()));
                    self.cached_bytes += payload.len();
                }
                FrameKind::Trim => {
                    let mark = &self.marks[usize::from(header.slot)];
                    self.index.trim(header.slot, mark.events_trimmed, mark.inbox_trimmed);
                    self.may_remove = true;
                }
                FrameKind::Claim | FrameKind::Mark => {}
            }
        }
        while self.cached_bytes > self.cache_bytes_max
            && let Some((slot, bytes)) = self.cached.pop_front()
        {
            self.index.evict(slot);
            self.cached_bytes -= bytes;
        }
    }

    fn form_mark(&mut self) {
        self.buffer.clear();
        self.buffer.resize(frame::HEADER_BYTES, 0);
        for (slot, mark) in self.marks.iter().enumerate() {
            if mark.frame_number != self.segment_began[slot] {
                self.buffer.extend_from_slice(&(slot as u16).to_le_bytes());
                self.buffer.extend_from_slice(&mark.frame_number.to_le_bytes());
            }
        }
        let payload = &self.buffer[frame::HEADER_BYTES..];
        let header = FrameHeader {
            kind: FrameKind::Mark,
            last_of_group: true,
            slot: 0,
            lsn: self.lsn,
            frame_number: 0,
            first_seq: 0,
            count: 0,
            payload_bytes: payload.len() as u32,
            epoch: 0,
            durable_through: self.lsn,
            previous: self.chain,
            payload_checksum: crc32c::crc32c(payload),
            segment: self.active.number,
        };
        header.encode(self.superblock.installation, &mut self.buffer);
        self.buffer.resize(self.buffer.len().next_multiple_of(PAGE_BYTES), 0);
    }

    fn spare_job(&mut self, size: u64) -> SpareJob {
        let number = self.next_segment;
        self.next_segment += 1;
        SpareJob { number, size }
    }
}

impl Log {
    /// Opens the log of a directory, or creates it: finds the end, distinguishes damage from a torn tail, and changes
    /// nothing on disk unless it can.
    pub fn open(disk: Arc<dyn Disk>, settings: &Settings) -> Result<Log, journal::OpenError> {
        recover::open(disk, settings)
    }
}
