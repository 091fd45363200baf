//! `sortie run`: start, inspect, cancel and resolve runs.

mod cancel;
mod decide;
mod give_up;
mod list;
mod resolve;
mod retry;
mod show;
mod start;
mod tail;
mod timeline;
mod wait;

use std::process::ExitCode;

use clap::Subcommand;
use serde::Deserialize;
use serde::de::IgnoredAny;
use types::RunStatus;

pub use decide::decision_commands;
pub use wait::until_ended;

use crate::screen::Tone;
use crate::session::Session;

/// Start, inspect, cancel and resolve runs
#[derive(Debug, Subcommand)]
pub enum RunCommand {
    Start(start::StartRun),
    List(list::List),
    Show(show::Show),
    Wait(wait::Wait),
    Tail(tail::TailArgs),
    Cancel(cancel::Cancel),
    Retry(retry::Retry),
    Resolve(resolve::Resolve),
    GiveUp(give_up::GiveUp),
}

impl RunCommand {
    pub async fn run(self, session: Session) -> anyhow::Result<ExitCode> {
        match self {
            RunCommand::Start(start) => return start.run(session).await,
            RunCommand::List(list) => list.run(session).await?,
            RunCommand::Show(show) => show.run(session).await?,
            RunCommand::Wait(wait) => return wait.run(session).await,
            RunCommand::Tail(tail) => return tail.run(session).await,
            RunCommand::Cancel(cancel) => cancel.run(session).await?,
            RunCommand::Retry(retry) => retry.run(session).await?,
            RunCommand::Resolve(resolve) => resolve.run(session).await?,
            RunCommand::GiveUp(give_up) => give_up.run(session).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The state of a run, as in every response, including that of a request still waiting in the inbox.
#[derive(Debug, Deserialize)]
pub struct RunState {
    pub id: String,
    pub status: RunStatus,
    #[serde(default)]
    partition: Option<u16>,
    #[serde(default)]
    timeline: Option<IgnoredAny>,
}

impl RunState {
    /// Whether the request is still in the inbox.
    pub fn is_waiting(&self) -> bool {
        self.timeline.is_none()
    }
}

/// The colour of a status.
pub fn tone_of(status: RunStatus) -> Tone {
    match status {
        RunStatus::Completed => Tone::Good,
        RunStatus::Undone | RunStatus::Undoing => Tone::Attention,
        RunStatus::Parked | RunStatus::GivenUp => Tone::Bad,
        RunStatus::Accepted | RunStatus::Queued | RunStatus::Running => Tone::Plain,
    }
}

/// A status as text.
pub fn say(status: RunStatus) -> &'static str {
    match status {
        RunStatus::GivenUp => "given up",
        other => other.as_str(),
    }
}
