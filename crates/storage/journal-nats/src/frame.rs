//! The encoding of a message of the events: a head, a frame or nothing, and a checksum, to which the next message refers.
//!
//! Little-endian: magic (4), version (1), kind (1), partition (2), epoch (8), number (8), checksum of the message
//! before (4), nonce (16), inbox (8), the frame's bytes, checksum (4).

use bytes::{Bytes, BytesMut};
use types::{Epoch, PartitionId, Seq};

use crate::nonce::Nonce;

const MAGIC: [u8; 4] = *b"SrtE";
const VERSION: u8 = 1;
const CLAIM: u8 = 1;
const FRAME: u8 = 2;
const HEAD_BYTES: usize = 52;
const CHECKSUM_BYTES: usize = 4;

/// A message of the events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub partition: PartitionId,
    pub epoch: Epoch,
    /// The number of the frame; a claim has the number of the last frame before it.
    pub number: Seq,
    /// The checksum of the message before; 0 for the first.
    pub before: u32,
    pub nonce: Nonce,
    /// The last message of the inbox whose requests any owner may have taken so far. After a forced promotion a region may have
    /// less of the inbox than of the events; its inbox must continue after this message.
    pub inbox: u64,
    pub kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Raises the epoch by one.
    Claim,
    Frame(Bytes),
}

/// Why bytes are not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    #[error("checksum mismatch")]
    Checksum,
    #[error("unknown format: written by a newer version of Sortie, or not by Sortie")]
    Format,
}

/// The position of a message, to which the next one refers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub epoch: Epoch,
    pub number: Seq,
    pub checksum: u32,
    pub inbox: u64,
}

impl Position {
    /// Before the first message.
    pub const START: Position = Position { epoch: Epoch(0), number: Seq::ZERO, checksum: 0, inbox: 0 };

    /// Every message raises either the number or the epoch by one, so their sum is the sequence.
    pub fn sequence(&self) -> u64 {
        self.number.0 + self.epoch.0
    }
}

impl Message {
    /// The claim that follows a message.
    pub fn claim(partition: PartitionId, after: &Position, nonce: Nonce) -> Message {
        let epoch = Epoch(after.epoch.0 + 1);
        Message {
            partition,
            epoch,
            number: after.number,
            before: after.checksum,
            nonce,
            inbox: after.inbox,
            kind: Kind::Claim,
        }
    }

    /// The frame of the same owner that follows a message; the owner has read the inbox through `inbox`.
    pub fn frame(
        partition: PartitionId,
        after: &Position,
        nonce: Nonce,
        inbox: u64,
        bytes: Bytes,
    ) -> Message {
        let kind = Kind::Frame(bytes);
        Message {
            partition,
            epoch: after.epoch,
            number: after.number.next(),
            before: after.checksum,
            nonce,
            inbox: inbox.max(after.inbox),
            kind,
        }
    }

    pub fn sequence(&self) -> u64 {
        self.number.0 + self.epoch.0
    }

    pub fn encode(&self) -> Bytes {
        let (kind, frame) = match &self.kind {
            Kind::Claim => (CLAIM, &[][..]),
            Kind::Frame(bytes) => (FRAME, &bytes[..]),
        };
        let mut bytes = BytesMut::with_capacity(HEAD_BYTES + frame.len() + CHECKSUM_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[VERSION, kind]);
        bytes.extend_from_slice(&self.partition.0.to_le_bytes());
        bytes.extend_from_slice(&self.epoch.0.to_le_bytes());
        bytes.extend_from_slice(&self.number.0.to_le_bytes());
        bytes.extend_from_slice(&self.before.to_le_bytes());
        bytes.extend_from_slice(&self.nonce.to_bytes());
        bytes.extend_from_slice(&self.inbox.to_le_bytes());
        bytes.extend_from_slice(frame);
        let checksum = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes.freeze()
    }

    /// The message, and its checksum.
    pub fn decode(bytes: &Bytes) -> Result<(Message, u32), BadMessage> {
        let checksum = checked(bytes)?;
        let body = bytes.slice(..bytes.len() - CHECKSUM_BYTES);
        if body.len() < HEAD_BYTES || body[..4] != MAGIC || body[4] != VERSION {
            return Err(BadMessage::Format);
        }
        let frame = body.slice(HEAD_BYTES..);
        let kind = match body[5] {
            CLAIM if frame.is_empty() => Kind::Claim,
            FRAME => Kind::Frame(frame),
            _ => return Err(BadMessage::Format),
        };
        let message = Message {
            partition: PartitionId(u16::from_le_bytes(array(&body[6..8]))),
            epoch: Epoch(u64::from_le_bytes(array(&body[8..16]))),
            number: Seq(u64::from_le_bytes(array(&body[16..24]))),
            before: u32::from_le_bytes(array(&body[24..28])),
            nonce: Nonce::from_bytes(array(&body[28..44])),
            inbox: u64::from_le_bytes(array(&body[44..52])),
            kind,
        };
        Ok((message, checksum))
    }

    /// Its position, given its checksum.
    pub fn position(&self, checksum: u32) -> Position {
        Position { epoch: self.epoch, number: self.number, checksum, inbox: self.inbox }
    }

    /// Whether it may directly follow `before`.
    pub fn follows(&self, before: &Position) -> bool {
        let raised = match self.kind {
            Kind::Claim => (Epoch(before.epoch.0 + 1), before.number),
            Kind::Frame(_) => (before.epoch, before.number.next()),
        };
        (self.epoch, self.number) == raised && self.before == before.checksum
    }
}

/// The checksum at the end of a message, if it is correct.
pub fn checked(bytes: &[u8]) -> Result<u32, BadMessage> {
    let Some((body, end)) = bytes.split_last_chunk::<CHECKSUM_BYTES>() else {
        return Err(BadMessage::Checksum);
    };
    let checksum = u32::from_le_bytes(*end);
    if crc32c::crc32c(body) == checksum { Ok(checksum) } else { Err(BadMessage::Checksum) }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the head was measured")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Message {
        Message::claim(PartitionId(7), &Position::START, Nonce::new(1, 2))
    }

    #[test]
    fn what_was_written_is_read() {
        let (read, checksum) = Message::decode(&claim().encode()).unwrap();
        assert_eq!(read, claim());
        let position = read.position(checksum);
        for frame in ["", "bytes"] {
            let next = Message::frame(PartitionId(7), &position, Nonce::new(1, 3), 0, frame.into());
            assert_eq!(Message::decode(&next.encode()).unwrap().0, next);
            assert!(next.follows(&position));
            assert_eq!(next.sequence(), 2);
        }
    }

    #[test]
    fn the_bytes_never_change() {
        let frame = Message::frame(PartitionId(258), &Position::START, Nonce::new(3, 4), 5, "ab".into());
        let hex: String = frame.encode().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "53727445010202010000000000000000010000000000000000000000\
             0300000000000000040000000000000005000000000000006162eac7819d"
        );
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let bytes =
            Message::frame(PartitionId(7), &Position::START, Nonce::new(1, 2), 9, "ab".into()).encode();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Message::decode(&flipped.into()), Err(BadMessage::Checksum));
        }
        for length in 0..bytes.len() {
            assert!(Message::decode(&bytes.slice(..length)).is_err());
        }
    }

    #[test]
    fn what_is_well_formed_and_not_ours_is_refused() {
        let mut body = claim().encode().to_vec();
        body.truncate(HEAD_BYTES);
        for (place, value) in [(0, b'X'), (4, 9), (5, 3)] {
            let mut other = body.clone();
            other[place] = value;
            other.extend(crc32c::crc32c(&other).to_le_bytes());
            assert_eq!(Message::decode(&other.into()), Err(BadMessage::Format));
        }
        let mut claim_with_bytes = body;
        claim_with_bytes.push(1);
        claim_with_bytes.extend(crc32c::crc32c(&claim_with_bytes).to_le_bytes());
        assert_eq!(Message::decode(&claim_with_bytes.into()), Err(BadMessage::Format));
    }

    #[test]
    fn only_the_next_message_follows() {
        let start = Position::START;
        assert!(claim().follows(&start));
        assert!(!claim().follows(&Position { checksum: 1, ..start }), "another history");
        assert!(!claim().follows(&Position { epoch: Epoch(1), ..start }), "the same epoch again");
        assert!(!claim().follows(&Position { number: Seq(1), ..start }), "a number that fell");
    }
}
