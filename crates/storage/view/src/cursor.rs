//! Cursors: where a list continues. Opaque to clients, bound to their query, safe in a URL.

use sha2::{Digest, Sha256};
use types::PartitionId;

use crate::keys::PLACE_BYTES_MAX;

/// The last entry that a page has processed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub place: Vec<u8>,
    pub partition: PartitionId,
}

const CHECK_BYTES: usize = 8;

/// The cursor as text; `query` is the query that it belongs to.
pub(crate) fn encode(position: &Position, query: &[u8]) -> String {
    let mut bytes = position.partition.0.to_be_bytes().to_vec();
    bytes.extend_from_slice(&position.place);
    let check = check(&bytes, query);
    bytes.extend_from_slice(&check);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The position in a cursor that `encode` made for the same query.
pub(crate) fn decode(text: &str, query: &[u8]) -> Option<Position> {
    if !text.is_ascii()
        || text.len() > 2 * (2 + PLACE_BYTES_MAX + CHECK_BYTES)
        || !text.len().is_multiple_of(2)
    {
        return None;
    }
    let digits = (0..text.len()).step_by(2).map(|at| hex(&text[at..at + 2]));
    let bytes = digits.collect::<Option<Vec<u8>>>()?;
    let (body, found) = bytes.split_at_checked(bytes.len().checked_sub(CHECK_BYTES)?)?;
    if found != check(body, query) {
        return None;
    }
    let (partition, place) = body.split_first_chunk::<2>()?;
    Some(Position { place: place.to_vec(), partition: PartitionId(u16::from_be_bytes(*partition)) })
}

/// Only one spelling of each byte, so that one position has one cursor.
fn hex(digits: &str) -> Option<u8> {
    let plain = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    u8::from_str_radix(digits, 16).ok().filter(|_| plain)
}

fn check(body: &[u8], query: &[u8]) -> [u8; CHECK_BYTES] {
    let digest = Sha256::new().chain_update(body).chain_update(query).finalize();
    digest[..CHECK_BYTES].try_into().expect("a digest has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_and_no_other_text_does() {
        let position = Position { place: b"12345678run-1".to_vec(), partition: PartitionId(7) };
        let text = encode(&position, b"query");
        assert_eq!(decode(&text, b"query"), Some(position));
        assert_eq!(decode(&text, b"other"), None);
        for at in 0..text.len() {
            for digit in ["0", "F", "g", "+"] {
                let mut changed = text.clone();
                changed.replace_range(at..=at, digit);
                assert!(changed == text || decode(&changed, b"query").is_none(), "{changed}");
            }
            assert_eq!(decode(&text[..at], b"query"), None);
        }
        assert_eq!(decode("é", b"query"), None);
        assert_eq!(decode(&"00".repeat(1000), b"query"), None);
    }
}
