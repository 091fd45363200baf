//! A frame: a header with its own checksum, so that a damaged payload can still be attributed to its partition, then
//! the payload.

use super::{Cursor, checksum};
use crate::limits::{FRAME_ALIGN, PAYLOAD_BYTES_MAX};

pub const HEADER_BYTES: usize = 72;
const MAGIC: u32 = u32::from_le_bytes(*b"SJf1");
const CHECKED_BYTES: usize = HEADER_BYTES - 4;

/// The kind of a frame's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    /// One record of the events.
    Events = 1,
    /// One or more records of the inbox.
    Inbox = 2,
    /// A new owner epoch.
    Claim = 3,
    /// New first numbers of both streams.
    Trim = 4,
    /// What is durable and the position of each partition. It belongs to no partition; the next group overwrites it.
    Mark = 5,
}

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    pub kind: FrameKind,
    /// No frame follows before the next page.
    pub last_of_group: bool,
    /// The slot of the partition: its number, or the number of partitions for control.
    pub slot: u16,
    /// Counts all frames of the log; a mark repeats the number of the last frame.
    pub lsn: u64,
    /// Counts the frames of this partition, whatever their kind.
    pub frame_number: u64,
    /// The number of the first record in its stream.
    pub first_seq: u64,
    pub count: u32,
    pub payload_bytes: u32,
    /// The owner's epoch when the frame was written.
    pub epoch: u64,
    /// The highest lsn that was known to be synced when the frame was written.
    pub durable_through: u64,
    /// The checksum of the previous frame's header.
    pub previous: u32,
    pub payload_checksum: u32,
    pub segment: u32,
}

impl FrameHeader {
    /// Writes the header and returns its checksum, which is what the next frame chains to.
    pub fn encode(&self, installation: u128, out: &mut [u8]) -> u32 {
        let mut fields = [0u8; HEADER_BYTES];
        fields[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        fields[4] = self.kind as u8;
        fields[5] = u8::from(self.last_of_group);
        fields[6..8].copy_from_slice(&self.slot.to_le_bytes());
        fields[8..16].copy_from_slice(&self.lsn.to_le_bytes());
        fields[16..24].copy_from_slice(&self.frame_number.to_le_bytes());
        fields[24..32].copy_from_slice(&self.first_seq.to_le_bytes());
        fields[32..36].copy_from_slice(&self.count.to_le_bytes());
        fields[36..40].copy_from_slice(&self.payload_bytes.to_le_bytes());
        fields[40..48].copy_from_slice(&self.epoch.to_le_bytes());
        fields[48..56].copy_from_slice(&self.durable_through.to_le_bytes());
        fields[56..60].copy_from_slice(&self.previous.to_le_bytes());
        fields[60..64].copy_from_slice(&self.payload_checksum.to_le_bytes());
        fields[64..68].copy_from_slice(&self.segment.to_le_bytes());
        let sum = checksum(installation, self.segment, &fields[..CHECKED_BYTES]);
        fields[CHECKED_BYTES..].copy_from_slice(&sum.to_le_bytes());
        out[..HEADER_BYTES].copy_from_slice(&fields);
        sum
    }

    /// The header at the start of `bytes` and its checksum, if it belongs to this segment.
    pub fn decode(installation: u128, segment: u32, bytes: &[u8]) -> Option<(FrameHeader, u32)> {
        let fields = bytes.get(..HEADER_BYTES)?;
        let mut cursor = Cursor(fields);
        if cursor.u32() != MAGIC {
            return None;
        }
        let sum = checksum(installation, segment, &fields[..CHECKED_BYTES]);
        if fields[CHECKED_BYTES..] != sum.to_le_bytes() {
            return None;
        }
        let header = FrameHeader {
            kind: FrameKind::of(cursor.u8())?,
            last_of_group: cursor.u8() == 1,
            slot: cursor.u16(),
            lsn: cursor.u64(),
            frame_number: cursor.u64(),
            first_seq: cursor.u64(),
            count: cursor.u32(),
            payload_bytes: cursor.u32(),
            epoch: cursor.u64(),
            durable_through: cursor.u64(),
            previous: cursor.u32(),
            payload_checksum: cursor.u32(),
            segment: cursor.u32(),
        };
        (header.segment == segment && header.payload_bytes as usize <= PAYLOAD_BYTES_MAX)
            .then_some((header, sum))
    }

    /// Header, payload and padding up to the next frame.
    pub fn frame_bytes(&self) -> usize {
        (HEADER_BYTES + self.payload_bytes as usize).next_multiple_of(FRAME_ALIGN)
    }

    /// The payload in the bytes of the whole frame, if it is complete and undamaged.
    pub fn payload<'a>(&self, frame: &'a [u8]) -> Option<&'a [u8]> {
        let payload = frame.get(HEADER_BYTES..HEADER_BYTES + self.payload_bytes as usize)?;
        (crc32c::crc32c(payload) == self.payload_checksum).then_some(payload)
    }
}

impl FrameKind {
    fn of(byte: u8) -> Option<FrameKind> {
        [FrameKind::Events, FrameKind::Inbox, FrameKind::Claim, FrameKind::Trim, FrameKind::Mark]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// The records of an inbox payload: each its length, then its bytes. `None` ends an invalid payload.
pub fn inbox_records(payload: &[u8]) -> impl Iterator<Item = Option<std::ops::Range<usize>>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == payload.len() {
            return None;
        }
        let record = payload[at..].split_first_chunk::<4>().and_then(|(length, rest)| {
            let length = u32::from_le_bytes(*length) as usize;
            (length <= rest.len()).then_some(at + 4..at + 4 + length)
        });
        at = record.as_ref().map_or(payload.len(), |range| range.end);
        Some(record)
    })
}

/// The positions of the partitions: the content of a mark, one entry per partition.
pub const PROGRESS_BYTES: usize = 10;

/// Slot and frame number of each partition in a mark's payload.
pub fn progress(payload: &[u8]) -> impl Iterator<Item = (u16, u64)> {
    payload.chunks_exact(PROGRESS_BYTES).map(|entry| {
        let mut cursor = Cursor(entry);
        (cursor.u16(), cursor.u64())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header(
        kind: FrameKind,
        last_of_group: bool,
        slot: u16,
        numbers: [u64; 5],
        small: [u32; 4],
    ) -> FrameHeader {
        let [lsn, frame_number, first_seq, epoch, durable_through] = numbers;
        let [count, previous, payload_checksum, segment] = small;
        FrameHeader {
            kind,
            last_of_group,
            slot,
            lsn,
            frame_number,
            first_seq,
            count,
            payload_bytes: count % 1000,
            epoch,
            durable_through,
            previous,
            payload_checksum,
            segment,
        }
    }

    proptest! {
        #[test]
        fn a_header_reads_as_it_was_written(
            kind in prop::sample::select(vec![FrameKind::Events, FrameKind::Inbox, FrameKind::Claim, FrameKind::Trim, FrameKind::Mark]),
            last: bool, slot: u16, numbers: [u64; 5], small: [u32; 4], installation: u128,
        ) {
            let written = header(kind, last, slot, numbers, small);
            let mut bytes = [0; HEADER_BYTES];
            let sum = written.encode(installation, &mut bytes);
            prop_assert_eq!(FrameHeader::decode(installation, written.segment, &bytes), Some((written, sum)));
            prop_assert_eq!(FrameHeader::decode(installation, written.segment.wrapping_add(1), &bytes), None);
            prop_assert_eq!(FrameHeader::decode(installation ^ 1, written.segment, &bytes), None);
        }

        #[test]
        fn a_flipped_bit_is_seen(numbers: [u64; 5], small: [u32; 4], bit in 0..HEADER_BYTES * 8) {
            let written = header(FrameKind::Events, false, 1, numbers, small);
            let mut bytes = [0; HEADER_BYTES];
            written.encode(7, &mut bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(FrameHeader::decode(7, written.segment, &bytes), None);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>, magic: bool) {
            let mut bytes = bytes;
            if magic && bytes.len() >= 4 {
                bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
            }
            if let Some((header, _)) = FrameHeader::decode(0, 0, &bytes) {
                let _ = header.payload(&bytes);
            }
            for range in inbox_records(&bytes).flatten() {
                prop_assert!(range.end <= bytes.len());
            }
            let _ = progress(&bytes).count();
        }
    }
}
