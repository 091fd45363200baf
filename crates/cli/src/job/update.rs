//! `sortie job update`: changes parts of a job.

use clap::Args;

use super::JSON;
use super::definition::{Clear, Definition};
use super::facts::differences;
use super::name::JobName;
use super::view::{JobItem, JobProperties};
use crate::client::Call;
use crate::session::Session;
use crate::table::clean;

/// Change parts of a job
///
/// Everything else stays as it is. A new recurrence replaces the previous one.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie job update ops/ping --every 10m --clear time-zone\n  sortie job update ops/report --file change.json"
)]
pub struct UpdateJob {
    /// The job, as COLLECTION/JOB
    job: JobName,
    #[command(flatten)]
    definition: Definition,
    /// Remove this; may be repeated. Without a schedule a job runs once
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "file")]
    clear: Vec<Clear>,
}

impl UpdateJob {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let before: JobItem = self.job.send(&mut session, Call::get(self.job.path(""))).await?.value()?;
        let change = self.definition.change(&before.properties, &self.clear)?;
        let call = Call::patch(self.job.path(""), JSON, change.to_string());
        let answer = self.job.send(&mut session, call).await?;
        let after: JobItem = answer.value()?;
        session.show(&answer, || Ok(describe(&self.job, &before.properties, &after.properties)))
    }
}

fn describe(job: &JobName, before: &JobProperties, after: &JobProperties) -> String {
    let changes = differences(before, after);
    if changes.is_empty() {
        return format!("updated job {job}: no visible change\n");
    }
    let lines = changes.iter().map(|change| format!("  {}\n", clean(change)));
    format!("updated job {job}\n{}", lines.collect::<String>())
}
