//! Tidy: what neither the compiler nor the linter checks. Each check has its own file.

mod examples;
mod layers;
mod links;
mod mask;
mod names;
mod prose;
mod repeated;
mod rust;
mod subjects;
mod text;
mod walk;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use anyhow::ensure;

pub(crate) use walk::files;

/// A file of the repository, by its path from the root with forward slashes.
pub(crate) struct File {
    pub path: String,
    pub text: String,
}

/// Something to put right, or to think about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub weight: Weight,
    pub path: String,
    /// From 1; 0 when it is about the whole file.
    pub line: usize,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Refused,
    Warning,
}

impl Finding {
    pub fn refused(file: &File, line: usize, message: impl Into<String>) -> Finding {
        Finding { weight: Weight::Refused, path: file.path.clone(), line, message: message.into() }
    }

    pub fn warning(file: &File, line: usize, message: impl Into<String>) -> Finding {
        Finding { weight: Weight::Warning, ..Finding::refused(file, line, message) }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = match self.weight {
            Weight::Refused => "refused",
            Weight::Warning => "warning",
        };
        match self.line {
            0 => write!(f, "{weight}: {}: {}", self.path, self.message),
            line => write!(f, "{weight}: {}:{line}: {}", self.path, self.message),
        }
    }
}

/// Examines the repository and prints what was found; anything refused is an error.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let files = files(root)?;
    let mut findings = examine(&files);
    findings.extend(subjects::check(root));
    for finding in &findings {
        println!("{finding}");
    }
    let refused = findings.iter().filter(|finding| finding.weight == Weight::Refused).count();
    ensure!(refused == 0, "tidy refuses {refused} of the above");
    println!("tidy: {} files, {} warnings", files.len(), findings.len());
    Ok(())
}

fn examine(files: &[File]) -> Vec<Finding> {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut findings = Vec::new();
    for file in files {
        findings.extend(text::check(file));
        findings.extend(names::check(file));
        findings.extend(prose::check(file));
        if file.path.ends_with(".rs") {
            findings.extend(rust::check(file));
        }
        if file.path.ends_with(".md") {
            findings.extend(links::check(file, files, &paths));
            findings.extend(links::check_tests(file, files));
        }
    }
    findings.extend(layers::check(files));
    findings.extend(repeated::check(files));
    findings.extend(crate::invariants::check(files));
    findings.extend(examples::check(files));
    findings
}

#[cfg(test)]
mod tests;
