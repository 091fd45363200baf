//! `sortie queue`: queues, and what is in them.

mod create;
mod list;
mod moved;
mod peek;
mod place;
mod property;
mod receive;
mod send;
mod settings;
mod show;

use std::process::ExitCode;

use clap::Subcommand;

use crate::session::Session;

pub use create::{Deleted, delete, put};
pub use list::{all, page_of, render as render_list};
pub use place::{Name, Subscription};
pub use property::Property;
pub use send::Send;
pub use settings::Settings;
pub use show::render as render_one;

/// Keep queues; send messages, receive them, bring dead letters back
///
/// A subscription of a topic is a queue, too, and is named TOPIC/SUBSCRIPTION.
#[derive(Debug, Subcommand)]
pub enum Queue {
    List(list::List),
    Create(create::Create),
    Show(show::Show),
    Delete(create::Delete),
    Send(Box<Send>),
    Receive(receive::Receive),
    Peek(peek::Peek),
    Redrive(moved::Redrive),
    Purge(moved::Purge),
}

impl Queue {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        match self {
            Queue::List(list) => list.run(session).await?,
            Queue::Create(create) => create.run(session).await?,
            Queue::Show(show) => show.run(session).await?,
            Queue::Delete(delete) => delete.run(session).await?,
            Queue::Send(send) => send.run(session).await?,
            Queue::Receive(receive) => receive.run(session).await?,
            Queue::Peek(peek) => peek.run(session).await?,
            Queue::Redrive(redrive) => redrive.run(session).await?,
            Queue::Purge(purge) => purge.run(session).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}
