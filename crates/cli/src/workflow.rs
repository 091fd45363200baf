//! `sortie workflow`: deploy, show and check workflow definitions.

mod apply;
pub mod check;
mod delete;
mod list;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

use crate::session::Session;

/// Deploy, show and check workflows
#[derive(Debug, Subcommand)]
pub enum WorkflowCommand {
    Apply(apply::ApplyWorkflow),
    List(list::List),
    Show(show::Show),
    Delete(delete::DeleteWorkflow),
    Check(check::Check),
}

impl WorkflowCommand {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        match self {
            WorkflowCommand::Apply(apply) => apply.run(session).await?,
            WorkflowCommand::List(list) => list.run(session).await?,
            WorkflowCommand::Show(show) => show.run(session).await?,
            WorkflowCommand::Delete(delete) => delete.run(session).await?,
            WorkflowCommand::Check(check) => check.run(&session)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
