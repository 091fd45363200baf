//! A run's timeline as a table: one line per attempt, from its start to its outcome.

use api_types::{MomentView, Time};
use types::WorkKind;

use crate::screen::{Screen, Tone};
use crate::table::{Cell, Column, TextTable};
use crate::when;

/// One line of a timeline.
struct TimelineLine<'a> {
    at: Time,
    step: &'a str,
    what: String,
    came_to: String,
    tone: Tone,
    took: Option<String>,
    /// The attempt that this line is about: step, work and number.
    attempt: Option<AttemptKey<'a>>,
}

type AttemptKey<'a> = (Option<&'a str>, Option<&'a str>, Option<u32>);

/// The timeline as a table, with times since `accepted_at`.
pub fn render(moments: &[MomentView], accepted_at: Time, screen: &Screen) -> String {
    let mut table = TextTable::new([
        Column::number("AFTER"),
        Column::text("STEP").major(),
        Column::whole("WHAT").major(),
        Column::text("OUTCOME"),
        Column::number("TOOK").minor(),
    ])
    .indented(2);
    for line in lines(moments) {
        table.row([
            Cell::toned(Tone::Faint, when::between(accepted_at, line.at)),
            Cell::new(line.step),
            Cell::new(line.what),
            Cell::toned(line.tone, line.came_to),
            Cell::toned(Tone::Faint, line.took.unwrap_or_default()),
        ]);
    }
    table.render(screen)
}

fn lines(moments: &[MomentView]) -> Vec<TimelineLine<'_>> {
    let mut lines: Vec<TimelineLine> = Vec::new();
    for moment in moments {
        let attempt = (moment.step.as_deref(), moment.work.as_deref(), moment.attempt);
        match moment.what.as_str() {
            "started" => lines.push(started(moment, attempt)),
            "ended" => {
                let begun = lines.iter_mut().rev().find(|line| line.attempt == Some(attempt));
                match begun {
                    Some(line) => end(line, moment),
                    None => {
                        let mut line = started(moment, attempt);
                        end(&mut line, moment);
                        line.took = None;
                        lines.push(line);
                    }
                }
            }
            _ => lines.push(other(moment)),
        }
    }
    lines
}

/// The text, outcome and colour of a single event.
pub fn describe(moment: &MomentView) -> (String, String, Tone) {
    match moment.what.as_str() {
        "started" => (work(moment), "…".to_owned(), Tone::Faint),
        "ended" => {
            let (came_to, tone) = outcome(moment);
            (work(moment), came_to, tone)
        }
        _ => {
            let line = other(moment);
            (line.what, line.came_to, line.tone)
        }
    }
}

/// `call`, `undo #2`
fn work(moment: &MomentView) -> String {
    let work = match (moment.work.as_deref(), moment.work.as_deref().and_then(WorkKind::parse)) {
        (None, _) | (_, Some(WorkKind::Do)) => "call".to_owned(),
        (_, Some(WorkKind::DoInstead)) => "call instead".to_owned(),
        (Some(work), _) => work.replace('_', " "),
    };
    match moment.attempt {
        Some(number) if number > 1 => format!("{work} #{number}"),
        _ => work,
    }
}

fn started<'a>(moment: &'a MomentView, attempt: AttemptKey<'a>) -> TimelineLine<'a> {
    TimelineLine {
        at: moment.at,
        step: moment.step.as_deref().unwrap_or_default(),
        what: work(moment),
        came_to: "in progress".to_owned(),
        tone: Tone::Attention,
        took: None,
        attempt: Some(attempt),
    }
}

fn end(line: &mut TimelineLine<'_>, moment: &MomentView) {
    (line.came_to, line.tone) = outcome(moment);
    line.took = Some(when::between(line.at, moment.at));
}

fn outcome(moment: &MomentView) -> (String, Tone) {
    let outcome = moment.outcome.as_deref().unwrap_or("ended");
    let mut came_to = outcome.to_owned();
    if let Some(status) = moment.status {
        came_to += &format!(" {status}");
    }
    if let Some(detail) = &moment.detail {
        came_to += &format!(": {detail}");
    }
    if let Some(retry_at) = moment.retry_at {
        came_to += &format!("; retry in {}", when::between(moment.at, retry_at));
    }
    let tone = match outcome {
        "done" => Tone::Good,
        "transient" | "unknown" => Tone::Attention,
        _ => Tone::Bad,
    };
    (came_to, tone)
}

fn other(moment: &MomentView) -> TimelineLine<'_> {
    let detail = moment.detail.clone().map(|detail| match moment.what.as_str() {
        "decided" => detail.replace('_', " "),
        _ => detail,
    });
    let words = [detail, moment.by.as_ref().map(|by| format!("by {by}"))];
    let words: Vec<String> = words.into_iter().flatten().collect();
    let note = moment.note.as_ref().filter(|note| !note.is_empty()).map(|note| format!(": {note}"));
    let tone = match moment.what.as_str() {
        "completed" => Tone::Good,
        "undoing" | "undone" | "cancel_asked" | "overdue" => Tone::Attention,
        "parked" | "given_up" => Tone::Bad,
        _ => Tone::Plain,
    };
    TimelineLine {
        at: moment.at,
        step: moment.step.as_deref().unwrap_or_default(),
        what: moment.what.replace('_', " "),
        came_to: words.join(" ") + &note.unwrap_or_default(),
        tone,
        took: None,
        attempt: None,
    }
}
