//! `sortie bulk`: do one thing to many runs, and see how far it has come.

mod ask;
mod follow;
mod show;
mod start;

use std::process::ExitCode;

use api_types::{BulkAction, DecisionKind};
use clap::{Args, Subcommand};

use self::start::{BulkEnd, BulkStartArgs, Forward};
use crate::session::Session;

/// Do one thing to many runs: after an outage, or when a step is known to be done
///
/// What would happen is shown first. A bulk goes on at the server when this command ends.
#[derive(Debug, Subcommand)]
pub enum BulkCommand {
    Retry(BulkRetry),
    Cancel(BulkCancel),
    Resolve(BulkResolve),
    Rerun(BulkRerun),
    List(show::List),
    Show(show::Show),
    Stop(show::Stop),
}

/// Let parked runs try again what failed
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie bulk retry --workflow drone-delivery --from 2h --note \"the drone service is back\""
)]
pub struct BulkRetry {
    #[command(flatten)]
    start: BulkStartArgs,
}

/// Take runs back that are queued or running: what they have done is undone
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie bulk cancel --workflow drone-delivery --from 10m")]
pub struct BulkCancel {
    #[command(flatten)]
    which: Forward,
    #[command(flatten)]
    start: BulkStartArgs,
}

/// Decide on parked runs
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie bulk resolve --step package --skip --note \"the packages stay where they are\""
)]
pub struct BulkResolve {
    #[command(flatten)]
    decision: BulkDecision,
    /// The step that is decided on
    #[arg(long, required_unless_present = "give_up", conflicts_with = "give_up")]
    step: Option<String>,
    #[command(flatten)]
    start: BulkStartArgs,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct BulkDecision {
    /// Go on without the step
    #[arg(long)]
    skip: bool,
    /// The step was done by hand
    #[arg(long)]
    by_hand: bool,
    /// End the runs and leave everything as it is
    #[arg(long)]
    give_up: bool,
}

/// Hand in the requests of ended runs again, each once, as ID.again
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie bulk rerun --status undone --workflow drone-delivery --from 2026-03-01T12:00:00Z"
)]
pub struct BulkRerun {
    #[command(flatten)]
    which: BulkEnd,
    #[command(flatten)]
    start: BulkStartArgs,
}

impl BulkCommand {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        match self {
            BulkCommand::Retry(retry) => {
                retry.start.run(session, BulkAction::Retry, None, None, None).await?
            }
            BulkCommand::Cancel(cancel) => {
                let status = cancel.which.status();
                cancel.start.run(session, BulkAction::Cancel, status, None, None).await?;
            }
            BulkCommand::Resolve(resolve) => {
                resolve.start.needs_note()?;
                let decision = resolve.decision.kind();
                resolve.start.run(session, BulkAction::Resolve, None, Some(decision), resolve.step).await?;
            }
            BulkCommand::Rerun(rerun) => {
                let status = rerun.which.status();
                rerun.start.run(session, BulkAction::Rerun, status, None, None).await?;
            }
            BulkCommand::List(list) => list.run(session).await?,
            BulkCommand::Show(show) => show.run(session).await?,
            BulkCommand::Stop(stop) => stop.run(session).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl BulkDecision {
    fn kind(&self) -> DecisionKind {
        match self {
            BulkDecision { skip: true, .. } => DecisionKind::Skip,
            BulkDecision { by_hand: true, .. } => DecisionKind::ByHand,
            _ => DecisionKind::GiveUp,
        }
    }
}
