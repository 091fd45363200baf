//! `sortie workflow`: put definitions in force, see them, check them.

mod apply;
pub mod check;
mod delete;
mod list;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

use crate::session::Session;

/// Put workflows in force, see them, check them
#[derive(Debug, Subcommand)]
pub enum Workflow {
    Apply(apply::Apply),
    List(list::List),
    Show(show::Show),
    Delete(delete::Delete),
    Check(check::Check),
}

impl Workflow {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        match self {
            Workflow::Apply(apply) => apply.run(session).await?,
            Workflow::List(list) => list.run(session).await?,
            Workflow::Show(show) => show.run(session).await?,
            Workflow::Delete(delete) => delete.run(session).await?,
            Workflow::Check(check) => check.run(&session)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
