//! `sortie job show`: one job in full, with its next firings and its last attempts.

use clap::Args;
use types::Timestamp;

use super::facts;
use super::history::{self, HistoryAttempt};
use super::list::tone_of;
use super::name::JobName;
use super::preview::{self, Firings};
use super::recurrence::plural;
use super::view::{JobItem, second};
use crate::client::{self, Call};
use crate::page::RawPage;
use crate::screen::{Screen, Tone, cut};
use crate::session::Session;
use crate::table::clean;
use crate::watch::WatchArgs;
use crate::when;

const FIRINGS: usize = 5;
const ATTEMPTS: usize = 5;

/// Show a job: what it does and when, its next firings and its last attempts
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie job show ops/report")]
pub struct Show {
    /// The job, as COLLECTION/JOB
    job: JobName,
    #[command(flatten)]
    watch: WatchArgs,
}

impl Show {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        self.watch.each(session, async |session| self.show(session).await).await
    }

    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let answer = self.job.send(session, Call::get(self.job.path(""))).await?;
        let job: JobItem = answer.value()?;
        let counted =
            |path: String, name: &str, count: usize| client::query(&path, &[(name, Some(count.to_string()))]);
        let firings = counted(self.job.path("/preview"), "count", FIRINGS);
        let firings: Firings = session.client.get(&firings).await?;
        let attempts = counted(self.job.path("/history"), "limit", ATTEMPTS);
        let attempts: RawPage = session.client.get(&attempts).await?;
        let attempts: Vec<HistoryAttempt> = attempts.read()?;
        session.show(&answer, || Ok(render(&job, &firings, &attempts, when::now(), &session.screen)))
    }
}

fn render(
    job: &JobItem,
    firings: &Firings,
    attempts: &[HistoryAttempt],
    now: Timestamp,
    screen: &Screen,
) -> String {
    let properties = &job.properties;
    let name = screen.paint(Tone::Strong, &clean(&job.full_name()));
    let state = screen.paint(tone_of(&properties.state), &clean(&properties.state));
    let mut out = format!("Job {name} is {state}\n");
    let mut lines = facts::definition(properties);
    let status = &properties.status;
    if status.execution_count > 0 {
        let last = status.last_execution_time.map(|last| format!(", last at {} UTC", second(last)));
        let counts = format!(
            "{} {}, {} failed{}",
            status.execution_count,
            plural(status.execution_count, "execution"),
            status.failure_count,
            last.unwrap_or_default()
        );
        lines.push(("so far", counts));
    }
    let beside = [
        (status.faulted_count, "failed"),
        (status.skipped, "skipped: the previous one was still running"),
        (status.missed, "missed: the server was down"),
    ];
    for (count, what) in beside.into_iter().filter(|(count, _)| *count > 0) {
        lines.push(("", format!("{count} of {} occurrences {what}", status.occurrences)));
    }
    for (label, fact) in lines {
        // User-written text may be long and is truncated; the rest never is.
        let long = matches!(label, "body" | "request" | "message" | "headers");
        let room = screen.width.filter(|_| long).map_or(usize::MAX, |width| width.max(40) - 12);
        out += &format!("  {label:8}  {}\n", cut(&clean(&fact), room));
    }
    if !firings.occurrences.is_empty() {
        let table = preview::render(firings, properties.time_zone.as_deref(), now, screen);
        out += &format!("\n{}\n{table}", screen.paint(Tone::Strong, "Next"));
    }
    if !attempts.is_empty() {
        let table = history::render(attempts, screen);
        out += &format!("\n{}\n{table}", screen.paint(Tone::Strong, "Last attempts"));
    }
    out
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_job_is_shown_with_what_comes_and_what_was() {
        let job = r#"{"collection":"ops","name":"report","properties":{"action":{"type":"Https","request":
            {"uri":"https://example.com/report","method":"POST","body":"{\"a\":1}","headers":{"X-Day":"today"},
             "authentication":{"type":"Basic","username":"ann"}},
            "errorAction":{"type":"Workflow","workflow":{"name":"notify-operator","body":{"b":2}}}},
            "recurrence":{"cron":"0 3 * * *"},"timeZone":"Europe/Berlin","overlap":"queue","jitter":"PT30S","state":"enabled",
            "status":{"executionCount":12,"failureCount":5,"faultedCount":1,"lastExecutionTime":"2026-03-28T02:00:00.123Z",
            "nextExecutionTime":"2026-03-29T01:00:00Z","occurrences":8,"skipped":0,"missed":0}}}"#;
        let firings = r#"{"occurrences":["2026-03-29T01:00:00Z","2026-03-30T01:00:00Z"],
            "clockChanges":[{"occurrence":"2026-03-29T01:00:00Z","change":"moved from 02:00, which daylight saving skips"}]}"#;
        let attempts = r#"[{"startTime":"2026-03-28T02:00:00.123Z","endTime":"2026-03-28T02:00:00.173Z",
            "expectedExecutionTime":"2026-03-28T02:00:00Z","status":"failed","message":"Http Action - 'NotFound'",
            "retryCount":1,"repeatCount":8,"actionName":"MainAction","run":"r.8","byHand":false}]"#;
        let attempts: Vec<HistoryAttempt> = serde_json::from_str(attempts).unwrap();
        let text = render(
            &serde_json::from_str(job).unwrap(),
            &serde_json::from_str(firings).unwrap(),
            &attempts,
            Timestamp(1_774_663_200_000),
            &Screen { colour: false, width: Some(100) },
        );
        expect![[r#"
            Job ops/report is enabled
              calls     POST https://example.com/report
              headers   X-Day: today
              body      {"a":1}
              auth      Basic, user ann
              schedule  every day at 03:00, Europe/Berlin
              retries   4 more times, 30s apart (default)
              on error  workflow notify-operator, {"b":2}
              overlap   queue
              jitter    up to 30s
              so far    12 executions, 5 failed, last at 2026-03-28 02:00:00 UTC
                        1 of 8 occurrences failed

            Next
              WHEN (UTC)           LOCAL                          IN  CLOCKS
              2026-03-29 01:00:00  2026-03-29 03:00:00 CEST  23h 00m  moved from 02:00, which daylight saving s…
              2026-03-30 01:00:00  2026-03-30 03:00:00 CEST   1d 23h

            Last attempts
              #  DUE (UTC)            LATE  WHAT     STATUS  TOOK  MESSAGE
              8  2026-03-28 02:00:00        retry 1  failed  50ms  Http Action - 'NotFound'
        "#]].assert_eq(&text);
    }
}
