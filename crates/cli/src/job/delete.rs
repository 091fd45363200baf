//! `sortie job delete`: takes a job away.

use clap::Args;
use serde::Serialize;

use super::place::JobName;
use crate::client::Call;
use crate::session::Session;

/// Delete a job
///
/// It fires no more, and its history goes with it. What is under way comes to its end.
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
        session.show_value(&deleted, || format!("job {} is deleted\n", self.job))
    }
}
