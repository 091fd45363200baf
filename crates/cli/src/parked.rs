//! `sortie parked`: runs that wait for a decision, why, and the commands to resolve them.

use std::process::ExitCode;

use api_types::{RunDetail, RunSummary};
use clap::{Args, Subcommand};

use crate::client;
use crate::page::Amount;
use crate::run::decision_commands;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::clean;
use crate::watch::WatchArgs;
use crate::when;

/// List parked runs, why they are parked, and the commands to resolve them
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie parked")]
pub struct ParkedArgs {
    #[command(subcommand)]
    command: Option<ParkedCommand>,
    #[command(flatten)]
    list: ParkedList,
}

#[derive(Debug, Subcommand)]
enum ParkedCommand {
    /// The same as `sortie parked`
    #[command(after_help = "Example:\n  sortie parked list --workflow drone-delivery")]
    List(ParkedList),
}

#[derive(Debug, Args)]
struct ParkedList {
    /// Only runs of this workflow
    #[arg(long)]
    workflow: Option<String>,
    #[command(flatten)]
    amount: Amount<20>,
    #[command(flatten)]
    watch: WatchArgs,
}

impl ParkedArgs {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        let list = match self.command {
            Some(ParkedCommand::List(list)) => list,
            None => self.list,
        };
        list.watch.each(session, async |session| list.show(session).await).await?;
        Ok(ExitCode::SUCCESS)
    }
}

impl ParkedList {
    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let found = self.amount.get(session, |limit, cursor| self.path(limit, cursor)).await?;
        let listed: Vec<RunSummary> = found.read()?;
        let mut runs = Vec::new();
        for run in &listed {
            // A run that was resolved since the list was fetched is omitted.
            let detail: RunDetail = session.client.get(&client::path("/v1/runs/{}", &[&run.id])).await?;
            runs.extend((detail.summary.status == types::RunStatus::Parked).then_some(detail));
        }
        session.show_value(&found, || render(&runs, found.more, &session.program(), &session.screen))
    }

    fn path(&self, limit: usize, cursor: Option<String>) -> String {
        let parameters =
            [("workflow", self.workflow.clone()), ("limit", Some(limit.to_string())), ("cursor", cursor)];
        client::query("/v1/parked", &parameters)
    }
}

fn render(runs: &[RunDetail], more: bool, program: &str, screen: &Screen) -> String {
    let mut out = match (runs.len(), more) {
        (0, _) => return "No parked runs.\n".to_owned(),
        (1, false) => "1 run is parked.\n".to_owned(),
        (count, false) => format!("{count} runs are parked.\n"),
        (count, true) => {
            format!("More than {count} runs are parked; see more with --all or a larger --limit.\n")
        }
    };
    for run in runs {
        let summary = &run.summary;
        let id = screen.paint(Tone::Strong, &summary.id);
        let parked = run.timeline.iter().rev().find(|moment| moment.what == "parked");
        let since = parked.map_or(summary.accepted_at, |moment| moment.at);
        out += &format!("\n{id}  {}, since {} UTC\n", summary.workflow, when::second(since));
        if let Some(reason) = &summary.reason {
            out += &format!("  why     {}\n", clean(reason));
        }
        let ways = decision_commands(run, program);
        let width = ways.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
        for (place, (command, meaning)) in ways.iter().enumerate() {
            let label = if place == 0 { "decide" } else { "" };
            out += &format!("  {label:6}  {command:width$}  {}\n", screen.paint(Tone::Faint, meaning));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_parked_run_shows_why_and_the_decision_commands() {
        let json = r#"{"id":"delivery-9","workflow":"drone-delivery","version":1,"status":"parked",
            "key":"delivery-9","accepted_at":"2026-03-01T12:00:00.000Z","partition":3,
            "reason":"undo of package failed: 500 disk full","steps":[],"open_steps":["package"],
            "timeline":[{"at":"2026-03-02T12:00:01.000Z","what":"parked"}]}"#;
        let run: RunDetail = serde_json::from_str(json).unwrap();
        expect![[r#"
            1 run is parked.

            delivery-9  drone-delivery, since 2026-03-02 12:00:01 UTC
              why     undo of package failed: 500 disk full
              decide  sortie run retry delivery-9                                        retry what failed
                      sortie run resolve delivery-9 --step package --by-hand --note "…"  package was done manually
                      sortie run resolve delivery-9 --step package --skip --note "…"     skip package
                      sortie run give-up delivery-9 --note "…"                           end it in its current state
        "#]]
        .assert_eq(&render(&[run], false, "sortie", &Screen { colour: false, width: None }));
    }
}
