//! `sortie run list`: runs, newest first.

use api_types::{RunSummary, Time};
use clap::Args;
use types::RunStatus;

use crate::client;
use crate::page::Amount;
use crate::run::tone_of;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable};
use crate::watch::WatchArgs;
use crate::when;

/// List runs, newest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie run list --workflow drone-delivery --status undone --from 1h")]
pub struct List {
    /// Only runs of this workflow
    #[arg(long)]
    workflow: Option<String>,
    /// Only runs with this status: accepted, queued, running, undoing, parked, completed, undone or given_up
    #[arg(long)]
    status: Option<RunStatus>,
    /// Only runs with this key
    #[arg(long)]
    key: Option<String>,
    /// Accepted at or after this time, or this long ago: 2026-03-01T12:00:00Z or 90m
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<Time>,
    /// Accepted before this time, or this long ago
    #[arg(long, value_name = "TIME", value_parser = time)]
    to: Option<Time>,
    #[command(flatten)]
    amount: Amount<20>,
    #[command(flatten)]
    watch: WatchArgs,
}

impl List {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        self.watch.each(session, async |session| self.show(session).await).await
    }

    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let found = self.amount.get(session, |limit, cursor| self.path(limit, cursor)).await?;
        if let Some(workflow) = self.workflow.as_ref().filter(|_| found.items.is_empty()) {
            let path = client::path("/v1/workflows/{}", &[workflow]);
            // An unknown workflow is a typo, not an empty list.
            session.client.send(client::Call::get(path)).await?;
        }
        let runs: Vec<RunSummary> = found.read()?;
        session.show_value(&found, || render(&runs, &session.screen) + found.hint())
    }

    fn path(&self, limit: usize, cursor: Option<String>) -> String {
        let parameters = [
            ("workflow", self.workflow.clone()),
            ("status", self.status.map(|status| status.to_string())),
            ("key", self.key.clone()),
            ("from", self.from.map(|time| time.to_string())),
            ("to", self.to.map(|time| time.to_string())),
            ("limit", Some(limit.to_string())),
            ("cursor", cursor),
        ];
        client::query("/v1/runs", &parameters)
    }
}

fn time(text: &str) -> Result<Time, String> {
    when::parse(text, when::now())
}

fn render(runs: &[RunSummary], screen: &Screen) -> String {
    if runs.is_empty() {
        return "No runs.\n".to_owned();
    }
    let mut table = TextTable::new([
        Column::whole("ID"),
        Column::text("WORKFLOW"),
        Column::whole("STATUS").major(),
        Column::whole("ACCEPTED (UTC)"),
        Column::number("TOOK").minor(),
        Column::text("WHY"),
    ]);
    for run in runs {
        let took = run.ended_at.map(|ended_at| when::between(run.accepted_at, ended_at));
        table.row([
            Cell::toned(Tone::Strong, &run.id),
            Cell::new(&run.workflow),
            Cell::toned(tone_of(run.status), run.status.as_str()),
            Cell::new(when::second(run.accepted_at)),
            Cell::new(took.unwrap_or_default()),
            Cell::new(run.reason.as_deref().unwrap_or_default()),
        ]);
    }
    table.render(screen)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_list_fits_the_screen_and_keeps_ids_whole() {
        let json = r#"[
            {"id":"delivery-2","workflow":"drone-delivery","version":1,"status":"running","key":"delivery-2",
             "accepted_at":"2026-03-01T12:00:05.000Z"},
            {"id":"delivery-1","workflow":"drone-delivery","version":1,"status":"undone","key":"delivery-1",
             "accepted_at":"2026-03-01T12:00:00.000Z","ended_at":"2026-03-01T12:01:05.500Z",
             "reason":"drone was refused: 409 no drone is free"}]"#;
        let runs: Vec<RunSummary> = serde_json::from_str(json).unwrap();
        expect![[r#"
            ID          WORKFLOW        STATUS   ACCEPTED (UTC)         TOOK  WHY
            delivery-2  drone-delivery  running  2026-03-01 12:00:05
            delivery-1  drone-delivery  undone   2026-03-01 12:00:00  1m 05s  drone was refuse…
        "#]]
        .assert_eq(&render(&runs, &Screen { colour: false, width: Some(83) }));
    }
}
