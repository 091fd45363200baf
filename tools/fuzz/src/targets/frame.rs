//! Frames of the journal: a header reads back as it was written, and no payload leads outside itself.

use journal_disk::format::frame::{FrameHeader, FrameKind, HEADER_BYTES, inbox_records, progress};
use journal_disk::format::segment_header::SegmentHeader;

use super::checksummed;
use crate::Target;

pub const TARGET: Target = Target { name: "frame", run, seeds, words: &["SJf1", "SJseg1\0\0"], inputs: 4000 };

const INSTALLATION: u128 = 7;
const SEGMENT: u32 = 3;
const SLOTS: usize = 2;

fn run(bytes: &[u8]) {
    // Unchanged, and with a valid checksum, so that the code after the check is reached as well.
    read(bytes);
    let mut forged = bytes.to_vec();
    if forged.len() >= HEADER_BYTES {
        checksummed(INSTALLATION, SEGMENT, &mut forged[..HEADER_BYTES], HEADER_BYTES - 4);
        read(&forged);
    }
    for range in inbox_records(bytes).flatten() {
        assert!(range.end <= bytes.len(), "a record ends within its payload");
    }
    assert!(progress(bytes).count() <= bytes.len());
    if let Some(header) = SegmentHeader::decode(INSTALLATION, SEGMENT, SLOTS, bytes) {
        let mut again = Vec::new();
        header.encode(INSTALLATION, &mut again);
        assert_eq!(SegmentHeader::decode(INSTALLATION, SEGMENT, SLOTS, &again), Some(header));
    }
}

fn read(bytes: &[u8]) {
    let Some((header, sum)) = FrameHeader::decode(INSTALLATION, SEGMENT, bytes) else { return };
    let mut again = [0; HEADER_BYTES];
    let again_sum = header.encode(INSTALLATION, &mut again);
    assert_eq!(FrameHeader::decode(INSTALLATION, SEGMENT, &again), Some((header, again_sum)));
    assert!(sum == again_sum || again[..] != bytes[..HEADER_BYTES], "one header, one checksum");
    assert!(header.frame_bytes() >= HEADER_BYTES);
    if let Some(payload) = header.payload(bytes) {
        assert_eq!(payload.len(), header.payload_bytes as usize);
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let payload = b"\x05\0\0\0hello\x02\0\0\0hi";
    [FrameKind::Events, FrameKind::Inbox, FrameKind::Claim, FrameKind::Trim, FrameKind::Mark]
        .map(|kind| frame(kind, payload))
        .into()
}

fn frame(kind: FrameKind, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader {
        kind,
        last_of_group: true,
        slot: 1,
        lsn: 9,
        frame_number: 2,
        first_seq: 1,
        count: 2,
        payload_bytes: payload.len() as u32,
        epoch: 1,
        durable_through: 0,
        previous: 0,
        payload_checksum: crc32c::crc32c(payload),
        segment: SEGMENT,
    };
    let mut bytes = vec![0; HEADER_BYTES];
    header.encode(INSTALLATION, &mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}
