//! `sortie bulk`: apply one action to many runs, and follow its progress.

mod confirm;
mod follow;
mod show;
mod start;

use std::process::ExitCode;

use api_types::{BulkAction, DecisionKind};
use clap::{Args, Subcommand};

use self::start::{BulkEnd, BulkStartArgs, Forward};
use crate::session::Session;

/// Apply one action to many runs, for example after an outage
///
/// Shows first what would happen. The bulk operation continues on the server when this command ends.
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

/// Retry the failed steps of parked runs
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie bulk retry --workflow drone-delivery --from 2h --note \"the drone service is back\""
)]
pub struct BulkRetry {
    #[command(flatten)]
    start: BulkStartArgs,
}

/// Cancel queued or running runs: their completed steps are undone
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie bulk cancel --workflow drone-delivery --from 10m")]
pub struct BulkCancel {
    #[command(flatten)]
    which: Forward,
    #[command(flatten)]
    start: BulkStartArgs,
}

/// Resolve parked runs
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie bulk resolve --step package --skip --note \"the packages stay where they are\""
)]
pub struct BulkResolve {
    #[command(flatten)]
    decision: BulkDecision,
    /// The step to resolve
    #[arg(long, required_unless_present = "give_up", conflicts_with = "give_up")]
    step: Option<String>,
    #[command(flatten)]
    start: BulkStartArgs,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct BulkDecision {
    /// Skip the step
    #[arg(long)]
    skip: bool,
    /// The step was done manually
    #[arg(long)]
    by_hand: bool,
    /// End the runs in their current state, without undoing anything
    #[arg(long)]
    give_up: bool,
}

/// Submit the requests of ended runs again, each once, as ID.again
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
