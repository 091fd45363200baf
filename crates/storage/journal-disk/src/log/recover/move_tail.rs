//! Continues in a new segment after a torn tail, damage, or a tail that may not be durable.
//!
//! A frame that is readable may still be in the page cache only, even after a failed sync that the kernel has
//! forgotten. So frames that are not known to be durable are copied, synced, and only then made part of the log by
//! the header of the new segment. The old bytes are not changed.

use journal::OpenError;

use super::{Active, Opening};
use crate::format::frame::{FrameHeader, FrameKind, HEADER_BYTES};
use crate::format::segment_header::{SegmentEnd, SegmentHeader};
use crate::index::{Index, Position, Stream};
use crate::limits::{FRAME_ALIGN, PAGE_BYTES};
use crate::log::scan::{ReadableEnd, Scan, payload_of};

/// The new segment.
pub struct Moved {
    pub active: Active,
    pub segment_began: Vec<u64>,
    pub chain: u32,
    /// Nothing in the last segment is known to be durable: the new one replaces it.
    pub replaces_last: bool,
}

impl Opening<'_> {
    /// Copies the unconfirmed frames of the last segment, whose `bytes` were read, to a new one.
    pub(super) fn move_tail(
        &self,
        index: &Index,
        scan: &Scan,
        last: &SegmentHeader,
        tail: &ReadableEnd,
        bytes: &[u8],
        number: u32,
    ) -> Result<Moved, OpenError> {
        let data_start = SegmentHeader::data_start(self.slots);
        let mut marks = scan.marks.clone();
        for frame in scan.unconfirmed.iter().rev() {
            marks[usize::from(frame.header.slot)] = frame.mark_before;
        }
        let end = match scan.unconfirmed.front() {
            Some(first) => SegmentEnd {
                segment: last.number,
                offset: first.at as u64,
                lsn: first.header.lsn - 1,
                chain: first.chain_before,
            },
            None => {
                SegmentEnd { segment: last.number, offset: tail.position, lsn: scan.lsn, chain: scan.chain }
            }
        };
        let replaces_last = end.offset == data_start;
        let previous = if replaces_last { last.previous } else { end };

        let (frames, chain) = self.copy_frames(index, scan, bytes, number, previous);
        let spare = self.make_spare(number, frames.len() as u64)?;
        // The frames first: once the header is stored, the old copies are ignored.
        if !frames.is_empty() {
            self.write_synced(&spare, &frames, data_start)?;
        }
        let segment_began = marks.iter().map(|mark| mark.frame_number).collect();
        self.write_header(&spare, previous, marks)?;
        let position = data_start + frames.len() as u64;
        let active = Active { number, size: spare.size, file: spare.file, position };
        Ok(Moved { active, segment_began, chain, replaces_last })
    }

    /// The unconfirmed frames as one group of segment `number`, and the checksum of the last.
    fn copy_frames(
        &self,
        index: &Index,
        scan: &Scan,
        bytes: &[u8],
        number: u32,
        previous: SegmentEnd,
    ) -> (Vec<u8>, u32) {
        let data_start = SegmentHeader::data_start(self.slots);
        let mut out = Vec::new();
        let mut chain = previous.chain;
        for (count, frame) in (1..).zip(&scan.unconfirmed) {
            let at = out.len();
            let header = FrameHeader {
                last_of_group: count == scan.unconfirmed.len(),
                durable_through: previous.lsn,
                previous: chain,
                segment: number,
                ..frame.header
            };
            out.resize(at + HEADER_BYTES, 0);
            out.extend_from_slice(payload_of(bytes, frame));
            out.resize(out.len().next_multiple_of(FRAME_ALIGN), 0);
            chain = header.encode(self.superblock.installation, &mut out[at..]);
            let position = Position::new(header.first_seq, number, data_start + at as u64);
            match header.kind {
                FrameKind::Events => index.relocate(header.slot, Stream::Events, position),
                FrameKind::Inbox => index.relocate(header.slot, Stream::Inbox, position),
                FrameKind::Claim | FrameKind::Trim | FrameKind::Mark => {}
            }
        }
        out.resize(out.len().next_multiple_of(PAGE_BYTES), 0);
        (out, chain)
    }
}
