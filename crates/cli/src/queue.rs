//! `sortie queue`: queues and their messages.

mod create;
mod list;
mod moved;
mod name;
mod peek;
mod property;
mod receive;
mod send;
mod settings;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

use crate::session::Session;

pub use create::{DeletedQueue, delete, put};
pub use list::{all, page_of, render as render_list};
pub use name::{EntityName, SubscriptionName};
pub use property::Property;
pub use send::Send;
pub use settings::Settings;
pub use show::render as render_one;

/// Manage queues; send and receive messages, redrive dead letters
///
/// A subscription of a topic is also a queue, named TOPIC/SUBSCRIPTION.
#[derive(Debug, Subcommand)]
pub enum QueueCommand {
    List(list::List),
    Create(create::CreateQueue),
    Show(show::Show),
    Delete(create::DeleteQueue),
    Send(Box<Send>),
    Receive(receive::Receive),
    Peek(peek::Peek),
    Redrive(moved::Redrive),
    Purge(moved::Purge),
}

impl QueueCommand {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        match self {
            QueueCommand::List(list) => list.run(session).await?,
            QueueCommand::Create(create) => create.run(session).await?,
            QueueCommand::Show(show) => show.run(session).await?,
            QueueCommand::Delete(delete) => delete.run(session).await?,
            QueueCommand::Send(send) => send.run(session).await?,
            QueueCommand::Receive(receive) => receive.run(session).await?,
            QueueCommand::Peek(peek) => peek.run(session).await?,
            QueueCommand::Redrive(redrive) => redrive.run(session).await?,
            QueueCommand::Purge(purge) => purge.run(session).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
