//! One run: the events of its timeline, live.

use std::process::ExitCode;
use std::time::Duration;

use api_types::{MomentView, RunDetail, Time};
use serde::Serialize;
use types::RunStatus;

use crate::client::{self, Call};
use crate::failure::code;
use crate::names::NameKind;
use crate::run::{RunState, decision_commands, say, timeline};
use crate::screen::{self, OutputState, Screen, Tone, cut_painted};
use crate::session::Session;
use crate::signals::Signals;
use crate::table::clean;
use crate::when;

/// Short after something happened, longer while nothing does.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A moment as JSON: the API's, with the run.
#[derive(Serialize)]
struct StepEvent<'a> {
    run: &'a str,
    #[serde(flatten)]
    moment: &'a MomentView,
}

/// Follows a run until it ends.
pub async fn follow(mut session: Session, id: &str) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        biased; // An end counts, even if a signal arrived at the same time.
        ended = until_ended(&mut session, id) => ended,
        () = signals.next() => Ok(ExitCode::from(code::INTERRUPTED)),
    }
}

async fn until_ended(session: &mut Session, id: &str) -> anyhow::Result<ExitCode> {
    let path = client::path("/v1/runs/{}", &[id]);
    let mut told = PrintedMoments::default();
    let mut pause = PAUSE_FIRST;
    loop {
        let answer = session.find(Call::get(path.clone()), NameKind::Run, id).await?;
        let state: RunState = answer.value()?;
        let mut text = String::new();
        if !state.is_waiting() {
            text = told.news(&answer.value()?, session)?;
        }
        pause = if text.is_empty() { (pause * 2).min(PAUSE_MAX) } else { PAUSE_FIRST };
        if screen::print_to_reader(&text)? == OutputState::Closed {
            return Ok(ExitCode::SUCCESS);
        }
        match state.status {
            RunStatus::Completed => return Ok(ExitCode::SUCCESS),
            RunStatus::Undone => return Ok(ExitCode::from(code::UNDONE)),
            RunStatus::GivenUp => return Ok(ExitCode::from(code::GIVEN_UP)),
            RunStatus::Accepted
            | RunStatus::Queued
            | RunStatus::Running
            | RunStatus::Undoing
            | RunStatus::Parked => tokio::time::sleep(pause).await,
        }
    }
}

/// The part of a run that has been printed.
#[derive(Default)]
struct PrintedMoments {
    moments: usize,
}

impl PrintedMoments {
    /// What is new since the last poll.
    fn news(&mut self, run: &RunDetail, session: &Session) -> anyhow::Result<String> {
        let screen = Screen::of_stdout();
        let first = self.moments == 0;
        let from = std::mem::replace(&mut self.moments, run.timeline.len());
        let mut out = String::new();
        if first && !session.is_json() {
            let id = screen.paint(Tone::Strong, &clean(&run.summary.id));
            out += &format!("Run {id} of {}, {}\n", clean(&run.summary.workflow), say(run.summary.status));
        }
        for moment in run.timeline.iter().skip(from) {
            if session.is_json() {
                out += &serde_json::to_string(&StepEvent { run: &run.summary.id, moment })?;
                out.push('\n');
                continue;
            }
            out += &line(moment, run.summary.accepted_at, &screen);
            if moment.what == "parked" && run.summary.status == RunStatus::Parked {
                for (command, meaning) in decision_commands(run, &session.program()) {
                    out += &format!("          {command}  {}\n", screen.paint(Tone::Faint, &meaning));
                }
            }
        }
        Ok(out)
    }
}

/// `    12ms  drone      call #2  transient 503: no drone; retry in 1.00s`
fn line(moment: &MomentView, accepted_at: Time, screen: &Screen) -> String {
    let after = screen.paint(Tone::Faint, &format!("{:>8}", when::between(accepted_at, moment.at)));
    let (what, came_to, tone) = timeline::describe(moment);
    let step = clean(moment.step.as_deref().unwrap_or_default());
    let came_to = screen.paint(tone, &clean(&came_to));
    let line = format!("{after}  {step:12}  {what:14}  {came_to}");
    let line = screen.width.map_or_else(|| line.clone(), |width| cut_painted(&line, width));
    line.trim_end().to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn each_moment_is_a_line() {
        let json = r#"[{"at":"2026-03-01T12:00:00.000Z","what":"accepted"},
            {"at":"2026-03-01T12:00:00.002Z","what":"started","step":"drone","work":"do","attempt":1},
            {"at":"2026-03-01T12:00:00.014Z","what":"ended","step":"drone","work":"do","attempt":1,
             "outcome":"transient","status":503,"detail":"no drone is free","retry_at":"2026-03-01T12:00:01.014Z"},
            {"at":"2026-03-01T12:00:01.014Z","what":"started","step":"drone","work":"do","attempt":2},
            {"at":"2026-03-01T12:00:01.020Z","what":"ended","step":"drone","work":"do","attempt":2,
             "outcome":"done","status":201},
            {"at":"2026-03-01T12:00:01.020Z","what":"completed"}]"#;
        let moments: Vec<MomentView> = serde_json::from_str(json).unwrap();
        let screen = Screen { colour: false, width: Some(60) };
        // Each line begins with spaces, which must not be taken for the indentation of this text.
        let lines = moments.iter().map(|moment| format!("|{}", line(moment, moments[0].at, &screen)));
        expect![[r#"
            |     0ms                accepted
            |     2ms  drone         call            …
            |    14ms  drone         call            transient 503: no d…
            |   1.01s  drone         call #2         …
            |   1.02s  drone         call #2         done 201
            |   1.02s                completed
        "#]]
        .assert_eq(&lines.collect::<String>());
    }
}
