//! `sortie queue redrive` and `sortie queue purge`.

use api_types::Moved;
use clap::Args;
use serde_json::{Map, Value};

use super::create::JSON;
use super::name::QueueName;
use crate::client::Call;
use crate::session::Session;

/// Move dead letters back to the queue, oldest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie queue redrive orders --max 100")]
pub struct Redrive {
    /// The queue, or a subscription as TOPIC/SUBSCRIPTION
    queue: QueueName,
    /// At most this many; default all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max: Option<u32>,
}

/// Delete messages that no consumer has locked
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie queue purge orders --dead")]
pub struct Purge {
    /// The queue, or a subscription as TOPIC/SUBSCRIPTION
    queue: QueueName,
    /// Purge the dead letters instead
    #[arg(long)]
    dead: bool,
    /// At most this many; default all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max: Option<u32>,
}

impl Redrive {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        let body = portion(self.max, None);
        ask(session, &self.queue, "/redrive", body, "moved back").await
    }
}

impl Purge {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        let body = portion(self.max, self.dead.then_some("dead"));
        ask(session, &self.queue, "/purge", body, "deleted").await
    }
}

fn portion(max: Option<u32>, sub_queue: Option<&str>) -> Value {
    let fields = [("max", max.map(Value::from)), ("sub_queue", sub_queue.map(Value::from))];
    let said = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(said.collect::<Map<_, _>>())
}

async fn ask(
    mut session: Session,
    queue: &QueueName,
    rest: &str,
    body: Value,
    done: &str,
) -> anyhow::Result<()> {
    let call = Call::post(queue.path(rest), JSON, body.to_string());
    let answer = queue.send(&mut session, call).await?;
    session.show(&answer, || {
        let Moved { messages } = answer.value()?;
        Ok(match messages {
            1 => format!("1 message {done}\n"),
            messages => format!("{messages} messages {done}\n"),
        })
    })
}
