//! `sortie queue create` and `sortie queue delete`.

use clap::Args;
use hyper::header::{HeaderValue, IF_NONE_MATCH};
use serde::Serialize;
use serde_json::Value;
use types::Span;

use super::name::{EntityName, QueueName};
use super::settings::Settings;
use super::show;
use crate::client::{self, Call};
use crate::session::Session;

pub const JSON: &str = "application/json";

/// Create a queue
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  sortie queue create orders\n  sortie queue create orders --lock 5m --max-deliveries 3 --replace"
)]
pub struct CreateQueue {
    /// The name of the queue
    name: EntityName,
    #[command(flatten)]
    settings: Settings,
    /// How long message ids are remembered to drop duplicates; default 10m
    #[arg(long, value_name = "SPAN")]
    duplicate_window: Option<Span>,
    /// Replace the settings of an existing queue; its messages stay
    #[arg(long)]
    replace: bool,
}

/// Delete a queue or a subscription with all its messages
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie queue delete orders")]
pub struct DeleteQueue {
    /// The queue, or a subscription as TOPIC/SUBSCRIPTION
    queue: QueueName,
}

#[derive(Serialize)]
pub struct DeletedQueue {
    pub deleted: String,
}

impl CreateQueue {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let mut settings = self.settings.json();
        if let Some(span) = self.duplicate_window {
            settings.insert("duplicate_window".to_owned(), span.to_string().into());
        }
        let path = client::path("/v1/queues/{}", &[&self.name.0]);
        let answer = session.client.send(put(path, settings.into(), self.replace)).await?;
        session.show(&answer, || Ok(show::render(&answer.value()?, &session.screen)))
    }
}

/// Writes the settings; fails if it exists and is not to be replaced.
pub fn put(path: String, settings: Value, replace: bool) -> Call {
    let call = Call::put(path, JSON, settings.to_string());
    if replace { call } else { call.header(IF_NONE_MATCH, HeaderValue::from_static("*")) }
}

impl DeleteQueue {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        delete(session, &self.queue).await
    }
}

pub async fn delete(mut session: Session, queue: &QueueName) -> anyhow::Result<()> {
    queue.send(&mut session, Call::delete(queue.path(""))).await?;
    let deleted = DeletedQueue { deleted: queue.to_string() };
    session.show_value(&deleted, || format!("deleted {queue}\n"))
}
