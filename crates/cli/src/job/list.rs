//! `sortie job list`: jobs with their state.

use clap::Args;
use serde::Deserialize;

use super::recurrence::{self, plural};
use super::view::{JobItem, second};
use crate::client;
use crate::names::NameKind;
use crate::page::{Amount, RawPage};
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable, clean};
use crate::watch::WatchArgs;

/// List the jobs of one collection, or all jobs
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job list\n  sortie job list ops --state faulted")]
pub struct List {
    /// Only jobs of this collection
    collection: Option<String>,
    /// Only jobs in this state
    #[arg(long, visible_alias = "status", value_name = "S", value_parser = ["enabled", "disabled", "completed", "faulted"])]
    state: Option<String>,
    #[command(flatten)]
    amount: Amount<50>,
    #[command(flatten)]
    watch: WatchArgs,
}

#[derive(Deserialize)]
struct CollectionNames {
    items: Vec<CollectionName>,
}

/// The part of a collection that the list of jobs needs.
#[derive(Deserialize)]
struct CollectionName {
    collection: String,
    jobs: u32,
}

impl List {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        self.watch.each(session, async |session| self.show(session).await).await
    }

    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let wanted = self.amount.wanted();
        let mut found = RawPage::default();
        let mut empty = Vec::new();
        match &self.collection {
            Some(collection) => {
                if let Err(error) = self.fill(session, collection, wanted, &mut found).await {
                    return Err(session.explain(error, NameKind::Collection, collection).await);
                }
            }
            None => {
                let holders: CollectionNames = session.client.get("/v1/collections").await?;
                for holder in holders.items {
                    if holder.jobs == 0 {
                        empty.push(holder.collection);
                    } else if found.items.len() < wanted {
                        self.fill(session, &holder.collection, wanted, &mut found).await?;
                    } else {
                        found.more = true;
                    }
                }
            }
        }
        let jobs: Vec<JobItem> = found.read()?;
        session.show_value(&found, || {
            let mut text = render(&jobs, &session.program(), &session.screen) + found.hint();
            if !empty.is_empty() {
                let (count, word) = (empty.len(), plural(empty.len() as u64, "collection"));
                text += &format!("{count} {word} without jobs: {}\n", clean(&empty.join(", ")));
            }
            text
        })
    }

    /// Adds the jobs of a collection up to the limit.
    async fn fill(
        &self,
        session: &mut Session,
        collection: &str,
        wanted: usize,
        found: &mut RawPage,
    ) -> anyhow::Result<()> {
        let path = client::path("/v1/collections/{}/jobs", &[collection]);
        let page = |limit: usize, cursor| {
            let limit = Some(limit.to_string());
            client::query(&path, &[("state", self.state.clone()), ("limit", limit), ("cursor", cursor)])
        };
        found.fill(session, wanted, page).await?;
        // Another collection may follow, whose list has its own cursors.
        found.next = None;
        Ok(())
    }
}

fn render(jobs: &[JobItem], program: &str, screen: &Screen) -> String {
    if jobs.is_empty() {
        return format!(
            "No jobs. Create one with: {program} job create COLLECTION/JOB --uri URL --every 5m\n"
        );
    }
    let mut table = TextTable::new([
        Column::whole("NAME"),
        Column::whole("STATE").major(),
        Column::whole("NEXT (UTC)"),
        Column::whole("LAST (UTC)").minor(),
        Column::number("EXECUTIONS").minor(),
        Column::number("FAILURES"),
        Column::text("SCHEDULE"),
    ]);
    for job in jobs {
        let status = &job.properties.status;
        let failed = if status.failure_count > 0 { Tone::Attention } else { Tone::Plain };
        table.row([
            Cell::toned(Tone::Strong, job.full_name()),
            Cell::toned(tone_of(&job.properties.state), &job.properties.state),
            Cell::new(status.next_execution_time.map(second).unwrap_or_default()),
            Cell::new(status.last_execution_time.map(second).unwrap_or_default()),
            Cell::new(status.execution_count.to_string()),
            Cell::toned(failed, status.failure_count.to_string()),
            Cell::new(recurrence::describe(&job.properties)),
        ]);
    }
    table.render(screen)
}

/// The colour of a job's state.
pub fn tone_of(state: &str) -> Tone {
    match state {
        "completed" => Tone::Good,
        "faulted" => Tone::Bad,
        "disabled" => Tone::Faint,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_list_says_where_jobs_stand_and_when_they_run() {
        let json = r#"[
            {"collection":"ops","name":"report","properties":{"action":{"type":"Http","request":{"uri":"http://x/","method":"GET"}},
             "recurrence":{"cron":"0 3 * * *"},"timeZone":"Europe/Berlin","state":"enabled",
             "status":{"executionCount":12,"failureCount":1,"faultedCount":0,"lastExecutionTime":"2026-03-01T02:00:00.123Z",
             "nextExecutionTime":"2026-03-02T02:00:00Z","occurrences":11,"skipped":0,"missed":0}}},
            {"collection":"s~g~old","name":"b","properties":{"action":{"type":"Workflow","workflow":{"name":"w"}},"state":"disabled"}}]"#;
        let jobs: Vec<JobItem> = serde_json::from_str(json).unwrap();
        expect![[r#"
            NAME        STATE     NEXT (UTC)           LAST (UTC)           EXECUTIONS  FAILURES  SCHEDULE
            ops/report  enabled   2026-03-02 02:00:00  2026-03-01 02:00:00          12         1  every day at 03:00, Eur…
            s~g~old/b   disabled                                                     0         0  once
        "#]].assert_eq(&render(&jobs, "sortie", &Screen { colour: false, width: Some(110) }));
    }
}
