//! Names that say nothing: of files, modules and types.

use super::mask::{is_word, mask};
use super::{File, Finding};

const EMPTY_WORDS: [&str; 9] =
    ["util", "utils", "helper", "helpers", "manager", "managers", "misc", "common", "commons"];

pub(crate) fn check(file: &File) -> Vec<Finding> {
    // Cargo takes every file of tests/ for a test program, except what lies in tests/common: the name is its own.
    let of_cargo = |name: &str| name == "common" && file.path.split('/').any(|part| part == "tests");
    let empty_word = |name: &str| empty_word(name).filter(|_| !of_cargo(name));
    let mut findings = Vec::new();
    let parts = file.path.split('/').map(|part| part.split_once('.').map_or(part, |(stem, _)| stem));
    if let Some(empty) = parts.filter_map(empty_word).next() {
        findings.push(Finding::refused(file, 0, format!("{empty:?} says nothing: name what is inside")));
    }
    if file.path.ends_with(".rs") {
        let masked = mask(&file.text);
        for (index, line) in masked.code.lines().enumerate() {
            let declared = declared_names(line).find_map(|name| empty_word(name).map(|empty| (name, empty)));
            if let Some((name, empty)) = declared {
                let message = format!("{name}: {empty:?} says nothing: name what it does");
                findings.push(Finding::refused(file, index + 1, message));
            }
        }
    }
    findings
}

/// The names that a line declares: modules and types.
fn declared_names(line: &str) -> impl Iterator<Item = &str> {
    let words: Vec<&str> = line.split(|char| !is_word(char)).filter(|word| !word.is_empty()).collect();
    let pairs: Vec<(&str, &str)> = words.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let declares = |word: &str| matches!(word, "mod" | "struct" | "enum" | "trait" | "type" | "union");
    pairs.into_iter().filter(move |(keyword, _)| declares(keyword)).map(|(_, name)| name)
}

/// The word in a name that says nothing.
fn empty_word(name: &str) -> Option<&'static str> {
    let words = words_of(name);
    EMPTY_WORDS.into_iter().find(|empty| words.iter().any(|word| word == empty))
}

/// The words that a name is made of, in lower case, in whatever case it is written.
pub(crate) fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for char in name.chars() {
        if char == '_' || char == '-' || char.is_uppercase() {
            words.push(String::new());
        }
        let last = words.last_mut().expect("there is always a last word");
        last.extend(char.to_lowercase().filter(|char| char.is_alphanumeric()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn refused(path: &str, text: &str) -> Vec<usize> {
        check(&file(path, text)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn files_and_folders_with_empty_names_are_refused() {
        for path in ["crates/a/src/utils.rs", "crates/common/src/lib.rs", "docs/misc.md", "a/file_helper.rs"]
        {
            assert_eq!(refused(path, ""), [0], "{path}");
        }
        assert_eq!(refused("crates/a/src/commonality.rs", ""), [0; 0]);
    }

    #[test]
    fn what_tests_share_may_have_the_name_that_cargo_gives_it() {
        assert_eq!(refused("crates/a/tests/common/mod.rs", "mod common;\n"), [0; 0]);
        assert_eq!(refused("crates/a/tests/utils.rs", ""), [0]);
    }

    #[test]
    fn types_and_modules_with_empty_names_are_refused() {
        let text = "//! A.\npub struct RunManager;\nmod helpers;\nenum Util { A }\n// struct Manager\nlet manager = 1;\n";
        assert_eq!(refused("a.rs", text), [2, 3, 4]);
    }
}
