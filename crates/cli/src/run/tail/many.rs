//! All runs: a line for each that is accepted, is parked or ends.

use std::process::ExitCode;
use std::time::Duration;

use api_types::{PartitionView, RunPage, RunSummary, Time};
use serde::Serialize;
use types::RunStatus;

use super::follow::{PollResult, RunEvent, RunTracker, TailEventKind};
use crate::client::{self, Call};
use crate::failure;
use crate::partition::Partitions;
use crate::run::{say, tone_of};
use crate::screen::{self, OutputState, Screen, Tone, cut_painted};
use crate::session::Session;
use crate::signals::Signals;
use crate::table::clean;
use crate::when;

const PAUSE: Duration = Duration::from_millis(500);
const PAGE_ITEMS: usize = 1000;
/// Per poll: 40,000 runs in half a second are more than anybody reads.
const PAGES_MAX: usize = 40;

/// Reported instead of events that could not be fetched.
#[derive(Serialize)]
struct SkippedRuns {
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u64>,
}

struct RunsTail {
    session: Session,
    workflow: Option<String>,
    status: Option<RunStatus>,
    following: RunTracker,
    partitions: Vec<PartitionView>,
}

/// Follows all runs of a workflow, or all there are, until a signal comes.
pub async fn follow(
    mut session: Session,
    workflow: Option<String>,
    status: Option<RunStatus>,
) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen()?;
    if let Some(workflow) = &workflow {
        // An unknown workflow is a typo, not one without runs.
        session.client.send(Call::get(client::path("/v1/workflows/{}", &[workflow]))).await?;
    }
    let mut tail =
        RunsTail { session, workflow, status, following: RunTracker::default(), partitions: Vec::new() };
    let following = async {
        tail.begin().await?;
        let mut away = false;
        loop {
            tokio::time::sleep(PAUSE).await;
            let text = match tail.news().await {
                Ok(text) => {
                    away = false;
                    text
                }
                Err(error) => {
                    // It may be a restart; what happens meanwhile is in the lists afterwards.
                    if !std::mem::replace(&mut away, true) {
                        eprint!("{}", failure::describe(&error));
                    }
                    continue;
                }
            };
            if screen::print_to_reader(&text)? == OutputState::Closed {
                return Ok(());
            }
        }
    };
    let ended: anyhow::Result<()> = tokio::select! {
        biased; // The signal first: it is how this ends.
        () = signals.next() => Ok(()),
        ended = following => ended,
    };
    ended.map(|()| ExitCode::SUCCESS)
}

impl RunsTail {
    async fn begin(&mut self) -> anyhow::Result<()> {
        self.partitions = self.partitions().await?;
        let first: RunPage = self.session.client.get(&self.path(None)).await?;
        let newest = first.items.iter().map(|run| run.accepted_at).max();
        self.following = RunTracker::begin(newest, &self.partitions);
        let look = self.look().await?;
        // Existing runs are not reported.
        self.following.take(look, now(), &self.partitions);
        Ok(())
    }

    /// What happened since the last time, as text.
    async fn news(&mut self) -> anyhow::Result<String> {
        let partitions = self.partitions().await?;
        self.following.mark(&partitions);
        let look = self.look().await?;
        let broken_off = look.broken_off;
        let (mut events, missing) = self.following.take(look, now(), &partitions);
        // A truncated list is not a reason to fetch each run that it does not include.
        for id in missing.iter().filter(|_| !broken_off) {
            let path = client::path("/v1/runs/{}", &[id]);
            let answer = self.session.client.try_send(Call::get(path)).await?;
            let run = match answer.status.as_u16() {
                404 => None,
                _ => Some(answer.success()?.value::<RunSummary>()?),
            };
            events.extend(self.following.resolve(id, run));
        }
        let began =
            |partitions: &[PartitionView]| partitions.iter().map(|one| one.inbox_through).sum::<u64>();
        let fresh = began(&partitions).saturating_sub(began(&self.partitions));
        let told = events.iter().filter(|event| event.what == TailEventKind::Accepted).count() as u64;
        self.partitions = partitions;
        let mut text = self.render(&events)?;
        if broken_off {
            // There are no counters for a single workflow.
            text += &self.skipped(self.workflow.is_none().then(|| fresh.saturating_sub(told)))?;
        }
        Ok(text)
    }

    /// The live runs, then the ended ones back to where all of them have been reported.
    async fn look(&mut self) -> anyhow::Result<PollResult> {
        let mut look = PollResult::default();
        let mut cursor = None;
        for _ in 0..PAGES_MAX {
            let page: RunPage = self.session.client.get(&self.path(cursor)).await?;
            for run in page.items {
                if !run.status.is_final() {
                    look.live.push(run);
                } else if run.accepted_at >= self.following.since() {
                    look.ended.push(run);
                } else {
                    return Ok(look);
                }
            }
            cursor = page.next;
            if cursor.is_none() {
                return Ok(look);
            }
        }
        look.broken_off = true;
        Ok(look)
    }

    async fn partitions(&mut self) -> anyhow::Result<Vec<PartitionView>> {
        Ok(self.session.client.get::<Partitions>("/v1/partitions").await?.items)
    }

    fn path(&self, cursor: Option<String>) -> String {
        let limit = Some(PAGE_ITEMS.to_string());
        client::query(
            "/v1/runs",
            &[("workflow", self.workflow.clone()), ("limit", limit), ("cursor", cursor)],
        )
    }

    fn render(&self, events: &[RunEvent]) -> anyhow::Result<String> {
        let screen = Screen::of_stdout();
        let mut out = String::new();
        for event in events.iter().filter(|event| self.status.is_none_or(|wanted| wanted == reached(event))) {
            if self.session.is_json() {
                out += &serde_json::to_string(event)?;
                out.push('\n');
            } else {
                out += &line(event, &screen);
            }
        }
        Ok(out)
    }

    fn skipped(&self, runs: Option<u64>) -> anyhow::Result<String> {
        if self.session.is_json() {
            return Ok(serde_json::to_string(&SkippedRuns { what: "skipped", runs })? + "\n");
        }
        Ok(match runs {
            Some(runs) => format!("… skipped {runs} runs: too many at once\n"),
            None => "… skipped runs: too many at once\n".to_owned(),
        })
    }
}

/// The status that an event brought a run to.
fn reached(event: &RunEvent) -> RunStatus {
    match event.what {
        TailEventKind::Accepted => RunStatus::Accepted,
        TailEventKind::Parked => RunStatus::Parked,
        TailEventKind::Ended => event.run.status,
    }
}

/// `12:00:05.123  completed  delivery-7  drone-delivery  7ms`
fn line(event: &RunEvent, screen: &Screen) -> String {
    let run = &event.run;
    let status = reached(event);
    let took = run.ended_at.filter(|_| event.what == TailEventKind::Ended);
    let took = took.map(|ended_at| format!("  {}", when::between(run.accepted_at, ended_at)));
    let why = run.reason.as_ref().filter(|_| event.what != TailEventKind::Accepted);
    let why = why.map(|why| format!("  {}", clean(why)));
    let at = when::moment(event.at);
    let time = at.split(' ').nth(1).unwrap_or(&at);
    let line = format!(
        "{}  {}  {}  {}{}{}",
        screen.paint(Tone::Faint, &format!("{time:12}")),
        screen.paint(tone_of(status), &format!("{:9}", say(status))),
        screen.paint(Tone::Strong, &clean(&run.id)),
        clean(&run.workflow),
        took.unwrap_or_default(),
        why.unwrap_or_default(),
    );
    screen.width.map_or_else(|| line.clone(), |width| cut_painted(&line, width)) + "\n"
}

fn now() -> Time {
    Time(when::now())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn each_event_is_a_line_that_fits() {
        let json = r#"{"id":"delivery-1","workflow":"drone-delivery","version":1,"status":"undone","key":"k",
             "accepted_at":"2026-03-01T12:00:00.000Z","ended_at":"2026-03-01T12:01:05.500Z",
             "reason":"drone was refused: 409 no drone is free"}"#;
        let run: RunSummary = serde_json::from_str(json).unwrap();
        let event = |at: &str, what| RunEvent { at: at.parse().unwrap(), what, run: run.clone() };
        let events = [
            event("2026-03-01T12:00:00.000Z", TailEventKind::Accepted),
            event("2026-03-01T12:00:30.250Z", TailEventKind::Parked),
            event("2026-03-01T12:01:05.500Z", TailEventKind::Ended),
        ];
        let text = |width| -> String {
            events.iter().map(|event| line(event, &Screen { colour: false, width })).collect()
        };
        expect![[r#"
            12:00:00.000  accepted   delivery-1  drone-delivery
            12:00:30.250  parked     delivery-1  drone-delivery  drone was refused: 409 no drone is free
            12:01:05.500  undone     delivery-1  drone-delivery  1m 05s  drone was refused: 409 no drone is free
        "#]].assert_eq(&text(None));
        expect![[r#"
            12:00:00.000  accepted   delivery-1  drone-delive…
            12:00:30.250  parked     delivery-1  drone-delive…
            12:01:05.500  undone     delivery-1  drone-delive…
        "#]]
        .assert_eq(&text(Some(50)));
    }
}
