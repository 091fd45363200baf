//! `sortie top`: how everything is doing, live.

mod keys;
mod page;
mod terminal;

use std::process::ExitCode;
use std::time::Duration;

use api_types::{OverviewView, RunSummary};
use clap::Args;
use serde::Deserialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use crate::client::{Answer, Call};
use crate::failure::{Failure, code_of, describe};
use crate::screen::{self, Screen};
use crate::session::Session;
use crate::signals::Signals;

use keys::{KeyCommand, Keys};
use page::{Panel, TopPage};
use terminal::Terminal;

/// Parked runs on the screen at most.
const ATTENTION: &str = "/v1/parked?limit=20";

/// Show a live overview: rates, latency, backlog, firings, services, parked runs
///
/// q quits, p pauses and resumes, tab and the arrow keys switch panels. If the output is not a
/// terminal, it is printed once; with --json as the API returns it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sortie top\n  sortie top --every 5\n  sortie top --json | jq .backlog")]
pub struct Top {
    /// Refresh after this many seconds
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = crate::watch::seconds)]
    every: Duration,
}

/// What is shown: the overview, and the newest parked runs.
#[derive(Debug, Clone)]
pub struct TopData {
    pub overview: OverviewView,
    pub attention: Vec<RunSummary>,
}

#[derive(Deserialize)]
struct ParkedSummary {
    items: Vec<RunSummary>,
}

impl Top {
    pub async fn run(self, mut session: Session) -> anyhow::Result<ExitCode> {
        let answer = overview(&mut session).await?;
        if session.is_json() {
            session.show(&answer, || unreachable!("JSON is wanted"))?;
            return Ok(ExitCode::SUCCESS);
        }
        let picture = picture(&mut session, &answer).await?;
        if screen::size().is_none() {
            let page =
                TopPage { url: session.client.url(), picture: &picture, front: Panel::Services, note: "" };
            screen::print(&page.text(&Screen::of_stdout()))?;
        } else {
            self.live(session, picture).await?;
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn live(self, mut session: Session, mut picture: TopData) -> anyhow::Result<()> {
        let mut signals = Signals::listen()?;
        let mut resized = signal(SignalKind::window_change())?;
        let mut keys = Keys::read();
        let mut terminal = Terminal::take()?;
        let mut front = Panel::Services;
        let (mut paused, mut trouble) = (false, None::<String>);
        let mut next = Instant::now() + self.every;
        loop {
            let note = match (&trouble, paused) {
                (Some(trouble), _) => trouble.as_str(),
                (None, true) => "paused; p resumes",
                (None, false) => "q quits, p pauses, tab switches panels",
            };
            let page = TopPage { url: session.client.url(), picture: &picture, front, note };
            terminal.draw(&page)?;
            tokio::select! {
                biased; // A key that quits must not wait for the poll.
                () = signals.next() => return Ok(()),
                key = keys.next() => match key {
                    KeyCommand::Quit => return Ok(()),
                    KeyCommand::Pause => paused = !paused,
                    KeyCommand::Next => front = front.next(),
                    KeyCommand::Previous => front = front.previous(),
                },
                _ = resized.recv() => {}
                () = tokio::time::sleep_until(next), if !paused => {
                    match look(&mut session).await {
                        Ok(new) => (picture, trouble) = (new, None),
                        // The last frame stays, with the error above it.
                        Err(error) => trouble = Some(describe(&error).trim_end().replace('\n', " ")),
                    }
                    next = Instant::now() + self.every;
                }
            }
        }
    }
}

async fn look(session: &mut Session) -> anyhow::Result<TopData> {
    let answer = overview(session).await?;
    picture(session, &answer).await
}

async fn picture(session: &mut Session, answer: &Answer) -> anyhow::Result<TopData> {
    let ParkedSummary { items } = session.client.get(ATTENTION).await?;
    Ok(TopData { overview: answer.value()?, attention: items })
}

async fn overview(session: &mut Session) -> anyhow::Result<Answer> {
    session.client.send(Call::get("/v1/overview")).await.map_err(|error| match code_of(&error) {
        Some("not_found") => {
            let url = session.client.url();
            Failure::No(format!("the server at {url} has no overview: it is older than this program")).into()
        }
        _ => error,
    })
}
