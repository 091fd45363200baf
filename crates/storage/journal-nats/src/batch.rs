//! The encoding of a message of the inbox: the records of one or several appends, in order.
//!
//! Little-endian: magic (4), version (1), nothing (1), partition (2), nonce (16), count (4), the length of each record
//! (4 each), the records, checksum (4).

use bytes::{Bytes, BytesMut};
use journal::Record;
use types::{PartitionId, Seq};

use crate::frame::{BadMessage, checked};
use crate::nonce::Nonce;

const MAGIC: [u8; 4] = *b"SrtI";
const VERSION: u8 = 1;
const HEAD_BYTES: usize = 28;
const CHECKSUM_BYTES: usize = 4;

/// The numbers of each message, and so the greatest number of its records.
pub const NUMBERS: u64 = 65_536;

/// The number of the last record of the message at this sequence.
pub fn last_number(sequence: u64) -> Seq {
    Seq(sequence * NUMBERS)
}

/// The sequence of the message that has, or would have, the record with this number.
pub fn sequence_of(number: Seq) -> u64 {
    number.0.div_ceil(NUMBERS)
}

pub fn encode(partition: PartitionId, nonce: Nonce, records: &[Bytes]) -> Bytes {
    assert!(records.len() as u64 <= NUMBERS, "{} records", records.len());
    let content: usize = records.iter().map(Bytes::len).sum();
    let mut bytes = BytesMut::with_capacity(HEAD_BYTES + records.len() * 4 + content + CHECKSUM_BYTES);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&[VERSION, 0]);
    bytes.extend_from_slice(&partition.0.to_le_bytes());
    bytes.extend_from_slice(&nonce.to_bytes());
    bytes.extend_from_slice(&(records.len() as u32).to_le_bytes());
    for record in records {
        bytes.extend_from_slice(&(record.len() as u32).to_le_bytes());
    }
    for record in records {
        bytes.extend_from_slice(record);
    }
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.freeze()
}

/// An empty message, which uses up a sequence.
pub fn nothing(partition: PartitionId) -> Bytes {
    encode(partition, Nonce::new(0, 0), &[])
}

/// The records of the message at `sequence`, with their numbers.
pub fn decode(bytes: &Bytes, partition: PartitionId, sequence: u64) -> Result<Vec<Record>, BadMessage> {
    checked(bytes)?;
    let body = bytes.slice(..bytes.len() - CHECKSUM_BYTES);
    if body.len() < HEAD_BYTES || body[..4] != MAGIC || body[4..6] != [VERSION, 0] {
        return Err(BadMessage::Format);
    }
    if body[6..8] != partition.0.to_le_bytes() {
        return Err(BadMessage::Format);
    }
    let count = number(&body, HEAD_BYTES - 4).ok_or(BadMessage::Format)?;
    if count as u64 > NUMBERS {
        return Err(BadMessage::Format);
    }
    let first = last_number(sequence).0 - count as u64 + 1;
    let mut place = HEAD_BYTES + count * 4;
    let mut records = Vec::with_capacity(count);
    for index in 0..count {
        let length = number(&body, HEAD_BYTES + index * 4).ok_or(BadMessage::Format)?;
        if length > body.len() || place > body.len() - length {
            return Err(BadMessage::Format);
        }
        records.push(Record { seq: Seq(first + index as u64), bytes: body.slice(place..place + length) });
        place += length;
    }
    if place == body.len() { Ok(records) } else { Err(BadMessage::Format) }
}

fn number(body: &[u8], place: usize) -> Option<usize> {
    let bytes = body.get(place..place + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTITION: PartitionId = PartitionId(3);

    fn batch(records: &[&str]) -> Bytes {
        let records: Vec<Bytes> =
            records.iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
        encode(PARTITION, Nonce::new(1, 2), &records)
    }

    #[test]
    fn records_count_down_from_the_sequence() {
        let read = decode(&batch(&["a", "", "bc"]), PARTITION, 2).unwrap();
        let read: Vec<_> = read.iter().map(|record| (record.seq.0, &record.bytes[..])).collect();
        assert_eq!(read, [(131_070, &b"a"[..]), (131_071, b""), (131_072, b"bc")]);
        assert_eq!([1, 65_536, 65_537].map(|number| sequence_of(Seq(number))), [1, 1, 2]);
    }

    #[test]
    fn as_many_records_as_there_are_numbers_fit() {
        let many = vec![Bytes::new(); NUMBERS as usize];
        let read = decode(&encode(PARTITION, Nonce::new(1, 2), &many), PARTITION, 1).unwrap();
        assert_eq!((read[0].seq, read.len() as u64), (Seq(1), NUMBERS));
    }

    #[test]
    fn the_bytes_never_change() {
        let hex: String = batch(&["a", "bc"]).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "537274490100030001000000000000000200000000000000020000000100000002000000616263dbfe9b67"
        );
    }

    #[test]
    fn damage_and_strangers_are_refused() {
        let bytes = batch(&["a", "bc"]);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&flipped.into(), PARTITION, 1), Err(BadMessage::Checksum));
        }
        assert_eq!(decode(&bytes, PartitionId(4), 1), Err(BadMessage::Format), "of another partition");
        let body = &bytes[..bytes.len() - CHECKSUM_BYTES];
        for (place, value) in [(0, b'X'), (4, 9), (24, 0), (24, 1), (24, 200), (28, 2), (31, 255)] {
            let mut other = body.to_vec();
            other[place] = value;
            other.extend(crc32c::crc32c(&other).to_le_bytes());
            assert_eq!(decode(&other.into(), PARTITION, 1), Err(BadMessage::Format), "{place} {value}");
        }
    }
}
