//! `sortie run wait`: waits until a run has ended or is parked.

use std::process::ExitCode;
use std::time::Duration;

use api_types::RunDetail;
use clap::Args;
use types::{RunStatus, Span};

use crate::client::{self, Call};
use crate::failure::Failure;
use crate::names::NameKind;
use crate::run::{RunState, say};
use crate::session::Session;
use crate::when;

const POLL_FIRST: Duration = Duration::from_millis(50);
const POLL_MAX: Duration = Duration::from_secs(1);

/// Wait until a run has ended or is parked
///
/// The exit code is 0 if it completed, 1 otherwise.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie run wait delivery-7 --timeout 30s && echo delivered")]
pub struct Wait {
    /// The id of the run
    id: String,
    /// Wait no longer than this, for example 30s or 5m
    #[arg(long, value_name = "SPAN")]
    timeout: Option<Span>,
}

impl Wait {
    pub async fn run(self, mut session: Session) -> anyhow::Result<ExitCode> {
        until_ended(&mut session, &self.id, self.timeout).await
    }
}

/// Waits for the end of a run and prints its status; the exit code is 0 only for a completed run.
pub async fn until_ended(session: &mut Session, id: &str, timeout: Option<Span>) -> anyhow::Result<ExitCode> {
    let give_up_at = timeout.map(|timeout| tokio::time::Instant::now() + timeout.as_std());
    let path = client::path("/v1/runs/{}", &[id]);
    let mut pause = POLL_FIRST;
    loop {
        let answer = session.find(Call::get(path.clone()), NameKind::Run, id).await?;
        let status = answer.value::<RunState>()?.status;
        if status.is_final() || status == RunStatus::Parked {
            session.show(&answer, || Ok(describe(&answer.value()?, &session.program())))?;
            let completed = status == RunStatus::Completed;
            return Ok(if completed { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        if give_up_at.is_some_and(|at| tokio::time::Instant::now() + pause > at) {
            let message = format!("run {id} is still {}", say(status));
            return Err(Failure::No(message).into());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(POLL_MAX);
    }
}

fn describe(run: &RunDetail, program: &str) -> String {
    let summary = &run.summary;
    let took =
        summary.ended_at.map(|ended_at| format!(" after {}", when::between(summary.accepted_at, ended_at)));
    let why = summary.reason.as_ref().map(|reason| format!(": {}", crate::table::clean(reason)));
    let (took, why) = (took.unwrap_or_default(), why.unwrap_or_default());
    let line = format!("run {} is {}{took}{why}\n", summary.id, say(summary.status));
    if summary.status == RunStatus::Completed {
        line
    } else {
        format!("{line}see why with: {program} run show {}\n", summary.id)
    }
}
