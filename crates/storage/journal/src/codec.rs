//! The bytes of requests, frames and snapshots: the version of the format, then the value.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The only version so far. A reader must support every version that was ever written.
const VERSION: u8 = 1;

/// Bytes that an encoding begins with room for: more than most events and documents have, and little beside a request.
const CAPACITY: usize = 256;

/// Bytes that a newer version of this program has written, or another program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("written by a newer version of Sortie, or not by Sortie (format {found:?})")]
pub struct Unreadable {
    found: Option<u8>,
}

pub fn encode<T: Serialize + ?Sized>(value: &T) -> Bytes {
    let bytes = postcard::to_extend(value, versioned());
    bytes.expect("a value in memory can always be encoded").into()
}

/// The beginning of an encoding, with room for most: a vector that grows from one byte is moved eight times.
fn versioned() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(CAPACITY);
    bytes.push(VERSION);
    bytes
}

/// Two values, one after the other.
pub fn encode_pair<A: Serialize, B: Serialize>(first: &A, second: &B) -> Bytes {
    let bytes = postcard::to_extend(first, versioned());
    let bytes = bytes.and_then(|bytes| postcard::to_extend(second, bytes));
    bytes.expect("a value in memory can always be encoded").into()
}

/// Two values; versions that did not know the second have written the first alone.
pub fn decode_pair<A: DeserializeOwned, B: DeserializeOwned + Default>(
    bytes: &[u8],
) -> Result<(A, B), Unreadable> {
    let unreadable = |found| Unreadable { found };
    let Some((&VERSION, rest)) = bytes.split_first() else { return Err(unreadable(bytes.first().copied())) };
    let (first, rest) = postcard::take_from_bytes(rest).map_err(|_| unreadable(Some(VERSION)))?;
    if rest.is_empty() {
        return Ok((first, B::default()));
    }
    Ok((first, whole(rest)?))
}

pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    match bytes.split_first() {
        Some((&VERSION, rest)) => whole(rest),
        other => Err(Unreadable { found: other.map(|(version, _)| *version) }),
    }
}

/// The value that these bytes encode completely. Remaining bytes were written by a newer version.
fn whole<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok(_) | Err(_) => Err(Unreadable { found: Some(VERSION) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_read_with_and_without_its_second() {
        let alone = encode(&("a", 7u32));
        assert_eq!(decode_pair(&alone), Ok((("a".to_owned(), 7u32), String::new())));
        let both = encode_pair(&("a", 7u32), &"b");
        assert_eq!(decode_pair(&both), Ok((("a".to_owned(), 7u32), "b".to_owned())));
        assert!(decode_pair::<(String, u32), String>(&both[..both.len() - 1]).is_err(), "cut off");
        assert!(decode_pair::<String, String>(&[]).is_err());
    }

    #[test]
    fn what_is_appended_to_a_value_is_refused() {
        let unreadable = Unreadable { found: Some(VERSION) };
        let longer = encode(&("a", 7u32, 1u8));
        assert_eq!(decode::<(String, u32)>(&longer), Err(unreadable.clone()));
        let longer = encode_pair(&("a", 7u32), &("b", 1u8));
        assert_eq!(decode_pair::<(String, u32), String>(&longer), Err(unreadable));
    }

    #[test]
    fn a_newer_format_is_refused_not_guessed() {
        let mut bytes = encode(&("a", 7u32)).to_vec();
        assert_eq!(decode(&bytes), Ok(("a".to_owned(), 7u32)));
        bytes[0] = 2;
        assert_eq!(decode::<(String, u32)>(&bytes), Err(Unreadable { found: Some(2) }));
        assert_eq!(decode::<(String, u32)>(&[]), Err(Unreadable { found: None }));
    }
}
