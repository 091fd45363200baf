//! Sealing and opening: AES-256-GCM under a random nonce, with the key's id beside it.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::{Zeroize, Zeroizing};

use crate::key::{InvalidKey, SealingKey};
use crate::key_file::{self, KeyFileError};
use crate::secret::Secret;

const SEALED: &str = "sealed:";
const PREFIX: &str = "sealed:v1:";

/// Seals secrets under one key, and opens secrets that were sealed under it or an older one.
#[derive(Debug)]
pub struct Vault {
    newest: Lock,
    older: Vec<Lock>,
}

/// Why a sealed secret cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsealError {
    #[error("the text is not a sealed secret")]
    NotSealed,
    #[error("the secret is sealed in a form that this version does not know")]
    UnknownForm,
    /// Another key is needed: a configuration mistake, not a disk error.
    #[error("the secret is sealed under the key {id}, which this vault does not have")]
    UnknownKey { id: String },
    #[error("the sealed secret is damaged")]
    Damaged,
}

/// One key, ready for use.
struct Lock {
    id: String,
    key: LessSafeKey,
}

/// Whether the text has the form of a sealed secret; it may still fail to open.
pub fn is_sealed(text: &str) -> bool {
    text.starts_with(SEALED)
}

impl Vault {
    pub fn new(key: [u8; SealingKey::BYTES]) -> Vault {
        Vault::with_key(&SealingKey::new(key))
    }

    /// The key as base64 or as 64 hexadecimal digits.
    pub fn from_text(text: &str) -> Result<Vault, InvalidKey> {
        SealingKey::from_text(text).map(|key| Vault::with_key(&key))
    }

    /// The key in a file that only its owner can read. A missing file is created with a new key, and is durable when
    /// this returns.
    pub fn open_or_create(path: &Path) -> Result<Vault, KeyFileError> {
        key_file::open_or_create(path).map(|key| Vault::with_key(&key))
    }

    pub fn with_key(key: &SealingKey) -> Vault {
        Vault { newest: Lock::new(key), older: Vec::new() }
    }

    /// The ids of the keys that it opens secrets with, first the one that it seals with.
    pub fn key_ids(&self) -> Vec<String> {
        std::iter::once(&self.newest).chain(&self.older).map(|lock| lock.id.clone()).collect()
    }

    /// Also opens secrets that were sealed under these keys; nothing new is sealed under them.
    #[must_use]
    pub fn with_old_keys(mut self, keys: impl IntoIterator<Item = SealingKey>) -> Vault {
        self.older.extend(keys.into_iter().map(|key| Lock::new(&key)));
        self
    }

    /// The id of the key that new secrets are sealed under.
    pub fn key_id(&self) -> &str {
        &self.newest.id
    }

    /// The secret as text that can be stored: `sealed:v1:<key id>:<base64 of nonce, ciphertext and tag>`.
    pub fn seal(&self, plain: &str) -> String {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).expect("the system gives random bytes");
        let head = format!("{PREFIX}{}:", self.newest.id);
        let mut bytes = Vec::with_capacity(NONCE_LEN + plain.len() + AES_256_GCM.tag_len());
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(plain.as_bytes());
        let tag = self
            .newest
            .key
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(head.as_bytes()),
                &mut bytes[NONCE_LEN..],
            )
            .expect("a secret is far shorter than the 64 GB that one nonce may seal");
        bytes.extend_from_slice(tag.as_ref());
        format!("{head}{}", STANDARD.encode(bytes))
    }

    /// The secret in the clear.
    pub fn open(&self, sealed: &str) -> Result<Secret, UnsealError> {
        let rest = sealed.strip_prefix(PREFIX).ok_or(match is_sealed(sealed) {
            true => UnsealError::UnknownForm,
            false => UnsealError::NotSealed,
        })?;
        let (id, text) = rest.split_once(':').ok_or(UnsealError::Damaged)?;
        let mut bytes = Zeroizing::new(STANDARD.decode(text).map_err(|_| UnsealError::Damaged)?);
        let (nonce, bytes) = bytes.split_at_mut_checked(NONCE_LEN).ok_or(UnsealError::Damaged)?;
        let nonce: [u8; NONCE_LEN] = (&*nonce).try_into().expect("split at its length");
        let head = &sealed[..sealed.len() - text.len()];
        // Ids are short: two keys can share one, and then the tag decides.
        let mut known = false;
        for lock in self.locks().filter(|lock| lock.id == id) {
            known = true;
            let mut attempt = Zeroizing::new(bytes.to_vec());
            let nonce = Nonce::assume_unique_for_key(nonce);
            if let Ok(plain) = lock.key.open_in_place(nonce, Aad::from(head.as_bytes()), &mut attempt) {
                return secret(plain);
            }
        }
        Err(if known { UnsealError::Damaged } else { UnsealError::UnknownKey { id: quotable(id) } })
    }

    /// Whether sealing it again would use a newer key.
    pub fn is_outdated(&self, sealed: &str) -> bool {
        let id = sealed.strip_prefix(PREFIX).and_then(|rest| rest.split_once(':')).map(|(id, _)| id);
        id != Some(&self.newest.id)
    }

    fn locks(&self) -> impl Iterator<Item = &Lock> {
        std::iter::once(&self.newest).chain(&self.older)
    }
}

impl Lock {
    fn new(key: &SealingKey) -> Lock {
        let unbound = UnboundKey::new(&AES_256_GCM, key.bytes()).expect("a key has the cipher's length");
        Lock { id: key.id(), key: LessSafeKey::new(unbound) }
    }
}

fn secret(plain: &[u8]) -> Result<Secret, UnsealError> {
    let text = String::from_utf8(plain.to_vec());
    text.map(Secret::new).map_err(|error| {
        error.into_bytes().zeroize();
        UnsealError::Damaged
    })
}

/// The id of a damaged text may be anything.
fn quotable(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).take(16).collect()
}

impl std::fmt::Debug for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lock({})", self.id)
    }
}

#[cfg(test)]
mod tests;
