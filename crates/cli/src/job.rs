//! `sortie job`: calls and workflows that start on time, and the collections that hold them.

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
mod place;
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

/// Call a URL or start a workflow on time: once, or again and again
///
/// Jobs live in collections and are named COLLECTION/JOB. A collection that was made through the Azure paths is
/// named SUBSCRIPTION~GROUP~NAME.
#[derive(Debug, Subcommand)]
pub enum Job {
    List(list::List),
    Show(show::Show),
    Create(Box<create::Create>),
    Update(Box<update::Update>),
    Delete(delete::Delete),
    Enable(switch::Enable),
    Disable(switch::Disable),
    Run(run::Run),
    History(history::History),
    Preview(preview::Preview),
    Export(export::Export),
    Import(import::Import),
    Apply(import::Apply),
    Diff(import::Diff),
    Collections(collection::Collections),
    #[command(subcommand)]
    Collection(collection::Collection),
}

impl Job {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        match self {
            Job::List(list) => list.run(session).await?,
            Job::Show(show) => show.run(session).await?,
            Job::Create(create) => create.run(session).await?,
            Job::Update(update) => update.run(session).await?,
            Job::Delete(delete) => delete.run(session).await?,
            Job::Enable(enable) => enable.run(session).await?,
            Job::Disable(disable) => disable.run(session).await?,
            Job::Run(run) => return run.run(session).await,
            Job::History(history) => history.run(session).await?,
            Job::Preview(preview) => preview.run(session).await?,
            Job::Export(export) => export.run(session).await?,
            Job::Import(import) => import.run(session).await?,
            Job::Apply(apply) => apply.run(session).await?,
            Job::Diff(diff) => return diff.run(session).await,
            Job::Collections(collections) => collections.run(session).await?,
            Job::Collection(collection) => collection.run(session).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
