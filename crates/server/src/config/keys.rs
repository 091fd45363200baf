//! The keys that shared access signatures are made with, for queues and topics.

use std::path::PathBuf;

use rest::{Right, SharedKey};
use vault::Secret;

use super::ConfigError;
use super::declare::settings;

settings! {
    /// One key. Exactly one of `key`, `key_env` and `key_file` is given.
    pub entry KeyConfig {
        /// The name of a key for the shared access signatures of [queues](queues.md#permissions), `skn` in a token. Keys are written as `[[keys]]`, and have no variables.
        name: String, shown;
        /// The key, at least 16 characters.
        key: Option<String>, secret;
        /// Or the variable that holds the key.
        key_env: Option<String>, shown;
        /// Or the file that holds the key.
        key_file: Option<PathBuf>, shown;
        /// What the key permits: `send`, `listen`, `manage`.
        rights: Vec<String>, shown;
        /// The only queue or topic that the key is for.
        queue: Option<String>, shown, default "all";
    }
}

/// Reads the keys; each error names the key and its field.
pub(super) fn read(keys: &[KeyConfig]) -> Result<Vec<SharedKey>, ConfigError> {
    let mut read: Vec<SharedKey> = Vec::with_capacity(keys.len());
    for key in keys {
        let one = key.read()?;
        if read.iter().any(|other| other.name == one.name) {
            return Err(ConfigError::Setting(format!("keys: '{}' is declared twice", one.name)));
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
