//! `sortie job delete`: deletes a job.

use clap::Args;
use serde::Serialize;

use super::name::JobName;
use crate::client::Call;
use crate::session::Session;

/// Delete a job
///
/// Its history is deleted with it. Occurrences in progress continue to their end.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job delete ops/report")]
pub struct DeleteJob {
    /// The job, as COLLECTION/JOB
    job: JobName,
}

#[derive(Serialize)]
struct DeletedJob {
    deleted: String,
}

impl DeleteJob {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        self.job.send(&mut session, Call::delete(self.job.path(""))).await?;
        let deleted = DeletedJob { deleted: self.job.to_string() };
        session.show_value(&deleted, || format!("deleted job {}\n", self.job))
    }
}
