//! `sortie run show`: everything about one run.

#[cfg(test)]
mod tests;

use api_types::{RunDetail, StepView, Time};
use clap::Args;
use types::Timestamp;

use crate::client::{self, Call};
use crate::json::one_line;
use crate::names::NameKind;
use crate::run::{RunState, decision_commands, say, timeline, tone_of};
use crate::screen::{Screen, Tone, cut};
use crate::session::Session;
use crate::table::{Cell, Column, TextTable, clean};
use crate::watch::WatchArgs;
use crate::when;

/// Show a run: its status and reason, its steps, its timeline
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  sortie run show delivery-7")]
pub struct Show {
    /// The id of the run
    id: String,
    #[command(flatten)]
    watch: WatchArgs,
}

impl Show {
    pub async fn run(self, session: Session) -> anyhow::Result<()> {
        self.watch.each(session, async |session| self.show(session).await).await
    }

    async fn show(&self, session: &mut Session) -> anyhow::Result<()> {
        let call = Call::get(client::path("/v1/runs/{}", &[&self.id]));
        let answer = session.find(call, NameKind::Run, &self.id).await?;
        session.show(&answer, || {
            let state: RunState = answer.value()?;
            if state.is_waiting() {
                return Ok(render_waiting(&state, &session.screen));
            }
            Ok(render(&answer.value()?, when::now(), &session.program(), &session.screen))
        })
    }
}

fn render_waiting(run: &RunState, screen: &Screen) -> String {
    let place = run.partition.map(|partition| format!(" of partition {partition}")).unwrap_or_default();
    let id = screen.paint(Tone::Strong, &clean(&run.id));
    format!("Run {id} is {}\n  The request is persisted and waiting in the inbox{place}.\n", say(run.status))
}

fn render(run: &RunDetail, now: Timestamp, program: &str, screen: &Screen) -> String {
    let mut out = header(run, now, screen);
    if !run.steps.is_empty() {
        out += &format!("\n{}\n{}", screen.paint(Tone::Strong, "Steps"), steps(&run.steps, now, screen));
    }
    if !run.timeline.is_empty() {
        let timeline = timeline::render(&run.timeline, run.summary.accepted_at, screen);
        out += &format!("\n{}\n{timeline}", screen.paint(Tone::Strong, "Timeline"));
    }
    let ways = decision_commands(run, program);
    if !ways.is_empty() {
        out +=
            &format!("\n{}\n", screen.paint(Tone::Strong, "Waiting for a decision. Resolve it with one of"));
        for (command, meaning) in ways {
            out += &format!("  {command}\n    {}\n", screen.paint(Tone::Faint, &meaning));
        }
    }
    out
}

fn header(run: &RunDetail, now: Timestamp, screen: &Screen) -> String {
    let summary = &run.summary;
    let status = screen.paint(tone_of(summary.status), say(summary.status));
    let mut facts = vec![
        ("workflow", format!("{}, version {}", summary.workflow, summary.version)),
        ("accepted", accepted(summary.accepted_at, summary.ended_at, now)),
    ];
    if let Some(ended_at) = summary.ended_at {
        let took = when::between(summary.accepted_at, ended_at);
        facts.push(("ended", format!("{}, after {took}", when::moment(ended_at))));
    }
    if summary.key != summary.id {
        facts.push(("key", summary.key.clone()));
    }
    facts.push(("partition", run.partition.to_string()));
    if let Some(reason) = &summary.reason {
        facts.push(("why", reason.clone()));
    }
    if !run.open_steps.is_empty() {
        facts.push(("waits for", format!("a decision on {}", run.open_steps.join(", "))));
    }
    if let Some(request) = &run.request {
        facts.push(("request", one_line(request.get())));
    }
    let mut out = format!("Run {} is {status}\n", screen.paint(Tone::Strong, &clean(&summary.id)));
    for (label, fact) in facts {
        // The reason is never truncated: it is the most important line.
        let room = screen.width.filter(|_| label == "request").map_or(usize::MAX, |width| width.max(40) - 13);
        out += &format!("  {label:9}  {}\n", cut(&clean(&fact), room));
    }
    out
}

fn accepted(at: Time, ended_at: Option<Time>, now: Timestamp) -> String {
    match ended_at {
        Some(_) => when::moment(at),
        None => format!("{}, {} ago", when::moment(at), when::between(at, Time(now))),
    }
}

fn steps(steps: &[StepView], now: Timestamp, screen: &Screen) -> String {
    let mut table = TextTable::new([
        Column::whole("STEP"),
        Column::whole("STATE"),
        Column::text("BY"),
        Column::number("ATTEMPTS"),
        Column::text("WHY"),
        Column::text("OUTPUT"),
    ])
    .indented(2);
    for step in steps {
        let next = step.next_attempt_at.map(|at| format!("retry in {}", when::between(Time(now), at)));
        let why: Vec<String> = step.reason.clone().into_iter().chain(next).collect();
        // A step is normally done by its own call: only other ways are shown.
        let by = step.by.as_deref().filter(|by| *by != "call").unwrap_or_default();
        table.row([
            Cell::new(&step.name),
            Cell::toned(step_tone(&step.state), step.state.replace('_', " ")),
            Cell::new(by),
            Cell::new(step.attempts.to_string()),
            Cell::new(why.join("; ")),
            Cell::toned(
                Tone::Faint,
                step.output.as_ref().map_or(String::new(), |output| one_line(output.get())),
            ),
        ]);
    }
    table.render(screen)
}

fn step_tone(state: &str) -> Tone {
    match state {
        "done" => Tone::Good,
        "retrying" | "undoing" | "undone" | "unknown" => Tone::Attention,
        "refused" | "failed" | "undo_failed" => Tone::Bad,
        "waiting" => Tone::Faint,
        _ => Tone::Plain,
    }
}
