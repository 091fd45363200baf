//! The key that secrets are sealed under, and the short id that identifies it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{Context, SHA256};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

/// 256 bits that the operator stores.
#[derive(Clone)]
pub struct SealingKey(Zeroizing<[u8; SealingKey::BYTES]>);

/// A text that is not a key. It does not quote the text: most of it may be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a key: write 32 random bytes as base64 or as 64 hexadecimal digits, as `openssl rand -hex 32` does"
)]
pub struct InvalidKey;

impl SealingKey {
    pub const BYTES: usize = 32;

    pub fn new(bytes: [u8; SealingKey::BYTES]) -> SealingKey {
        SealingKey(Zeroizing::new(bytes))
    }

    /// A new random key.
    pub fn random() -> SealingKey {
        let mut bytes = Zeroizing::new([0; SealingKey::BYTES]);
        SystemRandom::new().fill(bytes.as_mut_slice()).expect("the system gives random bytes");
        SealingKey(bytes)
    }

    /// Reads base64 or 64 hexadecimal digits; space around them is ignored.
    pub fn from_text(text: &str) -> Result<SealingKey, InvalidKey> {
        let text = text.trim();
        let bytes =
            if text.len() == 2 * SealingKey::BYTES { from_hex(text) } else { STANDARD.decode(text).ok() };
        let bytes = Zeroizing::new(bytes.ok_or(InvalidKey)?);
        Ok(SealingKey::new(bytes.as_slice().try_into().map_err(|_| InvalidKey)?))
    }

    /// The text that [`Key::from_text`] reads.
    pub fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(self.bytes()))
    }

    /// Identifies the key and reveals nothing else about it: the beginning of a hash.
    pub fn id(&self) -> String {
        let mut hash = Context::new(&SHA256);
        hash.update(b"sortie vault key id\0");
        hash.update(self.bytes());
        hash.finish().as_ref()[..4].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn bytes(&self) -> &[u8; SealingKey::BYTES] {
        &self.0
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok();
    text.as_bytes().chunks_exact(2).map(pair).collect()
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_from_base64_and_from_hex() {
        let key = SealingKey::new(std::array::from_fn(|i| i as u8 * 8));
        let hex: String = key.bytes().iter().map(|byte| format!("{byte:02X}")).collect();
        for text in [key.to_text().as_str(), &format!("  {hex}\n"), &hex.to_lowercase()] {
            assert_eq!(SealingKey::from_text(text).unwrap().bytes(), key.bytes(), "{text}");
        }
    }

    #[test]
    fn a_malformed_key_is_refused_and_not_quoted() {
        let short = STANDARD.encode([7; 31]);
        let long = STANDARD.encode([7; 33]);
        let almost_hex = format!("{}x", "a".repeat(63));
        for text in ["", "secret", &short, &long, &almost_hex, &"a".repeat(62), "\u{e4}\u{f6}\u{fc}"] {
            let error = SealingKey::from_text(text).unwrap_err().to_string();
            assert!(error.contains("openssl rand -hex 32"), "{error}");
        }
    }

    #[test]
    fn an_id_names_the_key_without_showing_it() {
        let (one, other) = (SealingKey::random(), SealingKey::random());
        assert_eq!(one.id(), one.clone().id());
        assert_ne!(one.id(), other.id());
        assert_eq!(format!("{one:?}"), format!("Key({})", one.id()));
        assert_eq!(one.id().len(), 8);
    }
}
