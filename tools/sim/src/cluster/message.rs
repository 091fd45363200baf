//! The messages of the journal, read as their description has it and not by the code that writes them.

use bytes::Bytes;
use types::{PartitionId, Seq};

/// A message of the events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub partition: PartitionId,
    pub epoch: u64,
    pub number: u64,
    /// The checksum of the message before, and its own.
    pub before: u32,
    pub checksum: u32,
    /// The last message of the inbox that its owners may have taken up.
    pub inbox: u64,
    /// None of a claim.
    pub frame: Option<Bytes>,
}

impl Event {
    pub fn read(bytes: &Bytes) -> Option<Event> {
        let checksum = checked(bytes)?;
        let body = bytes.slice(..bytes.len() - 4);
        if body.len() < 52 || &body[..4] != b"SrtE" {
            return None;
        }
        let u64_at = |at: usize| u64::from_le_bytes(body[at..at + 8].try_into().expect("eight bytes"));
        Some(Event {
            partition: PartitionId(u16::from_le_bytes([body[6], body[7]])),
            epoch: u64_at(8),
            number: u64_at(16),
            before: u32_at(&body, 24),
            checksum,
            inbox: u64_at(44),
            frame: match body[5] {
                1 => None,
                2 => Some(body.slice(52..)),
                _ => return None,
            },
        })
    }
}

/// A message of the inbox without records.
pub fn nothing(partition: PartitionId) -> Bytes {
    let mut bytes = b"SrtI\x01\x00".to_vec();
    bytes.extend(partition.0.to_le_bytes());
    bytes.extend([0; 20]);
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes.into()
}

/// The records of a message of the inbox, with their numbers.
pub fn records(bytes: &Bytes, sequence: u64) -> Option<Vec<(Seq, Bytes)>> {
    checked(bytes)?;
    let body = bytes.slice(..bytes.len() - 4);
    if body.len() < 28 || &body[..4] != b"SrtI" {
        return None;
    }
    let count = u32_at(&body, 24) as usize;
    let mut at = 28 + 4 * count;
    let mut records = Vec::new();
    for index in 0..count {
        let length = u32_at(&body, 28 + 4 * index) as usize;
        let number = sequence * 65_536 - (count - 1 - index) as u64;
        records.push((Seq(number), body.slice(at..at + length)));
        at += length;
    }
    Some(records)
}

fn checked(bytes: &Bytes) -> Option<u32> {
    let (body, end) = bytes.split_last_chunk::<4>()?;
    let checksum = u32::from_le_bytes(*end);
    (crc32c::crc32c(body) == checksum).then_some(checksum)
}

fn u32_at(bytes: &Bytes, at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
