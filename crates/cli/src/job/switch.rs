//! `sortie job enable` and `sortie job disable`.

use clap::Args;
use serde_json::json;

use super::JSON;
use super::name::JobName;
use super::view::{JobItem, second};
use crate::client::Call;
use crate::session::Session;

/// Enable a job: it fires again
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job enable ops/report")]
pub struct Enable {
    /// The job, as COLLECTION/JOB
    job: JobName,
}

/// Disable a job: it does not fire until it is enabled again
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job disable ops/report")]
pub struct Disable {
    /// The job, as COLLECTION/JOB
    job: JobName,
}

impl Enable {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        switch(session, &self.job, "enabled").await
    }
}

impl Disable {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        switch(session, &self.job, "disabled").await
    }
}

async fn switch(mut session: Session, job: &JobName, state: &str) -> anyhow::Result<()> {
    let body = json!({ "properties": { "state": state } });
    let answer = job.send(&mut session, Call::patch(job.path(""), JSON, body.to_string())).await?;
    session.show(&answer, || {
        let shown: JobItem = answer.value()?;
        let next = shown.properties.status.next_execution_time.filter(|_| state == "enabled");
        let next = next.map(|next| format!("; next run at {} UTC", second(next)));
        Ok(format!("job {job} is {}{}\n", shown.properties.state, next.unwrap_or_default()))
    })
}
