//! `sortie run tail`: follows runs live.

mod follow;
mod many;
mod one;

use std::process::ExitCode;

use clap::Args;
use types::RunStatus;

use crate::session::Session;

/// Follow a run until it ends, or all runs
///
/// For one run, prints its timeline live; the exit code is 0 if it completed, 10 if it was undone, 11 if
/// it was given up, 130 after Ctrl-C. A parked run has not ended: it is followed until it is resolved.
///
/// Without an id, prints a line for each run that is accepted, is parked or ends from now on, until Ctrl-C. With
/// --json each line is an event: time, kind, and the run.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  sortie run tail delivery-7\n  sortie run tail --workflow drone-delivery --status parked\n  \
                  sortie run tail --json | jq -r 'select(.what == \"ended\") | .run.id'"
)]
pub struct TailArgs {
    /// The id of the run; default: all runs
    id: Option<String>,
    /// Only runs of this workflow
    #[arg(long, conflicts_with = "id")]
    workflow: Option<String>,
    /// Only changes to this status: accepted, parked, completed, undone or given_up
    #[arg(long, conflicts_with = "id", value_parser = status)]
    status: Option<RunStatus>,
}

impl TailArgs {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        match self.id {
            Some(id) => one::follow(session, &id).await,
            None => many::follow(session, self.workflow, self.status).await,
        }
    }
}

fn status(text: &str) -> Result<RunStatus, String> {
    let known: RunStatus = text.parse().map_err(|error| format!("{error}"))?;
    match known {
        RunStatus::Queued | RunStatus::Running | RunStatus::Undoing => {
            Err("not reported; use accepted, parked, completed, undone or given_up".to_owned())
        }
        known => Ok(known),
    }
}
