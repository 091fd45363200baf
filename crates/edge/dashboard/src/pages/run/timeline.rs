//! The timeline of a run, oldest first, with users and notes.

use api_types::MomentView;
use maud::{Markup, html};

use crate::components;

/// Events on the page; older ones are only in the raw JSON.
const ROWS_MAX: usize = 200;

pub(super) fn list(timeline: &[MomentView]) -> Markup {
    let omitted = timeline.len().saturating_sub(ROWS_MAX);
    html! {
        h2 { "Timeline" }
        @if omitted > 0 {
            p.quiet { (components::count(omitted as u64)) " older events are in the raw JSON." }
        }
        ol.timeline {
            @for moment in timeline.iter().skip(omitted) {
                li class=(moment.what) {
                    span.quiet.exact { (clock(&moment.at.to_string())) }
                    " " (line(moment))
                }
            }
        }
    }
}

fn line(moment: &MomentView) -> Markup {
    let work = moment.work.as_deref().map(|work| work.replace('_', " "));
    html! {
        strong { (words(&moment.what)) }
        @if let Some(step) = &moment.step { " " span.id { (step) } }
        @if let Some(work) = work.filter(|work| work != "do") { " (" (work) ")" }
        @if let Some(attempt) = moment.attempt { ", attempt " (attempt) }
        @if let Some(outcome) = &moment.outcome { " " (components::badge(outcome)) }
        @if let Some(status) = moment.status { " " (status) }
        @if let Some(detail) = &moment.detail {
            // The name of a decision is ours; every other detail is untrusted text.
            " " @if moment.what == "decided" { (detail.replace('_', " ")) } @else { (detail) }
        }
        @if let Some(by) = &moment.by { ", by " (by) }
        @if let Some(note) = &moment.note { ": “" (note) "”" }
        @if let Some(retry_at) = moment.retry_at {
            ", next attempt at " span.exact { (clock(&retry_at.to_string())) }
        }
    }
}

/// The name of an event, for people.
pub(super) fn words(what: &str) -> &str {
    match what {
        "cancel_asked" => "cancel requested",
        "undoing" => "rolling back",
        "given_up" => "given up",
        other => other,
    }
}

/// The exact time without the zone, which is always UTC.
fn clock(text: &str) -> String {
    text.replacen('T', " ", 1).trim_end_matches('Z').to_owned()
}
