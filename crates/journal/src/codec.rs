//! The bytes of requests, frames and snapshots: a value behind the version of its format.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The only version so far. A reader must meet every version that was ever written.
const VERSION: u8 = 1;

/// Bytes that a newer version of this program has written, or something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("written by a newer version of Sortie, or not by Sortie (format {found:?})")]
pub struct Unreadable {
    found: Option<u8>,
}

pub fn encode<T: Serialize + ?Sized>(value: &T) -> Bytes {
    let bytes = postcard::to_extend(value, vec![VERSION]);
    bytes.expect("a value in memory can always be encoded").into()
}

pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    match bytes.split_first() {
        Some((&VERSION, rest)) => postcard::from_bytes(rest).map_err(|_| Unreadable { found: Some(VERSION) }),
        other => Err(Unreadable { found: other.map(|(version, _)| *version) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_format_is_refused_not_guessed() {
        let mut bytes = encode(&("a", 7u32)).to_vec();
        assert_eq!(decode(&bytes), Ok(("a".to_owned(), 7u32)));
        bytes[0] = 2;
        assert_eq!(decode::<(String, u32)>(&bytes), Err(Unreadable { found: Some(2) }));
        assert_eq!(decode::<(String, u32)>(&[]), Err(Unreadable { found: None }));
    }
}
