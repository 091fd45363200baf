//! `sortie workflow check`: validates definitions without a server.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use workflow::{Definition, InlineError, Problems};

use crate::failure::Failure;
use crate::file;
use crate::session::Session;
use crate::table::clean;

/// Check definitions without a server
///
/// Prints `file:line: field: message` for each problem; the exit code is 65 if there are any.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie workflow check examples/drone-delivery/workflows/*.yaml")]
pub struct Check {
    /// Definitions in YAML or JSON; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// A valid definition, with the files that it refers to included.
pub struct CheckResponse {
    pub file: PathBuf,
    pub name: String,
    pub source: String,
}

#[derive(Serialize)]
struct CheckReport<'a> {
    file: &'a Path,
    name: &'a str,
}

impl Check {
    pub fn run(self, session: &Session) -> anyhow::Result<()> {
        let checked = check_all(&self.files)?;
        let well: Vec<_> =
            checked.iter().map(|checked| CheckReport { file: &checked.file, name: &checked.name }).collect();
        session.show_value(&well, || {
            let line = |well: &CheckReport| format!("{}: {} is valid\n", well.file.display(), well.name);
            well.iter().map(line).collect()
        })
    }
}

/// Reads and checks all files; the error has the problems of all of them.
pub fn check_all(files: &[PathBuf]) -> anyhow::Result<Vec<CheckResponse>> {
    let mut checked = Vec::new();
    let mut problems = Vec::new();
    for file in files {
        let text = file::read_text(file)?;
        match check(file, &text) {
            Ok(well) => checked.push(well),
            Err(lines) => problems.extend(lines),
        }
    }
    if problems.is_empty() { Ok(checked) } else { Err(Failure::Definition(problems).into()) }
}

fn check(file: &Path, text: &str) -> Result<CheckResponse, Vec<String>> {
    let base = file.parent().unwrap_or(Path::new(""));
    let source = workflow::inline_files(text, base).map_err(|error| match error {
        InlineError::Definition(problems) => lines(file, &problems),
        InlineError::Schema { path, problems } => lines(&path, &problems),
        InlineError::Read { line, path, source } => {
            vec![format!(
                "{}:{line}: accept.schema: cannot read {}: {source}",
                file.display(),
                path.display()
            )]
        }
        InlineError::TooLarge => vec![format!("{}: {error}", file.display())],
    })?;
    let definition = Definition::parse(&source).map_err(|problems| lines(file, &problems))?;
    Ok(CheckResponse { file: file.to_owned(), name: definition.name().to_string(), source })
}

/// One line for each problem: `file:line: field: message`.
pub fn lines(file: &Path, problems: &Problems) -> Vec<String> {
    let line = |problem: &workflow::Problem| {
        let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
        let field = if problem.field.is_empty() { String::new() } else { format!(" {}:", problem.field) };
        clean(&format!("{}{line}:{field} {}", file.display(), problem.message))
    };
    problems.iter().map(line).collect()
}
