//! `sortie job import`, `apply` and `diff`: bring a collection in line with a file, or compare them.

mod changes;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use schedule::{CrontabOptions, read_crontab};
use serde_json::{Value, json};

use self::changes::Changes;
use super::JSON;
use crate::client::{self, Answer, Call};
use crate::failure::{Failure, code_of};
use crate::file;
use crate::session::Session;

/// Import the jobs of a file into a collection, all of them or none
///
/// The file comes from `sortie job export`, or is a crontab. The collection is created if it does not exist.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie job import ops ops.json --dry-run\n  sortie job import ops --crontab crontab.txt --uri-template https://runner.example.com/line/{line}"
)]
pub struct Import {
    /// The collection
    collection: String,
    /// The file; `-` is standard input
    #[arg(required_unless_present = "crontab", conflicts_with = "crontab")]
    file: Option<PathBuf>,
    /// Import a crontab: lines that call a URL with curl or wget become jobs
    #[arg(long, value_name = "F")]
    crontab: Option<PathBuf>,
    /// The URL for the crontab's other commands; {line} is replaced by the line number
    #[arg(long, value_name = "URL", requires = "crontab")]
    uri_template: Option<String>,
    #[command(flatten)]
    manner: ImportOptions,
}

/// Make a collection match a file, and list the changes
///
/// Unchanged jobs are not touched. With --prune, jobs that are not in the file are deleted.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job apply ops ops.json --prune")]
pub struct ApplyJobs {
    /// The collection
    collection: String,
    /// The file; `-` is standard input
    file: PathBuf,
    #[command(flatten)]
    manner: ImportOptions,
}

/// List the differences between a collection and a file
///
/// Includes jobs that are not in the file. The exit code is 0 without differences, 1 with differences.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job diff ops ops.json && echo as it should be")]
pub struct Diff {
    /// The collection
    collection: String,
    /// The file; `-` is standard input
    file: PathBuf,
}

#[derive(Debug, Args)]
struct ImportOptions {
    /// Only list what would change
    #[arg(long)]
    dry_run: bool,
    /// Delete jobs that are not in the file
    #[arg(long)]
    prune: bool,
}

impl Import {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        let document = match (&self.file, &self.crontab) {
            (Some(file), _) => file::read_json(file)?,
            (None, Some(crontab)) => from_crontab(crontab, self.uri_template.as_deref())?,
            (None, None) => unreachable!("one of the two is required"),
        };
        run(session, &self.collection, document, self.manner).await.map(drop)
    }
}

impl ApplyJobs {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        run(session, &self.collection, file::read_json(&self.file)?, self.manner).await.map(drop)
    }
}

impl Diff {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        let manner = ImportOptions { dry_run: true, prune: true };
        let changes = run(session, &self.collection, file::read_json(&self.file)?, manner).await?;
        Ok(if changes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

async fn run(
    mut session: Session,
    collection: &str,
    document: Value,
    manner: ImportOptions,
) -> anyhow::Result<Changes> {
    // Fetch the current collection before the import: it is needed to list the changes.
    let before = export(&mut session, collection).await?;
    let flag = |on: bool| on.then(|| "true".to_owned());
    let parameters = [("dry_run", flag(manner.dry_run)), ("prune", flag(manner.prune))];
    let path = client::query(&client::path("/v1/collections/{}/import", &[collection]), &parameters);
    let answer: Answer = session.client.send(Call::post(path, JSON, document.to_string())).await?;
    let changes: Changes = answer.value()?;
    session.show(&answer, || {
        Ok(changes.render(collection, before.as_ref(), &document, manner.dry_run, &session.screen))
    })?;
    Ok(changes)
}

async fn export(session: &mut Session, collection: &str) -> anyhow::Result<Option<Value>> {
    let call = Call::get(client::path("/v1/collections/{}/export", &[collection]));
    match session.client.send(call).await {
        Ok(answer) => Ok(Some(answer.value()?)),
        Err(error) if code_of(&error) == Some("unknown_collection") => Ok(None),
        Err(error) => Err(error),
    }
}

fn from_crontab(crontab: &Path, uri_template: Option<&str>) -> anyhow::Result<Value> {
    let text = file::read_text(crontab)?;
    let lines = read_crontab(&text, CrontabOptions { uri_template }).map_err(|problems| {
        let line = |problem: &schedule::Problem| format!("{}: {problem}", crontab.display());
        Failure::Definition(problems.iter().map(line).collect())
    })?;
    let jobs =
        lines.into_iter().map(|line| json!({ "name": line.name, "properties": line.body["properties"] }));
    Ok(json!({ "jobs": jobs.collect::<Vec<_>>() }))
}
