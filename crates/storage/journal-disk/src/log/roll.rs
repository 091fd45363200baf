//! Continues in the next segment, also when there is no space for a whole one.

use super::group::{Admission, bytes_of};
use super::{Active, Log, LogRequest, SpareState};
use crate::format::frame::{HEADER_BYTES, PROGRESS_BYTES};
use crate::format::segment_header::{SegmentEnd, SegmentHeader};
use crate::limits::PAGE_BYTES;
use crate::segment::{self, Spare};
use crate::settings::FatalError;

/// The most bytes that a mark can take.
pub fn mark_bytes_max(slots: usize) -> u64 {
    (HEADER_BYTES + slots * PROGRESS_BYTES).next_multiple_of(PAGE_BYTES) as u64
}

impl Log {
    /// Whether a group of so many bytes fits into the active segment, followed by a mark.
    pub(super) fn fits(&self, bytes: u64) -> bool {
        self.active.position + bytes + mark_bytes_max(self.marks.len()) <= self.active.size
    }

    /// Makes sure that the group fits where it will be written, and returns which requests there is room for.
    pub(super) fn make_room(&mut self, requests: &[LogRequest]) -> Result<Admission, FatalError> {
        let mut admission = if self.space.is_full() { Admission::AllButInbox } else { Admission::All };
        loop {
            let bytes = bytes_of(requests, admission);
            if bytes == 0 || self.fits(bytes) {
                return Ok(admission);
            }
            let needed = self.data_start() + bytes + mark_bytes_max(self.marks.len());
            let size = self.segment_bytes.max(needed);
            let spare = match self.usable_spare(needed) {
                Some(spare) => Some(spare),
                None => self.make_spare(size)?,
            };
            if let Some(spare) = spare {
                self.roll(spare);
                return Ok(admission);
            }
            if admission == Admission::All {
                self.space.set_full();
                admission = Admission::AllButInbox;
                continue;
            }
            let released = self.space.release_reserve(&*self.disk);
            released.map_err(|source| self.fatal("releasing the reserve for", source))?;
            // A whole segment if the reserve allows it, else just the bytes that this group needs.
            for size in [size, needed] {
                if let Some(spare) = self.make_spare(size)? {
                    self.roll(spare);
                    return Ok(admission);
                }
            }
            return Ok(Admission::Nothing);
        }
    }

    fn data_start(&self) -> u64 {
        SegmentHeader::data_start(self.marks.len())
    }

    /// The spare, if it is large enough; a smaller one is dropped, because segment numbers only grow.
    fn usable_spare(&mut self, needed: u64) -> Option<Spare> {
        let spare = match std::mem::replace(&mut self.spare, SpareState::None) {
            SpareState::Ready(spare) => spare,
            waited_for => {
                self.spare = waited_for;
                return None;
            }
        };
        if spare.size >= needed {
            return Some(spare);
        }
        self.discard(&spare);
        None
    }

    pub(super) fn discard(&self, spare: &Spare) {
        self.space.remove_used(spare.size);
        if let Err(error) = segment::remove(&*self.disk, spare.number) {
            tracing::warn!(%error, segment = spare.number, "removing an unused segment failed; it stays until the next start");
        }
    }

    /// Creates a new segment synchronously; none if the disk is full.
    fn make_spare(&mut self, size: u64) -> Result<Option<Spare>, FatalError> {
        match self.spare_job(size).run(&*self.disk) {
            Ok(spare) => {
                self.space.add_used(spare.size);
                Ok(Some(spare))
            }
            Err(error) if segment::is_full(&error) => Ok(None),
            Err(source) => Err(self.fatal("preparing a segment after", source)),
        }
    }

    /// Makes the spare the active segment; its header starts the group in the buffer.
    fn roll(&mut self, spare: Spare) {
        let previous = SegmentEnd {
            segment: self.active.number,
            offset: self.active.position,
            lsn: self.lsn,
            chain: self.chain,
        };
        let header =
            SegmentHeader { number: spare.number, size: spare.size, previous, marks: self.marks.clone() };
        header.encode(self.superblock.installation, &mut self.buffer);
        self.segment_began = self.marks.iter().map(|mark| mark.frame_number).collect();
        self.may_remove = true;
        self.segments.push_back((spare.number, spare.size));
        self.active = Active { number: spare.number, size: spare.size, file: spare.file, position: 0 };
    }

    fn fatal(&self, doing: &'static str, source: std::io::Error) -> FatalError {
        FatalError { doing, file: segment::path(self.active.number), source }
    }
}
