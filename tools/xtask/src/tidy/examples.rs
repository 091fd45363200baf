//! Examples in comments: they are run only where the crate says so, because looking for them takes long where there are none.

use super::{File, Finding};

pub(crate) fn check(files: &[File]) -> Vec<Finding> {
    let without = |manifest: &&File| {
        manifest.path.ends_with("/Cargo.toml") && manifest.text.lines().any(|line| line == "doctest = false")
    };
    let mut findings = Vec::new();
    for manifest in files.iter().filter(without) {
        let crate_files = manifest.path.trim_end_matches("Cargo.toml");
        for file in
            files.iter().filter(|file| file.path.starts_with(crate_files) && file.path.ends_with(".rs"))
        {
            findings.extend(example(file).map(|line| {
                Finding::refused(
                    file,
                    line,
                    format!("nobody runs this example: {} has doctest = false", manifest.path),
                )
            }));
        }
    }
    findings
}

/// The line on which the first example begins. A block of `text`, such as a drawing, is not one.
fn example(file: &File) -> Option<usize> {
    let mut in_text = false;
    let begins = |line: &str| {
        let line = line.trim_start();
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let Some(fence) = comment.and_then(|text| text.trim_start().strip_prefix("```")) else {
            return false;
        };
        let closes_text = std::mem::replace(&mut in_text, fence == "text");
        !in_text && !closes_text
    };
    file.text.lines().position(begins).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    #[test]
    fn a_drawing_is_not_an_example() {
        let drawing = "//! What it is for.\n//! ```text\n//! a -> b\n//! ```\n";
        let manifest = file("crates/core/types/Cargo.toml", "[lib]\ndoctest = false\n");
        assert_eq!(check(&[manifest, file("crates/core/types/src/lib.rs", drawing)]), []);
    }

    #[test]
    fn an_example_is_refused_where_nobody_runs_it() {
        let source = "//! What it is for.\n\n    /// ```\n    /// assert!(true);\n    /// ```\n";
        let manifests = ["[lib]\ndoctest = false\n", "[package]\n"];
        let found = manifests.map(|manifest| {
            check(&[
                file("crates/core/types/Cargo.toml", manifest),
                file("crates/core/types/src/lib.rs", source),
            ])
        });
        let lines = found.map(|findings| findings.iter().map(|finding| finding.line).collect::<Vec<_>>());
        assert_eq!(lines, [vec![3], vec![]]);
    }
}
