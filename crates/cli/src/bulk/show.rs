//! `sortie bulk list`, `show` and `stop`: the state of bulk operations.

use api_types::{BulkCount, BulkList, BulkPreview, BulkState, BulkView};
use clap::Args;

use crate::client::{self, Call};
use crate::run::tone_of;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable, clean};
use crate::when;

/// List bulk operations, newest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie bulk list")]
pub struct List {}

/// Show the progress of a bulk operation
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie bulk show 0195f3a8-7c54-7d2e-b7b1-3f1a2c4d5e6f")]
pub struct Show {
    /// The id of the bulk operation
    id: String,
}

/// Stop a bulk operation; runs that it has already changed stay changed
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie bulk stop 0195f3a8-7c54-7d2e-b7b1-3f1a2c4d5e6f")]
pub struct Stop {
    /// The id of the bulk operation
    id: String,
}

impl List {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let answer = session.client.send(Call::get("/v1/bulk")).await?;
        let found: BulkList = answer.value()?;
        session.show(&answer, || Ok(list(&found.items, &session.screen)))
    }
}

impl Show {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let answer = session.client.send(Call::get(client::path("/v1/bulk/{}", &[&self.id]))).await?;
        let bulk: BulkView = answer.value()?;
        session.show(&answer, || Ok(detail(&bulk, &session.screen)))
    }
}

impl Stop {
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let path = client::path("/v1/bulk/{}/stop", &[&self.id]);
        let answer = session.client.send(Call::post_nothing(path)).await?;
        let bulk: BulkView = answer.value()?;
        session.show(&answer, || Ok(detail(&bulk, &session.screen)))
    }
}

fn list(bulks: &[BulkView], screen: &Screen) -> String {
    if bulks.is_empty() {
        return "No bulk operations.\n".to_owned();
    }
    let mut table = TextTable::new([
        Column::whole("ID"),
        Column::whole("STATE"),
        Column::whole("ACTION"),
        Column::number("DONE"),
        Column::number("SKIPPED"),
        Column::number("FAILED"),
        Column::whole("STARTED (UTC)"),
        Column::text("BY"),
        Column::text("NOTE"),
    ]);
    for bulk in bulks {
        table.row([
            Cell::toned(Tone::Strong, &bulk.id),
            Cell::toned(tone_of_state(bulk.state), word(bulk.state)),
            Cell::new(bulk.action.as_str()),
            Cell::new(bulk.done.to_string()),
            Cell::new(bulk.skipped.count.to_string()),
            Cell::new(bulk.failed.count.to_string()),
            Cell::new(when::second(bulk.started_at)),
            Cell::new(&bulk.by),
            Cell::new(&bulk.note),
        ]);
    }
    table.render(screen)
}

/// A bulk operation in full.
pub fn detail(bulk: &BulkView, screen: &Screen) -> String {
    let state = screen.paint(tone_of_state(bulk.state), word(bulk.state));
    let mut out =
        format!("Bulk operation {} ({}) is {state}: {}\n", bulk.id, bulk.action.as_str(), counts(bulk));
    let took = bulk.ended_at.map(|ended_at| when::between(bulk.started_at, ended_at));
    let took = took.map(|took| format!(", took {took}")).unwrap_or_default();
    out += &format!("  started  {} UTC by {}{took}\n", when::second(bulk.started_at), clean(&bulk.by));
    if let Some(matched) = bulk.matched {
        out += &format!("  matched  {}\n", runs(matched));
    }
    for (reason, count) in &bulk.skipped.reasons {
        out += &format!("  skipped  {count} ({})\n", clean(reason));
    }
    for failure in &bulk.failed.sample {
        out += &format!("  failed   {}: {}\n", failure.id, clean(&failure.problem));
    }
    out
}

/// What a dry run found.
pub fn preview(found: &BulkPreview, screen: &Screen) -> String {
    let mut table = TextTable::new([
        Column::whole("ID"),
        Column::text("WORKFLOW"),
        Column::whole("STATUS"),
        Column::whole("THEN"),
        Column::text("WHY"),
    ]);
    for run in &found.sample {
        let status = run.status.map(|status| Cell::toned(tone_of(status), status.as_str()));
        table.row([
            Cell::toned(Tone::Strong, &run.id),
            Cell::new(run.workflow.as_deref().unwrap_or_default()),
            status.unwrap_or_default(),
            Cell::new(&run.then),
            Cell::new(run.reason.as_deref().unwrap_or_default()),
        ]);
    }
    let verb = if found.matched.count == 1 { "matches" } else { "match" };
    let summary = format!("{} {verb}", runs(found.matched));
    match (table.is_empty(), found.matched.count > found.sample.len() as u64) {
        (true, _) => format!("{summary}.\n"),
        (false, true) => format!("{summary}; the first ones:\n{}", table.render(screen)),
        (false, false) => format!("{summary}:\n{}", table.render(screen)),
    }
}

/// `at least 10000 runs`
pub fn runs(matched: BulkCount) -> String {
    let least = if matched.at_least { "at least " } else { "" };
    let noun = if matched.count == 1 { "run" } else { "runs" };
    format!("{least}{} {noun}", matched.count)
}

/// `120 done, 3 skipped, 0 failed`
pub fn counts(bulk: &BulkView) -> String {
    let waiting =
        bulk.waiting.as_ref().map(|code| format!(", waiting ({})", clean(code))).unwrap_or_default();
    format!("{} done, {} skipped, {} failed{waiting}", bulk.done, bulk.skipped.count, bulk.failed.count)
}

fn word(state: BulkState) -> &'static str {
    match state {
        BulkState::Running => "running",
        BulkState::Stopped => "stopped",
        BulkState::Done => "done",
    }
}

fn tone_of_state(state: BulkState) -> Tone {
    match state {
        BulkState::Running => Tone::Plain,
        BulkState::Stopped => Tone::Attention,
        BulkState::Done => Tone::Good,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_bulk_says_what_became_of_its_runs() {
        let json = r#"{"id":"b-1","state":"done","action":"retry","matched":{"count":5,"at_least":false},"done":3,
            "skipped":{"count":1,"reasons":{"not_parked":1}},
            "failed":{"count":1,"sample":[{"id":"r-9","code":"schema","problem":"the body does not fit"}]},
            "rate":50,"by":"ada","started_at":"2026-03-01T12:00:00.000Z","ended_at":"2026-03-01T12:00:02.500Z"}"#;
        let bulk: BulkView = serde_json::from_str(json).unwrap();
        let screen = Screen { colour: false, width: None };
        expect![[r#"
            Bulk operation b-1 (retry) is done: 3 done, 1 skipped, 1 failed
              started  2026-03-01 12:00:00 UTC by ada, took 2.50s
              matched  5 runs
              skipped  1 (not_parked)
              failed   r-9: the body does not fit
        "#]]
        .assert_eq(&detail(&bulk, &screen));
        expect![[r#"
            ID   STATE  ACTION  DONE  SKIPPED  FAILED  STARTED (UTC)        BY
            b-1  done   retry      3        1       1  2026-03-01 12:00:00  ada
        "#]]
        .assert_eq(&list(&[bulk], &screen));
    }

    #[test]
    fn a_dry_run_shows_the_first_runs_and_what_would_happen() {
        let json = r#"{"matched":{"count":10000,"at_least":true},"sample":[{"id":"r-1","workflow":"w",
            "status":"parked","reason":"undo failed","then":"what failed is tried again"}]}"#;
        let found: BulkPreview = serde_json::from_str(json).unwrap();
        expect![[r#"
            at least 10000 runs match; the first ones:
            ID   WORKFLOW  STATUS  THEN                        WHY
            r-1  w         parked  what failed is tried again  undo failed
        "#]]
        .assert_eq(&preview(&found, &Screen { colour: false, width: None }));
    }
}
