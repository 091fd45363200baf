//! `sortie job`: scheduled calls and workflows, and the collections that contain them.

mod action;
mod collection;
mod create;
mod definition;
mod delete;
mod export;
mod facts;
mod history;
mod import;
mod list;
mod name;
mod preview;
mod recurrence;
mod run;
mod show;
mod switch;
mod timing;
mod update;
mod view;

use std::process::ExitCode;

use clap::Subcommand;

use crate::session::Session;

const JSON: &str = "application/json";

/// Schedule calls and workflows: once, or repeatedly
///
/// Jobs belong to collections and are named COLLECTION/JOB. A collection that was created through the Azure paths is
/// named SUBSCRIPTION~GROUP~NAME.
#[derive(Debug, Subcommand)]
pub enum JobCommand {
    List(list::List),
    Show(show::Show),
    Create(Box<create::CreateJob>),
    Update(Box<update::UpdateJob>),
    Delete(delete::DeleteJob),
    Enable(switch::Enable),
    Disable(switch::Disable),
    Run(run::RunJob),
    History(history::History),
    Preview(preview::Preview),
    Export(export::Export),
    Import(import::Import),
    Apply(import::ApplyJobs),
    Diff(import::Diff),
    Collections(collection::Collections),
    #[command(subcommand)]
    Collection(collection::CollectionCommand),
}

impl JobCommand {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        match self {
            JobCommand::List(list) => list.run(session).await?,
            JobCommand::Show(show) => show.run(session).await?,
            JobCommand::Create(create) => create.run(session).await?,
            JobCommand::Update(update) => update.run(session).await?,
            JobCommand::Delete(delete) => delete.run(session).await?,
            JobCommand::Enable(enable) => enable.run(session).await?,
            JobCommand::Disable(disable) => disable.run(session).await?,
            JobCommand::Run(run) => return run.run(session).await,
            JobCommand::History(history) => history.run(session).await?,
            JobCommand::Preview(preview) => preview.run(session).await?,
            JobCommand::Export(export) => export.run(session).await?,
            JobCommand::Import(import) => import.run(session).await?,
            JobCommand::Apply(apply) => apply.run(session).await?,
            JobCommand::Diff(diff) => return diff.run(session).await,
            JobCommand::Collections(collections) => collections.run(session).await?,
            JobCommand::Collection(collection) => collection.run(session).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
