//! What documents point at: the file is there, and so is the heading, and the test that guards a promise.

use std::collections::BTreeSet;

use super::{File, Finding};

/// Checks every relative link of a document. Links to the web are not followed.
pub(crate) fn check(file: &File, files: &[File], paths: &BTreeSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, target) in links(&file.text) {
        let (path, heading) = target.split_once('#').unwrap_or((&target, ""));
        if path.contains("://") || path.starts_with("mailto:") || path.starts_with('/') {
            continue;
        }
        let place = if path.is_empty() { file.path.clone() } else { resolve(&file.path, path) };
        let folder = format!("{place}/");
        let is_folder = paths.range(folder.as_str()..).next().is_some_and(|path| path.starts_with(&folder));
        let found = files.iter().find(|other| other.path == place);
        let has_heading = |other: &File| headings(&other.text).iter().any(|slug| slug == heading);
        match found {
            None if !is_folder => {
                findings.push(Finding::refused(file, line, format!("{target}: there is no such file")));
            }
            Some(other) if !heading.is_empty() && place.ends_with(".md") && !has_heading(other) => {
                findings.push(Finding::refused(file, line, format!("{target}: there is no such heading")));
            }
            _ => {}
        }
    }
    findings
}

/// Checks every test that a document names as `path/to/file.rs::name_of_the_test`.
pub(crate) fn check_tests(file: &File, files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in prose(&file.text) {
        for named in line.split('`').skip(1).step_by(2) {
            let Some((path, test)) = named.split_once(".rs::") else { continue };
            let place = format!("{path}.rs");
            let found = files.iter().find(|other| other.path == place);
            if !found.is_some_and(|other| other.text.contains(&format!("fn {test}("))) {
                findings.push(Finding::refused(file, number, format!("{named}: there is no such test")));
            }
        }
    }
    findings
}

/// The targets of a document's links, with their lines; code is passed over.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        // Odd pieces stand between backticks.
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        for (at, _) in plain.match_indices("](") {
            let target = plain[at + 2..].split([')', ' ']).next().unwrap_or("");
            links.push((number, target.to_owned()));
        }
    }
    links
}

/// The lines that stand outside of code fences, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// A path relative to a document, from the root of the repository.
fn resolve(document: &str, path: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The names by which headings are linked to: lower case, words joined, punctuation removed.
fn headings(text: &str) -> Vec<String> {
    let titles = prose(text).filter_map(|(_, line)| line.strip_prefix('#'));
    titles.map(|title| slug(title.trim_start_matches('#').trim())).collect()
}

fn slug(title: &str) -> String {
    let kept = title.chars().filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|char| if char == ' ' { '-' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn broken(text: &str) -> Vec<String> {
        let files =
            [file("docs/a.md", text), file("docs/adr/0001.md", "# One, two\n"), file("README.md", "")];
        let paths = files.iter().map(|file| file.path.as_str()).collect();
        check(&files[0], &files, &paths).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn links_to_files_headings_and_folders_that_exist_pass() {
        assert_eq!(
            broken(
                "# Here\n[a](adr/0001.md) [b](adr/0001.md#one-two) [c](../README.md) [d](adr) [e](#here)\n"
            ),
            [""; 0]
        );
    }

    #[test]
    fn links_into_nothing_are_refused() {
        assert_eq!(
            broken("[a](b.md) [b](adr/0001.md#three) [c](#no)\n"),
            [
                "b.md: there is no such file",
                "adr/0001.md#three: there is no such heading",
                "#no: there is no such heading"
            ]
        );
    }

    #[test]
    fn a_test_that_a_document_names_must_be_there() {
        let files = [file("a/tests.rs", "//! A.\n#[test]\nfn it_holds() {}\n")];
        let named = |text: &str| check_tests(&file("docs/a.md", text), &files).len();
        assert_eq!(named("See `a/tests.rs::it_holds` and `a/tests.rs`.\n"), 0);
        assert_eq!(named("See `a/tests.rs::it_hold`.\n"), 1);
        assert_eq!(named("See `b/tests.rs::it_holds`.\n"), 1);
    }

    #[test]
    fn the_web_and_code_are_passed_over() {
        assert_eq!(broken("[a](https://a.b/c) `[b](c)`\n```\n[d](e)\n```\n"), [""; 0]);
    }
}
