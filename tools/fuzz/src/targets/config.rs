//! The settings file: settings, or an error that names the file or the setting.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use server::{Config, ConfigError};

use crate::Target;
use crate::input::text;

pub const TARGET: Target = Target {
    name: "config",
    run,
    seeds,
    words: &[
        "[tokens.ops]",
        "[[keys]]",
        "\"admin\"",
        "\"90d\"",
        " = ",
        "[[",
        "'''",
        "\"\"\"",
        "1979-05-27",
        "inf",
        "0x",
    ],
    inputs: 1500,
};

fn run(bytes: &[u8]) {
    // Only text reaches the parser: a file of other bytes is refused when it is read.
    let Some(text) = text(bytes) else { return };
    match load(text) {
        Ok(config) => {
            assert!((1..=1024).contains(&config.partitions));
            assert!(!config.tokens.is_empty(), "without tokens no client could connect");
            assert!(config.journal.segment_bytes >= 16 << 20);
        }
        Err(ConfigError::Read { source, .. }) => panic!("{source}"),
        Err(ConfigError::KeyFile(error)) => panic!("loading opens no key: {error}"),
        Err(error @ ConfigError::File { .. }) => {
            assert!(error.to_string().starts_with(&scratch_file().display().to_string()), "{error}");
        }
        Err(ConfigError::Setting(message)) => {
            let named = message.split(':').next().unwrap_or_default();
            let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            // The name of a token is the user's own, whatever it is.
            assert!(
                named.starts_with("tokens.") || named.chars().all(is_name),
                "no setting is named: {message}"
            );
        }
    }
}

fn load(text: &str) -> Result<Config, ConfigError> {
    let path = scratch_file();
    fs::write(&path, text).expect("the scratch file can be written");
    Config::load(Some(&path))
}

fn scratch_file() -> PathBuf {
    static DIRECTORY: OnceLock<tempfile::TempDir> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| tempfile::tempdir().expect("a scratch directory can be made"));
    directory.path().join("sortie.toml")
}

fn seeds() -> Vec<Vec<u8>> {
    let token = "[tokens.ops]\nrole = \"admin\"\nsha256 = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"\n";
    let whole =
        "data = \"/var/lib/sortie\"\nlisten = \"0.0.0.0:7070\"\npartitions = 8\nkeep_ended = \"30d\"\n";
    let rest = "[egress]\nnetworks = [\"10.0.0.0/8\"]\nnames = [\"*.internal\"]\n[journal]\nsegment_bytes = 33554432\nlinger_max_us = 50\nsync = \"data\"\n[limits]\ncalls_max = 100\nlive_runs_max = 1000\n[jobs]\ntimeout = \"60s\"\nretry_count_max = 20\n[secrets]\nkey_file = \"/etc/sortie/key\"\n";
    // Every key there is, by its default, so that mutations reach all of them. Secrets have no default: the reference
    // says only whether there is one.
    let settings = server::reference::settings();
    let known = settings.iter().filter(|setting| !setting.is_secret());
    let known = known.filter_map(|setting| Some((&setting.key, setting.value.as_ref()?)));
    let lines = known.filter(|(_, value)| !value.is_null()).map(|(key, value)| format!("{key} = {value}\n"));
    let every: String = lines.collect();
    [
        format!("{every}{token}"),
        token.to_owned(),
        format!("{whole}{token}"),
        format!("{whole}{rest}{token}"),
        "partitions = 0\n".to_owned(),
    ]
    .map(String::into_bytes)
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_but_the_last_is_accepted() {
        let seeds = seeds();
        let (last, valid) = seeds.split_last().expect("there are seeds");
        for seed in valid {
            let text = text(seed).expect("seeds are text");
            load(text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
        }
        assert!(load(text(last).expect("seeds are text")).is_err());
    }
}
