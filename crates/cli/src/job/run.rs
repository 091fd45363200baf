//! `sortie job run`: fires a job now.

use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;
use types::Span;

use super::name::JobName;
use crate::client::Call;
use crate::run::until_ended;
use crate::session::Session;

/// Fire a job now
///
/// Its schedule and its occurrence counters are not affected. With --wait the exit code is 0 if it
/// succeeded, 1 if not.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job run ops/report --wait")]
pub struct RunJob {
    /// The job, as COLLECTION/JOB
    job: JobName,
    /// Wait until it has ended, including retries
    #[arg(long)]
    wait: bool,
    /// Wait no longer than this, for example 30s or 5m
    #[arg(long, value_name = "SPAN", requires = "wait")]
    timeout: Option<Span>,
}

#[derive(Deserialize)]
struct Fired {
    run: String,
}

impl RunJob {
    pub async fn run(self, mut session: Session) -> anyhow::Result<ExitCode> {
        let program = session.program();
        let answer = self.job.send(&mut session, Call::post_nothing(self.job.path("/run"))).await?;
        let Fired { run } = answer.value()?;
        if self.wait {
            return until_ended(&mut session, &run, self.timeout).await;
        }
        session.show(&answer, || {
            Ok(format!("fired job {}: run {run}\nsee it with: {program} run show {run}\n", self.job))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
