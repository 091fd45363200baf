//! `sortie job history`: the attempts of a job, newest first.

use clap::Args;
use schedule::Date;
use serde::Deserialize;

use super::name::JobName;
use super::view::{second, time};
use crate::client;
use crate::page::Amount;
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable};
use crate::watch::WatchArgs;
use crate::when;

/// List the attempts of a job, newest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job history ops/report --failed")]
pub struct History {
    /// The job, as COLLECTION/JOB
    job: JobName,
    /// Only attempts that failed
    #[arg(long)]
    failed: bool,
    #[command(flatten)]
    amount: Amount<20>,
    #[command(flatten)]
    watch: WatchArgs,
}

/// An ended attempt.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryAttempt {
    start_time: Date,
    end_time: Option<Date>,
    expected_execution_time: Date,
    #[serde(default)]
    status: Option<String>,
    message: String,
    retry_count: u32,
    repeat_count: u64,
    action_name: String,
    by_hand: bool,
}

impl History {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        self.watch.each(session, async |session| self.show(session).await).await
    }

    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let status = self.failed.then(|| "failed".to_owned());
        let page = |limit: usize, cursor| {
            let limit = Some(limit.to_string());
            let parameters = [("status", status.clone()), ("limit", limit), ("cursor", cursor)];
            client::query(&self.job.path("/history"), &parameters)
        };
        let found = match self.amount.get(session, page).await {
            Ok(found) => found,
            Err(error) => return Err(self.job.explain(session, error).await),
        };
        let attempts: Vec<HistoryAttempt> = found.read()?;
        session.show_value(&found, || match attempts.as_slice() {
            [] if self.failed => "No failed attempts.\n".to_owned(),
            [] => "No attempts yet.\n".to_owned(),
            attempts => render(attempts, &session.screen) + found.hint(),
        })
    }
}

pub fn render(attempts: &[HistoryAttempt], screen: &Screen) -> String {
    let mut table = TextTable::new([
        Column::number("#"),
        Column::whole("DUE (UTC)").major(),
        Column::number("LATE").minor(),
        Column::text("WHAT"),
        Column::whole("STATUS").major(),
        Column::number("TOOK").minor(),
        Column::text("MESSAGE"),
    ])
    .indented(2);
    for attempt in attempts {
        let status = attempt.status.as_deref().unwrap_or("completed");
        let tone = if status == "completed" { Tone::Good } else { Tone::Bad };
        let took = attempt.end_time.map(|end| when::between(time(attempt.start_time), time(end)));
        // The lateness of a retry is its interval, which is not informative.
        let late = when::between(time(attempt.expected_execution_time), time(attempt.start_time));
        let late = if attempt.retry_count == 0 { late } else { String::new() };
        table.row([
            Cell::new(attempt.repeat_count.to_string()),
            Cell::new(second(attempt.expected_execution_time)),
            Cell::toned(Tone::Faint, late),
            Cell::new(what(attempt)),
            Cell::toned(tone, status),
            Cell::toned(Tone::Faint, took.unwrap_or_default()),
            Cell::new(&attempt.message),
        ]);
    }
    table.render(screen)
}

fn what(attempt: &HistoryAttempt) -> String {
    let error_action = (attempt.action_name != "MainAction").then(|| "error action".to_owned());
    let retry = (attempt.retry_count > 0).then(|| format!("retry {}", attempt.retry_count));
    let by_hand = attempt.by_hand.then(|| "manual".to_owned());
    let words: Vec<_> = [error_action, retry, by_hand].into_iter().flatten().collect();
    words.join(", ")
}
