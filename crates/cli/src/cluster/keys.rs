//! The secrets of a development cluster: generated once and stored with its data.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// All secrets. No `Debug`, so that they cannot be printed by accident.
#[derive(Serialize, Deserialize)]
pub struct Keys {
    /// The API token of the user.
    pub token: String,
    /// The token that instances use with each other.
    pub between: String,
    /// The key that seals secrets of jobs; the same on every instance.
    pub seal: String,
    /// The password of the account with the streams.
    pub nats: String,
    /// The password of the system account.
    pub system: String,
}

impl Keys {
    /// Reads the secrets from the directory, or generates them.
    pub fn of(directory: &Path) -> anyhow::Result<Keys> {
        let path = directory.join("keys.json");
        match fs::read(&path) {
            Ok(bytes) => {
                let why = || format!("{} is damaged: remove the directory to start over", path.display());
                serde_json::from_slice(&bytes).with_context(why)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Keys::draw_into(&path),
            Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
        }
    }

    fn draw_into(path: &Path) -> anyhow::Result<Keys> {
        let keys = Keys { token: draw()?, between: draw()?, seal: draw()?, nats: draw()?, system: draw()? };
        write_private(path, &serde_json::to_string(&keys).context("writing keys")?)?;
        Ok(keys)
    }
}

/// Writes a file that only its owner can read.
pub fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let file = File::options().create(true).write(true).truncate(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("writing {}", path.display()))
}

/// 32 bytes in hexadecimal digits.
fn draw() -> anyhow::Result<String> {
    let mut bytes = [0; 32];
    let drawn = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    drawn.context("generating a secret")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_with_their_directory_and_are_for_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let first = Keys::of(folder.path()).unwrap();
        assert_eq!(first.seal.len(), 64);
        assert_eq!(Keys::of(folder.path()).unwrap().token, first.token);
        let mode = fs::metadata(folder.path().join("keys.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
