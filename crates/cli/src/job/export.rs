//! `sortie job export`: writes a collection with all its jobs to a file that can be imported.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde_json::Value;

use super::recurrence::plural;
use crate::client::{self, Call};
use crate::names::NameKind;
use crate::screen;
use crate::session::Session;

/// Export a collection with all its jobs
///
/// The file can be edited, and imported here or elsewhere. It does not contain secrets.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job export ops -o ops.json")]
pub struct Export {
    /// The collection
    collection: String,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "F")]
    output: Option<PathBuf>,
}

impl Export {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let call = Call::get(client::path("/v1/collections/{}/export", &[&self.collection]));
        let answer = session.find(call, NameKind::Collection, &self.collection).await?;
        let document: Value = answer.value()?;
        let text = serde_json::to_string_pretty(&document)? + "\n";
        let Some(file) = &self.output else {
            return session.show(&answer, || Ok(text));
        };
        std::fs::write(file, text).with_context(|| format!("writing {}", file.display()))?;
        let jobs = document["jobs"].as_array().map_or(0, Vec::len);
        Ok(screen::print(&format!(
            "{jobs} {} of {} in {}\n",
            plural(jobs as u64, "job"),
            self.collection,
            file.display()
        ))?)
    }
}
