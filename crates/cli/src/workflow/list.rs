//! `sortie workflow list`: the deployed workflows.

use api_types::WorkflowView;
use clap::Args;

use crate::page::Amount;
use crate::screen::Screen;
use crate::session::Session;
use crate::table::{Cell, Column, TextTable};
use crate::watch::WatchArgs;
use crate::when;

/// List the workflows
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie workflow list")]
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
        let found = self.amount.get(session, |_, _| "/v1/workflows".to_owned()).await?;
        let workflows: Vec<WorkflowView> = found.read()?;
        session.show_value(&found, || render(&workflows, &session.screen) + found.hint())
    }
}

fn render(workflows: &[WorkflowView], screen: &Screen) -> String {
    if workflows.is_empty() {
        return "No workflows. Deploy one with: sortie workflow apply FILE\n".to_owned();
    }
    let mut table = TextTable::new([
        Column::whole("NAME"),
        Column::number("VERSION"),
        Column::text("STEPS"),
        Column::text("ROUTE"),
        Column::whole("APPLIED (UTC)").minor(),
        Column::text("BY").minor(),
    ]);
    for workflow in workflows {
        let steps: Vec<_> = workflow.steps.iter().map(|step| step.name.as_str()).collect();
        table.row([
            Cell::new(&workflow.name),
            Cell::new(workflow.version.to_string()),
            Cell::new(steps.join(" ")),
            Cell::new(workflow.route.as_deref().unwrap_or_default()),
            Cell::new(when::second(workflow.applied_at)),
            Cell::new(&workflow.applied_by),
        ]);
    }
    table.render(screen)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use api_types::WorkflowList;

    use super::*;

    #[test]
    fn a_workflow_is_one_line() {
        let json = r#"{"items":[{"name":"drone-delivery","version":3,"route":"/api/deliveryrequests",
            "serial":true,"applied_at":"2026-03-01T12:00:00.000Z","applied_by":"sortie dev","steps":[
            {"name":"account","after":[],"alternative":false,"undo":false,"pivot":false},
            {"name":"drone","after":["account"],"alternative":false,"undo":true,"pivot":false}]}]}"#;
        let list: WorkflowList = serde_json::from_str(json).unwrap();
        expect![[r#"
            NAME            VERSION  STEPS          ROUTE                  APPLIED (UTC)        BY
            drone-delivery        3  account drone  /api/deliveryrequests  2026-03-01 12:00:00  sortie dev
        "#]]
        .assert_eq(&render(&list.items, &Screen { colour: false, width: None }));
    }
}
