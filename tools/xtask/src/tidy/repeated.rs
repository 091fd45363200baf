//! Type names that are defined too often: a reader who searches for one must find one thing.

use std::collections::BTreeMap;

use super::mask::{is_word, mask};
use super::rust::{is_test_file, test_regions};
use super::{File, Finding};

const DEFINITIONS_MAX: usize = 3;

/// Names that every module may have, and those of the subcommands that most commands have.
const CONVENTIONAL: [&str; 6] = ["Error", "Settings", "Args", "State", "List", "Show"];

pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let mut definitions: BTreeMap<String, Vec<(&File, usize)>> = BTreeMap::new();
    for file in files.iter().filter(|file| is_product(&file.path)) {
        for (name, line) in defined_types(&file.text) {
            definitions.entry(name).or_default().push((file, line));
        }
    }
    let repeated = definitions
        .into_iter()
        .filter(|(name, at)| at.len() > DEFINITIONS_MAX && !CONVENTIONAL.contains(&name.as_str()));
    repeated
        .map(|(name, at)| {
            let others: Vec<String> =
                at[1..].iter().map(|(file, line)| format!("{}:{line}", file.path)).collect();
            let message = format!(
                "{name} is defined {} times, also at {}: give it a qualifier",
                at.len(),
                others.join(", ")
            );
            Finding::refused(at[0].0, at[0].1, message)
        })
        .collect()
}

fn is_product(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs") && !is_test_file(path)
}

/// The types that a file defines outside of its tests and of function bodies, with their lines.
fn defined_types(text: &str) -> Vec<(String, usize)> {
    let code = mask(text).code;
    let tests = test_regions(&code);
    let mut found = Vec::new();
    for (index, line) in code.lines().enumerate() {
        if line.starts_with(' ') || tests.iter().any(|region| region.contains(index + 1)) {
            continue;
        }
        let words: Vec<&str> = line.split(|char| !is_word(char)).filter(|word| !word.is_empty()).collect();
        let name =
            words.windows(2).find(|pair| matches!(pair[0], "struct" | "enum" | "trait" | "type" | "union"));
        found.extend(name.map(|pair| (pair[1].to_owned(), index + 1)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn findings(name: &str, definitions: usize) -> Vec<String> {
        let files: Vec<File> = (0..definitions)
            .map(|index| {
                let tests = "#[cfg(test)]\nmod tests {\n    struct Place;\n}\n";
                file(&format!("crates/a/src/{index}.rs"), &format!("//! A.\npub enum {name} {{}}\n{tests}"))
            })
            .collect();
        check(&files).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_type_name_may_be_defined_three_times_and_not_once_more() {
        assert_eq!(findings("Place", 3), [""; 0]);
        assert_eq!(
            findings("Place", 4),
            [
                "Place is defined 4 times, also at crates/a/src/1.rs:2, crates/a/src/2.rs:2, crates/a/src/3.rs:2: give it a qualifier"
            ]
        );
    }

    #[test]
    fn conventional_names_and_tools_are_passed_over() {
        assert_eq!(findings("Error", 9), [""; 0]);
        let tools: Vec<File> =
            (0..5).map(|index| file(&format!("tools/a/src/{index}.rs"), "//! A.\nstruct Place;\n")).collect();
        assert_eq!(check(&tools), []);
    }
}
