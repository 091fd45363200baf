//! The page of invariants, generated from `invariants.toml` and from the comments `// guards: N` above tests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::tidy::{File, Finding};

const DECLARATIONS: &str = "docs/internals/invariants.toml";
const PAGE: &str = "docs/internals/invariants.md";
const MARKER: &str = "// guards: ";

const INTRODUCTION: &str = "# Invariants

<!-- Written by `cargo xtask invariants --write` from invariants.toml and from the comments `// guards: N` above tests. -->

What must stay true, which part makes it so, and which tests fail when it does not. *Torture* is `cargo xtask torture all`: the real
server under real faults, then an audit of every acknowledged run against what the services recorded. *Sim* with a letter and a number is a
checker of the simulator (`cargo xtask sim`). *Browser* is `cargo xtask browser`: every page of the real server in Chromium.
";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Declarations {
    invariant: Vec<Invariant>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Invariant {
    number: u32,
    text: String,
    made_by: String,
    /// Checks that are not Rust tests.
    also: Option<String>,
}

/// Writes the page, or says that it is stale.
pub fn run(root: &Path, write: bool) -> anyhow::Result<()> {
    let files = crate::tidy::files(root)?;
    let page = match generate(&files) {
        Ok(page) => page,
        Err(findings) => {
            findings.iter().for_each(|finding| println!("{finding}"));
            bail!("the invariants and the tests that guard them do not match");
        }
    };
    let path = root.join(PAGE);
    if write {
        std::fs::write(&path, page).with_context(|| format!("writing {PAGE}"))?;
    } else if std::fs::read_to_string(&path).unwrap_or_default() != page {
        bail!("{PAGE} is stale: cargo xtask invariants --write");
    }
    Ok(())
}

/// What `tidy` refuses: a marker without its invariant, an invariant without a test, a stale page.
pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    if !files.iter().any(|file| file.path == DECLARATIONS) {
        return Vec::new();
    }
    let page = match generate(files) {
        Ok(page) => page,
        Err(findings) => return findings,
    };
    let written = files.iter().find(|file| file.path == PAGE);
    match written {
        Some(file) if file.text == page => Vec::new(),
        Some(file) => vec![Finding::refused(file, 0, "stale: cargo xtask invariants --write")],
        None => {
            let declarations = files.iter().filter(|file| file.path == DECLARATIONS);
            declarations.map(|file| Finding::refused(file, 0, format!("{PAGE} is missing"))).collect()
        }
    }
}

/// Where a test is that guards an invariant.
struct Guard<'a> {
    file: &'a File,
    line: usize,
    test: &'a str,
}

fn generate(files: &[File]) -> Result<String, Vec<Finding>> {
    let declarations = files.iter().find(|file| file.path == DECLARATIONS);
    let Some(file) = declarations else { return Ok(INTRODUCTION.to_owned()) };
    let declared: Declarations = toml::from_str(&file.text)
        .map_err(|error| vec![Finding::refused(file, 0, format!("not readable: {error}"))])?;
    let mut findings = Vec::new();
    let mut guards: BTreeMap<u32, Vec<Guard<'_>>> = BTreeMap::new();
    for source in files.iter().filter(|file| file.path.ends_with(".rs")) {
        for (numbers, guard) in markers(source) {
            for number in numbers.split(", ") {
                match number.parse() {
                    Ok(number) if declared.invariant.iter().any(|invariant| invariant.number == number) => {
                        let test = Guard { file: guard.file, line: guard.line, test: guard.test };
                        guards.entry(number).or_default().push(test);
                    }
                    _ => {
                        let message = format!("{number:?} is not an invariant of {DECLARATIONS}");
                        findings.push(Finding::refused(source, guard.line, message));
                    }
                }
            }
        }
    }
    let mut page = INTRODUCTION.to_owned();
    for invariant in &declared.invariant {
        let guarded = guards.get(&invariant.number).map(Vec::as_slice).unwrap_or_default();
        if guarded.is_empty() {
            let message = format!("no test has the comment {MARKER}{}", invariant.number);
            findings.push(Finding::refused(file, 0, message));
        }
        section(&mut page, invariant, guarded);
    }
    if findings.is_empty() { Ok(page) } else { Err(findings) }
}

fn section(page: &mut String, invariant: &Invariant, guards: &[Guard<'_>]) {
    let Invariant { number, text, made_by, also } = invariant;
    let written = write!(page, "\n## {number}\n\n{text}\n\n- Made by: {made_by}\n- Guarded by:\n");
    written.expect("a string can always grow");
    for guard in guards {
        writeln!(page, "  - `{}::{}`", guard.file.path, guard.test).expect("a string can always grow");
    }
    if let Some(also) = also {
        writeln!(page, "  - {also}").expect("a string can always grow");
    }
}

/// The markers of a file: the numbers as written, and the test that follows.
fn markers(file: &File) -> Vec<(&str, Guard<'_>)> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(numbers) = line.trim_start().strip_prefix(MARKER) else { continue };
        let test = lines[index + 1..].iter().find_map(|line| {
            let (_, rest) = line.split_once("fn ")?;
            rest.split(['(', '<']).next()
        });
        found.push((numbers.trim_end(), Guard { file, line: index + 1, test: test.unwrap_or("?") }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    fn declared() -> File {
        file(DECLARATIONS, "[[invariant]]\nnumber = 7\ntext = \"It holds.\"\nmade_by = \"`a`\"\n")
    }

    #[test]
    fn a_marked_test_is_listed_with_its_invariant() {
        let files = [declared(), file("a.rs", "//! A.\n// guards: 7\n#[test]\nfn it_holds() {}\n")];
        let page = generate(&files).unwrap_or_default();
        assert!(
            page.ends_with("## 7\n\nIt holds.\n\n- Made by: `a`\n- Guarded by:\n  - `a.rs::it_holds`\n"),
            "{page}"
        );
        let [declarations, test] = files;
        assert_eq!(check(&[declarations, test, file(PAGE, &page)]), []);
        let stale = [declared(), file(PAGE, "old\n"), file("a.rs", "// guards: 7\nfn it_holds() {}\n")];
        assert_eq!(check(&stale)[0].message, "stale: cargo xtask invariants --write");
    }

    #[test]
    fn an_invariant_without_a_test_and_a_marker_without_an_invariant_are_refused() {
        let unguarded = check(&[declared(), file("a.rs", "//! A.\n")]);
        assert_eq!(unguarded[0].message, "no test has the comment // guards: 7");
        let unknown = check(&[declared(), file("a.rs", "// guards: 7, 8\nfn it_holds() {}\n")]);
        assert_eq!(unknown[0].message, "\"8\" is not an invariant of docs/internals/invariants.toml");
    }
}
