//! A sentence that explains the status of a run.

use api_types::{MomentView, RunDetail, StepView};
use maud::{Markup, html};
use types::RunStatus;

use crate::components;

/// The sentence; the script keeps the times in it up to date.
pub(super) fn sentence(run: &RunDetail) -> Markup {
    let reason = run.summary.reason.as_deref().unwrap_or_default();
    match run.summary.status {
        RunStatus::Accepted => {
            html! { "Waiting in the inbox of partition " (run.partition) "." }
        }
        RunStatus::Queued => {
            html! { "Waiting for an earlier run with the key " code { (run.summary.key) } "." }
        }
        RunStatus::Running => progress(run),
        RunStatus::Undoing => html! { "Rolling back: " (reason) ". " (progress(run)) },
        RunStatus::Parked => html! { "Waiting for a decision: " (reason) "." },
        RunStatus::Completed => html! { "All steps are done" (decided(run)) "." },
        RunStatus::Undone => html! { "Rolled back: " (reason) (decided(run)) "." },
        RunStatus::GivenUp => html! { "Given up: " (reason) "." (given_up(run)) },
    }
}

/// What a live run waits for: calls first, then retries.
fn progress(run: &RunDetail) -> Markup {
    let calling: Vec<&StepView> = run
        .steps
        .iter()
        .filter(|step| matches!(step.state.as_str(), "running" | "undoing") && step.next_attempt_at.is_none())
        .collect();
    let waiting = run.steps.iter().filter_map(|step| Some((step, step.next_attempt_at?)));
    html! {
        @if !calling.is_empty() {
            "Waiting for the response to "
            @for (n, step) in calling.iter().enumerate() {
                @if n > 0 { ", " }
                @if step.state == "undoing" { "the undo of " }
                "step " strong { (step.name) }
                @if step.attempts > 1 { " (attempt " (step.attempts) ")" }
            }
            ". "
        }
        @for (step, at) in waiting {
            "Step " strong { (step.name) } " is waiting for its next attempt " (components::time(at))
            @if let Some(last) = last_end(run, &step.name) { " (last response: " (response(last)) ")" }
            ". "
        }
    }
}

fn last_end<'r>(run: &'r RunDetail, step: &str) -> Option<&'r MomentView> {
    let ends = run.timeline.iter().filter(|moment| moment.what == "ended");
    ends.rev().find(|moment| moment.step.as_deref() == Some(step))
}

/// A response in a few words.
fn response(end: &MomentView) -> String {
    let status = end.status.map(|status| status.to_string());
    let detail = end.detail.clone().filter(|detail| !detail.is_empty());
    let parts: Vec<String> = status.into_iter().chain(detail).collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(" ") }
}

fn decisions(run: &RunDetail) -> impl Iterator<Item = &MomentView> {
    run.timeline.iter().filter(|moment| moment.what == "decided")
}

fn decided(run: &RunDetail) -> Markup {
    let count = decisions(run).count();
    html! {
        @match count {
            0 => {},
            1 => ", after a decision",
            count => { ", after " (count) " decisions" },
        }
    }
}

fn given_up(run: &RunDetail) -> Markup {
    let last = decisions(run).last();
    html! {
        @if let Some(last) = last {
            @if let Some(by) = &last.by { " Decided by " (by) }
            @if let Some(note) = &last.note { " (“" (note) "”)" }
            "."
        }
    }
}
