//! `sortie job history`: the attempts of a job, newest first.

use clap::Args;
use jobs::Date;
use serde::Deserialize;

use super::place::Place;
use super::view::{RawPage, second, time};
use crate::client::{self, Call};
use crate::screen::{Screen, Tone};
use crate::session::Session;
use crate::table::{Cell, Column, Table};
use crate::when;

/// List the attempts of a job, newest first
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job history ops/report --failed")]
pub struct History {
    /// The job, as COLLECTION/JOB
    job: Place,
    /// Only attempts that failed
    #[arg(long)]
    failed: bool,
    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

/// One attempt that has ended.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
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
    pub async fn run(self, mut session: Session) -> anyhow::Result<()> {
        let status = self.failed.then(|| "failed".to_owned());
        let parameters = [("status", status), ("limit", Some(self.limit.to_string()))];
        let program = session.program();
        let answer =
            session.client.send(Call::get(client::query(&self.job.path("/history"), &parameters))).await;
        let answer = answer.map_err(|error| self.job.explain(error, &program))?;
        session.show(&answer, || {
            let page: RawPage = answer.value()?;
            let attempts: Vec<Attempt> = page.read()?;
            let more =
                if page.next.is_some() { "There are more; see them with a larger --limit.\n" } else { "" };
            Ok(match attempts.as_slice() {
                [] if self.failed => "No attempt has failed.\n".to_owned(),
                [] => "It has not run yet.\n".to_owned(),
                attempts => render(attempts, &session.screen) + more,
            })
        })
    }
}

pub fn render(attempts: &[Attempt], screen: &Screen) -> String {
    let mut table = Table::new([
        Column::number("#"),
        Column::whole("DUE (UTC)"),
        Column::number("LATE"),
        Column::text("WHAT"),
        Column::whole("STATUS"),
        Column::number("TOOK"),
        Column::text("MESSAGE"),
    ])
    .indented(2);
    for attempt in attempts {
        let status = attempt.status.as_deref().unwrap_or("completed");
        let tone = if status == "completed" { Tone::Good } else { Tone::Bad };
        let took = attempt.end_time.map(|end| when::between(time(attempt.start_time), time(end)));
        // A retry is late by its interval, which says nothing.
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

fn what(attempt: &Attempt) -> String {
    let error_action = (attempt.action_name != "MainAction").then(|| "error action".to_owned());
    let retry = (attempt.retry_count > 0).then(|| format!("retry {}", attempt.retry_count));
    let by_hand = attempt.by_hand.then(|| "by hand".to_owned());
    let words: Vec<_> = [error_action, retry, by_hand].into_iter().flatten().collect();
    words.join(", ")
}
