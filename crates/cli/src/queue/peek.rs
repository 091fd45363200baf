//! `sortie queue peek`: shows messages without receiving them.

use api_types::{MessagePage, MessageView};
use clap::Args;

use super::name::QueueName;
use crate::client::{self, Call};
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable};
use crate::watch::WatchArgs;
use crate::when;

/// Show messages without receiving them
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie queue peek orders\n  sortie queue peek events/audit --dead")]
pub struct Peek {
    /// The queue, or a subscription as TOPIC/SUBSCRIPTION
    queue: QueueName,
    /// Show dead letters
    #[arg(long)]
    dead: bool,
    /// Start at this sequence number
    #[arg(long, value_name = "N")]
    from: Option<u64>,
    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=256))]
    limit: u32,
    #[command(flatten)]
    watch: WatchArgs,
}

impl Peek {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        self.watch.each(session, async |session| self.show(session).await).await
    }

    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let parameters = [
            ("sub_queue", self.dead.then(|| "dead".to_owned())),
            ("from", self.from.map(|number| number.to_string())),
            ("limit", Some(self.limit.to_string())),
        ];
        let call = Call::get(client::query(&self.queue.path("/messages"), &parameters));
        let answer = self.queue.send(session, call).await?;
        session.show(&answer, || Ok(render(&answer.value()?, &session.screen)))
    }
}

fn render(page: &MessagePage, screen: &Screen) -> String {
    if page.items.is_empty() {
        return "No messages.\n".to_owned();
    }
    let mut table = TextTable::new([
        Column::number("NUMBER"),
        Column::whole("ID").major(),
        Column::whole("STATE").major(),
        Column::whole("SENT (UTC)").minor(),
        Column::number("DELIVERIES").minor(),
        Column::text("LABEL"),
        Column::text("SESSION"),
        Column::text("DEAD-LETTER REASON"),
        Column::text("BODY"),
    ]);
    for message in &page.items {
        table.row(row(message));
    }
    let mut out = table.render(screen);
    if let Some(next) = page.next {
        out += &format!("There may be more; see them with --from {next}.\n");
    }
    out
}

fn row(message: &MessageView) -> [Cell; 9] {
    let text = |text: &Option<String>| Cell::new(text.as_deref().unwrap_or_default());
    let why = message.dead.as_ref().map(|dead| match dead.description.as_str() {
        "" => dead.reason.clone(),
        more => format!("{}: {more}", dead.reason),
    });
    let body = match (&message.body, &message.body_base64) {
        (Some(text), _) => text.clone(),
        (None, Some(base64)) => format!("(base64) {base64}"),
        (None, None) => String::new(),
    };
    [
        Cell::new(message.sequence_number.to_string()),
        Cell::toned(Tone::Strong, &message.message_id),
        Cell::new(&message.state),
        Cell::new(when::second(message.enqueued_at)),
        Cell::new(message.deliveries.to_string()),
        text(&message.label),
        text(&message.session),
        Cell::toned(Tone::Bad, why.unwrap_or_default()),
        Cell::new(body),
    ]
}
