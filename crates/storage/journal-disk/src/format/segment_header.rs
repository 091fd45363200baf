//! The start of a segment: where the previous one ended and the position of every partition. Two copies, side by side.

use super::{Cursor, checksum};
use crate::limits::PAGE_BYTES;

const MAGIC: u64 = u64::from_le_bytes(*b"SJseg1\0\0");
const FIXED_BYTES: usize = 56;
const STANDING_BYTES: usize = 48;

/// The first pages of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentHeader {
    pub number: u32,
    /// The size of the file; a shorter file is truncated.
    pub size: u64,
    pub previous: SegmentEnd,
    /// The position of each partition, by slot.
    pub marks: Vec<PartitionMark>,
}

/// Where the previous segment ended. Everything before that end was durable when this was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentEnd {
    /// Zero: this is the first segment.
    pub segment: u32,
    pub offset: u64,
    pub lsn: u64,
    /// The checksum of the last frame's header.
    pub chain: u32,
}

/// The position of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartitionMark {
    pub frame_number: u64,
    pub epoch: u64,
    pub events_tail: u64,
    pub inbox_tail: u64,
    /// The first records that are not trimmed, less one.
    pub events_trimmed: u64,
    pub inbox_trimmed: u64,
}

impl SegmentHeader {
    /// The bytes of one copy, for a number of slots.
    pub fn copy_bytes(slots: usize) -> usize {
        (FIXED_BYTES + slots * STANDING_BYTES).next_multiple_of(PAGE_BYTES)
    }

    /// The offset of the first frame.
    pub fn data_start(slots: usize) -> u64 {
        2 * SegmentHeader::copy_bytes(slots) as u64
    }

    /// Appends both copies.
    pub fn encode(&self, installation: u128, out: &mut Vec<u8>) {
        let start = out.len();
        let copy_bytes = SegmentHeader::copy_bytes(self.marks.len());
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&(self.marks.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.size.to_le_bytes());
        out.extend_from_slice(&self.previous.offset.to_le_bytes());
        out.extend_from_slice(&self.previous.lsn.to_le_bytes());
        out.extend_from_slice(&self.previous.segment.to_le_bytes());
        out.extend_from_slice(&self.previous.chain.to_le_bytes());
        let sum_at = out.len();
        out.extend_from_slice(&[0; 8]);
        for mark in &self.marks {
            let PartitionMark { frame_number, epoch, events_tail, inbox_tail, events_trimmed, inbox_trimmed } =
                mark;
            for number in [frame_number, epoch, events_tail, inbox_tail, events_trimmed, inbox_trimmed] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        }
        out.resize(start + copy_bytes, 0);
        let sum = checksum(installation, self.number, &out[start..]);
        out[sum_at..sum_at + 4].copy_from_slice(&sum.to_le_bytes());
        out.extend_from_within(start..start + copy_bytes);
    }

    /// The header of the segment `number`, from whichever copy is whole.
    pub fn decode(installation: u128, number: u32, slots: usize, bytes: &[u8]) -> Option<SegmentHeader> {
        let copy_bytes = SegmentHeader::copy_bytes(slots);
        let copies = bytes.chunks_exact(copy_bytes).take(2);
        copies.into_iter().find_map(|copy| decode_copy(installation, number, slots, copy))
    }
}

fn decode_copy(installation: u128, number: u32, slots: usize, copy: &[u8]) -> Option<SegmentHeader> {
    let mut cursor = Cursor(copy);
    if cursor.u64() != MAGIC || cursor.u32() != number || cursor.u32() as usize != slots {
        return None;
    }
    let size = cursor.u64();
    let (offset, lsn, segment, chain) = (cursor.u64(), cursor.u64(), cursor.u32(), cursor.u32());
    let sum = cursor.u32();
    let sum_at = FIXED_BYTES - 8;
    let mut unsummed = copy.to_vec();
    unsummed[sum_at..sum_at + 4].fill(0);
    if checksum(installation, number, &unsummed) != sum {
        return None;
    }
    let marks = copy[FIXED_BYTES..].chunks_exact(STANDING_BYTES).take(slots).map(|entry| {
        let mut cursor = Cursor(entry);
        PartitionMark {
            frame_number: cursor.u64(),
            epoch: cursor.u64(),
            events_tail: cursor.u64(),
            inbox_tail: cursor.u64(),
            events_trimmed: cursor.u64(),
            inbox_trimmed: cursor.u64(),
        }
    });
    let previous = SegmentEnd { segment, offset, lsn, chain };
    Some(SegmentHeader { number, size, previous, marks: marks.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_copy_of_a_header_is_enough_and_none_is_none() {
        for slots in [1, 33, 200] {
            let mark =
                PartitionMark { frame_number: 9, epoch: 3, events_tail: 5, ..PartitionMark::default() };
            let header = SegmentHeader {
                number: 7,
                size: 1 << 20,
                previous: SegmentEnd { segment: 6, offset: 8192, lsn: 44, chain: 0xdead },
                marks: vec![mark; slots],
            };
            let mut bytes = Vec::new();
            header.encode(1, &mut bytes);
            assert_eq!(bytes.len() as u64, SegmentHeader::data_start(slots));
            assert_eq!(SegmentHeader::decode(1, 7, slots, &bytes), Some(header.clone()));
            assert_eq!(SegmentHeader::decode(1, 8, slots, &bytes), None);
            assert_eq!(SegmentHeader::decode(2, 7, slots, &bytes), None);
            let copy_bytes = SegmentHeader::copy_bytes(slots);
            for at in [0, 30, copy_bytes - 1] {
                let mut flipped = bytes.clone();
                flipped[at] ^= 4;
                assert_eq!(SegmentHeader::decode(1, 7, slots, &flipped), Some(header.clone()));
                flipped[copy_bytes + at] ^= 4;
                assert_eq!(SegmentHeader::decode(1, 7, slots, &flipped), None);
            }
        }
    }
}
