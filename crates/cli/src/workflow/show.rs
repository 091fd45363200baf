//! `sortie workflow show`: one workflow in outline, or its source.

use api_types::WorkflowView;
use clap::Args;

use crate::client::{self, Call};
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable};
use crate::watch::WatchArgs;
use crate::when;

/// Show a workflow: an outline of its steps, or its source
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie workflow show drone-delivery --source")]
pub struct Show {
    /// The name of the workflow
    name: String,
    /// This version instead of the active one
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// Print the definition as it was applied
    #[arg(long)]
    source: bool,
    #[command(flatten)]
    watch: WatchArgs,
}

impl Show {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        self.watch.each(session, async |session| self.show(session).await).await
    }

    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let path = client::path("/v1/workflows/{}", &[&self.name]);
        let path = client::query(&path, &[("version", self.version.map(|version| version.to_string()))]);
        let answer = session.client.send(Call::get(path)).await?;
        session.show(&answer, || {
            let workflow: WorkflowView = answer.value()?;
            Ok(if self.source {
                workflow.source.unwrap_or_default()
            } else {
                render(&workflow, &session.screen)
            })
        })
    }
}

fn render(workflow: &WorkflowView, screen: &Screen) -> String {
    let name = screen.paint(Tone::Strong, &workflow.name);
    let mut out = format!("{name}, version {}\n", workflow.version);
    out += &format!("  applied  {} by {}\n", when::moment(workflow.applied_at), workflow.applied_by);
    if let Some(route) = &workflow.route {
        out += &format!("  route    {route}\n");
    }
    if workflow.serial {
        out += "  order    runs with the same key are sequential\n";
    }
    let mut table =
        TextTable::new([Column::whole("STEP"), Column::text("AFTER"), Column::text("HAS")]).indented(2);
    for step in &workflow.steps {
        let has = [(step.undo, "undo"), (step.alternative, "alternative"), (step.pivot, "pivot")];
        let has: Vec<_> = has.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
        table.row([Cell::new(&step.name), Cell::new(step.after.join(", ")), Cell::new(has.join(", "))]);
    }
    out + "\n" + &table.render(screen)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn the_outline_shows_order_and_ways_back() {
        let json = r#"{"name":"drone-delivery","version":3,"route":"/api/deliveryrequests",
            "serial":true,"applied_at":"2026-03-01T12:00:00.000Z","applied_by":"sortie dev","steps":[
            {"name":"account","after":[],"alternative":false,"undo":false,"pivot":false},
            {"name":"drone","after":["account"],"alternative":true,"undo":true,"pivot":false},
            {"name":"delivery","after":["drone"],"alternative":false,"undo":true,"pivot":true}]}"#;
        expect![[r#"
            drone-delivery, version 3
              applied  2026-03-01 12:00:00.000 UTC by sortie dev
              route    /api/deliveryrequests
              order    runs with the same key are sequential

              STEP      AFTER    HAS
              account
              drone     account  undo, alternative
              delivery  drone    undo, pivot
        "#]]
        .assert_eq(&render(&serde_json::from_str(json).unwrap(), &Screen { colour: false, width: Some(80) }));
    }
}
