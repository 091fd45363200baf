//! The keys that shared access signatures are made with, for queues and topics.

use std::fmt;
use std::path::PathBuf;

use rest::{Right, SharedKey};
use serde::Deserialize;
use vault::Secret;

use super::ConfigError;

/// One key. Exactly one of `key`, `key_env` and `key_file` is given.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// What stands as `skn` in a token.
    pub name: String,
    pub key: Option<String>,
    /// The variable that holds the key.
    pub key_env: Option<String>,
    /// The file that holds the key.
    pub key_file: Option<PathBuf>,
    /// send, listen and manage
    pub rights: Vec<String>,
    /// Only this queue or topic.
    pub queue: Option<String>,
}

impl fmt::Debug for KeyConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyConfig")
            .field("name", &self.name)
            .field("rights", &self.rights)
            .finish_non_exhaustive()
    }
}

/// Reads the keys; each error names the key and its field.
pub(super) fn read(keys: &[KeyConfig]) -> Result<Vec<SharedKey>, ConfigError> {
    let mut read: Vec<SharedKey> = Vec::with_capacity(keys.len());
    for key in keys {
        let one = key.read()?;
        if read.iter().any(|other| other.name == one.name) {
            return Err(ConfigError::Setting(format!("keys: '{}' is there twice", one.name)));
        }
        read.push(one);
    }
    Ok(read)
}

impl KeyConfig {
    fn read(&self) -> Result<SharedKey, ConfigError> {
        let setting = |text: String| ConfigError::Setting(format!("keys.{}.{text}", self.name));
        if self.name.is_empty() || self.name.len() > 256 {
            return Err(setting("name: must have 1 to 256 characters".to_owned()));
        }
        let key = match (&self.key, &self.key_env, &self.key_file) {
            (Some(key), None, None) => key.clone(),
            (None, Some(name), None) => std::env::var(name)
                .map_err(|_| setting(format!("key_env: the variable {name} is not set")))?,
            (None, None, Some(path)) => std::fs::read_to_string(path)
                .map_err(|error| setting(format!("key_file: reading {}: {error}", path.display())))?,
            _ => return Err(setting("key: give one of key, key_env and key_file".to_owned())),
        };
        let key = key.trim();
        if key.len() < 16 {
            return Err(setting("key: must have at least 16 characters".to_owned()));
        }
        if self.rights.is_empty() {
            return Err(setting("rights: give some of send, listen and manage".to_owned()));
        }
        let right = |text: &String| {
            Right::parse(text)
                .ok_or_else(|| setting(format!("rights: {text:?} is not send, listen or manage")))
        };
        Ok(SharedKey {
            name: self.name.clone(),
            key: Secret::new(key.to_owned()),
            rights: self.rights.iter().map(right).collect::<Result<_, _>>()?,
            queue: self.queue.as_ref().map(|name| name.to_ascii_lowercase()),
        })
    }
}
