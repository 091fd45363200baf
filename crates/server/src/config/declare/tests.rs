//! The declaration is whole: every setting is listed with its text, and every variable in the documents exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::load::{has_variable, is_of_another_reader, sets};
use crate::config::Config;

/// The keys that a section takes, by the error that an unknown one gets.
fn taken(section: &str) -> Vec<String> {
    let (text, prefix) = match section {
        "" => ("no_such_key = 1".to_owned(), String::new()),
        "keys" => ("[[keys]]\nno_such_key = 1".to_owned(), "keys.".to_owned()),
        "tokens" => ("[tokens.NAME]\nno_such_key = 1".to_owned(), "tokens.NAME.".to_owned()),
        section => (format!("[{section}]\nno_such_key = 1"), format!("{section}.")),
    };
    let error = toml::from_str::<Config>(&text).expect_err("the key is unknown").to_string();
    let expected = error.split("expected one of ").nth(1).expect("the error lists the keys");
    let keys = expected.split('`').skip(1).step_by(2);
    keys.map(|key| format!("{prefix}{key}")).collect()
}

#[test]
fn every_setting_is_documented() {
    let sections = ["tokens", "keys", "egress", "journal", "limits", "jobs", "secrets", "cluster", "region"];
    let mut keys: BTreeSet<String> = taken("").into_iter().collect();
    for section in sections {
        assert!(keys.remove(section), "{section} is not a section");
        keys.extend(taken(section));
    }
    let settings = Config::default().settings();
    let listed: BTreeSet<String> = settings.iter().map(|setting| setting.key.clone()).collect();
    assert_eq!(keys, listed, "left: what Config accepts; right: what it lists");
    let undocumented = settings.iter().find(|setting| setting.meaning.is_empty());
    assert_eq!(undocumented, None);
}

/// The Markdown files of a folder and of all below it.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "md"));
    files.chain(folders.iter().flat_map(|folder| pages(folder))).collect()
}

#[test]
fn every_variable_that_the_documents_name_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = pages(&root.join("docs"));
    files.push(root.join("README.md"));
    let settings = Config::default().settings();
    let keys: Vec<_> = settings.iter().filter(|setting| has_variable(&setting.key)).collect();
    let mut seen = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let is_of_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        for name in text.split(|c| !is_of_name(c)).filter(|word| word.starts_with("SORTIE_")) {
            let other = is_of_another_reader(name) || name == "SORTIE_";
            let known = other || keys.iter().any(|setting| sets(name, &setting.key));
            assert!(known, "{}: {name} sets nothing", file.display());
            seen += 1;
        }
    }
    assert!(seen > 10, "the documents name variables");
}

#[test]
fn defaults_are_described_as_values_or_in_words() {
    let settings = Config::default().settings();
    let default = |key: &str| settings.iter().find(|setting| setting.key == key).unwrap().default();
    assert_eq!(default("listen"), "`127.0.0.1:7070`");
    assert_eq!(default("journal.segment_bytes"), "`67108864` (64 MiB)");
    assert_eq!(default("limits.memory_bytes_max"), "`4294967296` (4 GiB)");
    assert_eq!(default("egress.names"), "none");
    assert_eq!(default("secrets.key"), "none");
    assert_eq!(default("secrets.key_file"), "`secrets.key` in `data`");
    assert_eq!(default("tokens.NAME.role"), "");
}

#[test]
fn secrets_are_not_in_debug_output() {
    let mut config = Config::default();
    config.cluster.password = Some("hunter2".to_owned());
    config.secrets.old_keys = vec!["hunter2".to_owned()];
    assert!(!format!("{config:?}").contains("hunter2"), "{config:?}");
}
