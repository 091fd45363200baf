//! `sortie queue list`: queues with their counts.

use api_types::{NamePage, QueueView};
use clap::Args;

use crate::client::{self, Call};
use crate::page::Amount;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable};
use crate::watch::WatchArgs;

/// List queues with their counts
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie queue list")]
pub struct List {
    #[command(flatten)]
    amount: Amount<1000>,
    #[command(flatten)]
    watch: WatchArgs,
}

impl List {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        self.watch.each(session, async |session| self.show(session).await).await
    }

    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let found = self.amount.get(session, |_, after| page_of("/v1/queues", after)).await?;
        let queues: Vec<QueueView> = found.read()?;
        session.show_value(&found, || {
            if queues.is_empty() {
                return format!("No queues. Create one with: {} queue create NAME\n", session.program());
            }
            render(&queues, "NAME", &session.screen) + found.hint()
        })
    }
}

/// The path of the next page of a list by name.
pub fn page_of(path: &str, after: Option<String>) -> String {
    client::query(path, &[("after", after)])
}

/// Fetches a whole list, page by page.
pub async fn all<T: serde::de::DeserializeOwned>(
    session: &mut Session,
    path: &str,
) -> anyhow::Result<NamePage<T>> {
    let mut found = NamePage { items: Vec::new(), next: None };
    loop {
        let call = Call::get(page_of(path, found.next.take()));
        let page: NamePage<T> = session.client.send(call).await?.value()?;
        found.items.extend(page.items);
        match page.next {
            None => return Ok(found),
            next => found.next = next,
        }
    }
}

/// Queues, or the subscriptions of a topic.
pub fn render(queues: &[QueueView], title: &'static str, screen: &Screen) -> String {
    let mut table = TextTable::new([
        Column::whole(title),
        Column::number("READY"),
        Column::number("LOCKED"),
        Column::number("SCHEDULED").minor(),
        Column::number("DEAD"),
        Column::number("BYTES").minor(),
        Column::text("FILTER").minor(),
    ]);
    for queue in queues {
        let counts = &queue.counts;
        let dead = if counts.dead > 0 { Tone::Attention } else { Tone::Plain };
        let filter = queue.filter.as_ref().map(|filter| serde_json::to_string(filter).unwrap_or_default());
        table.row([
            Cell::toned(Tone::Strong, &queue.name),
            Cell::new(counts.ready.to_string()),
            Cell::new(counts.locked.to_string()),
            Cell::new(counts.scheduled.to_string()),
            Cell::toned(dead, counts.dead.to_string()),
            Cell::new(counts.bytes.to_string()),
            Cell::new(filter.filter(|text| text != "{}").unwrap_or_default()),
        ]);
    }
    table.render(screen)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_list_says_how_many_messages_there_are() {
        let queue = |name: &str, dead: usize, filter: &str| {
            let json = format!(
                r#"{{"name":"{name}","lock":"60s","deliveries_max":10,"dead_letter_expired":false,"sessions":false,
                "messages_max":10,"bytes_max":100,"counts":{{"ready":3,"locked":1,"scheduled":0,"dead":{dead},"bytes":512}},
                "version":1,"created_at":"2026-03-01T12:00:00Z","changed_at":"2026-03-01T12:00:00Z"{filter}}}"#
            );
            serde_json::from_str::<QueueView>(&json).unwrap()
        };
        let queues = [queue("orders", 2, ""), queue("audit", 0, r#","filter":{"label":"paid"}"#)];
        expect![[r#"
            QUEUE   READY  LOCKED  SCHEDULED  DEAD  BYTES  FILTER
            orders      3       1          0     2    512
            audit       3       1          0     0    512  {"label":"paid"}
        "#]]
        .assert_eq(&render(&queues, "QUEUE", &Screen { colour: false, width: None }));
    }
}
