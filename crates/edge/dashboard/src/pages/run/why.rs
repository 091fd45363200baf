//! Why a run stands where it stands, in a sentence.

use api_types::{MomentView, RunDetail, StepView};
use maud::{Markup, html};
use types::RunStatus;

use crate::pieces;

/// The sentence; moments in it are kept up to date by the script.
pub(super) fn sentence(run: &RunDetail) -> Markup {
    let reason = run.summary.reason.as_deref().unwrap_or_default();
    match run.summary.status {
        RunStatus::Accepted => {
            html! { "It waits in the inbox of partition " (run.partition) " until it is taken." }
        }
        RunStatus::Queued => {
            html! { "It waits for an earlier run with the key " code { (run.summary.key) } "." }
        }
        RunStatus::Running => under_way(run),
        RunStatus::Undoing => html! { "It turns back: " (reason) ". " (under_way(run)) },
        RunStatus::Parked => html! { "It waits for a person's decision: " (reason) "." },
        RunStatus::Completed => html! { "Every step is done" (decided(run)) "." },
        RunStatus::Undone => html! { "It was taken back: " (reason) (decided(run)) "." },
        RunStatus::GivenUp => html! { "It was left as it is: " (reason) (given_up(run)) "." },
    }
}

/// What a run that goes on waits for: calls first, then retries.
fn under_way(run: &RunDetail) -> Markup {
    let calling: Vec<&StepView> = run
        .steps
        .iter()
        .filter(|step| matches!(step.state.as_str(), "running" | "undoing") && step.next_attempt_at.is_none())
        .collect();
    let waiting = run.steps.iter().filter_map(|step| Some((step, step.next_attempt_at?)));
    html! {
        @if !calling.is_empty() {
            "It waits for the answer to "
            @for (n, step) in calling.iter().enumerate() {
                @if n > 0 { ", " }
                @if step.state == "undoing" { "the undo of " }
                "step " strong { (step.name) }
                @if step.attempts > 1 { " (attempt " (step.attempts) ")" }
            }
            ". "
        }
        @for (step, at) in waiting {
            "It waits for step " strong { (step.name) }
            @if let Some(last) = last_end(run, &step.name) { ": " (answer(last)) }
            ", next attempt " (pieces::time(at)) ". "
        }
    }
}

fn last_end<'r>(run: &'r RunDetail, step: &str) -> Option<&'r MomentView> {
    let ends = run.timeline.iter().filter(|moment| moment.what == "ended");
    ends.rev().find(|moment| moment.step.as_deref() == Some(step))
}

/// What came back, in a few words.
fn answer(end: &MomentView) -> String {
    let status = end.status.map(|status| status.to_string());
    let detail = end.detail.clone().filter(|detail| !detail.is_empty());
    let parts: Vec<String> = status.into_iter().chain(detail).collect();
    if parts.is_empty() { "no answer".to_owned() } else { parts.join(" ") }
}

fn decisions(run: &RunDetail) -> impl Iterator<Item = &MomentView> {
    run.timeline.iter().filter(|moment| moment.what == "decided")
}

fn decided(run: &RunDetail) -> Markup {
    let count = decisions(run).count();
    html! {
        @match count {
            0 => {},
            1 => ", after a person's decision",
            count => { ", after " (count) " decisions of people" },
        }
    }
}

fn given_up(run: &RunDetail) -> Markup {
    let last = decisions(run).last();
    html! {
        @if let Some(last) = last {
            @if let Some(by) = &last.by { ", decided by " (by) }
            @if let Some(note) = &last.note { " (“" (note) "”)" }
        }
    }
}
