//! The tokens of the API.

use rest::{Role, Token};

use super::ConfigError;
use super::declare::settings;

settings! {
    /// One API token. Exactly one of `sha256` and `secret` is given.
    pub entry TokenConfig {
        /// The role: `viewer`, `ingest`, `consumer`, `operator`, `editor` or `admin`.
        role: String, shown;
        /// The SHA-256 of the token, in hexadecimal digits, so that a stolen file does not grant access.
        sha256: Option<String>, secret;
        /// The token itself, at least 16 characters. Set it by its variable.
        secret: Option<String>, secret;
    }
}

impl TokenConfig {
    pub(super) fn read(&self, name: &str) -> Result<Token, ConfigError> {
        let setting = |text: String| ConfigError::Setting(format!("tokens.{name}.{text}"));
        let role = Role::parse(&self.role).ok_or_else(|| {
            setting(format!(
                "role: {:?} is not viewer, ingest, consumer, operator, editor or admin",
                self.role
            ))
        })?;
        match (&self.sha256, &self.secret) {
            (Some(hex), None) => Token::from_sha256(name, role, hex)
                .ok_or_else(|| setting("sha256: must be 64 hexadecimal digits".to_owned())),
            (None, Some(secret)) if secret.len() >= 16 => Ok(Token::from_secret(name, role, secret)),
            (None, Some(_)) => Err(setting("secret: must have at least 16 characters".to_owned())),
            (Some(_), Some(_)) | (None, None) => {
                Err(setting("sha256: give either sha256 or secret, not both".to_owned()))
            }
        }
    }
}
