//! `sortie queue show`: the settings and counts of a queue.

use api_types::QueueView;
use clap::Args;

use super::name::QueueName;
use crate::client::Call;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::clean;
use crate::watch::WatchArgs;
use crate::when;

/// Show a queue or a subscription: its settings and its counts
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie queue show orders\n  sortie queue show events/audit")]
pub struct Show {
    /// The queue, or a subscription as TOPIC/SUBSCRIPTION
    queue: QueueName,
    #[command(flatten)]
    watch: WatchArgs,
}

impl Show {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        self.watch.each(session, async |session| self.show(session).await).await
    }

    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let answer = self.queue.send(session, Call::get(self.queue.path(""))).await?;
        session.show(&answer, || Ok(render(&answer.value()?, &session.screen)))
    }
}

pub fn render(queue: &QueueView, screen: &Screen) -> String {
    let counts = &queue.counts;
    let name = match &queue.topic {
        None => queue.name.clone(),
        Some(topic) => format!("{topic}/{}", queue.name),
    };
    let mut lines = vec![
        (
            "messages",
            format!(
                "{} ready, {} locked, {} scheduled, {} dead; {} bytes",
                counts.ready, counts.locked, counts.scheduled, counts.dead, counts.bytes
            ),
        ),
        ("limits", format!("{} messages, {} bytes", queue.messages_max, queue.bytes_max)),
        ("lock", queue.lock.to_string()),
        ("deliveries", format!("max. {}", queue.deliveries_max)),
    ];
    if let Some(span) = queue.time_to_live {
        let then = if queue.dead_letter_expired { "then dead-lettered" } else { "then dropped" };
        lines.push(("expires", format!("after {span}, {then}")));
    }
    if let Some(span) = queue.duplicate_window {
        lines.push(("duplicates", format!("dropped within {span}")));
    }
    if queue.sessions {
        lines.push(("sessions", "in order".to_owned()));
    }
    if let Some(filter) = &queue.filter {
        lines.push(("takes", serde_json::to_string(filter).unwrap_or_default()));
    }
    lines.push(("version", format!("{}, since {} UTC", queue.version, when::second(queue.changed_at))));
    let mut out = format!("{}\n", screen.paint(Tone::Strong, &clean(&name)));
    for (label, text) in lines {
        out += &format!("  {label:10}  {}\n", clean(&text));
    }
    out
}
