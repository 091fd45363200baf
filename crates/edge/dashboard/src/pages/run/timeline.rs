//! Everything that befell a run, oldest first, with who and why.

use api_types::MomentView;
use maud::{Markup, html};

use crate::pieces;

/// Moments on the page; older ones are in the raw JSON.
const ROWS_MAX: usize = 200;

pub(super) fn list(timeline: &[MomentView]) -> Markup {
    let left_out = timeline.len().saturating_sub(ROWS_MAX);
    html! {
        h2 { "Timeline" }
        @if left_out > 0 {
            p.quiet { (pieces::count(left_out as u64)) " older moments are in the raw JSON." }
        }
        ol.timeline {
            @for moment in timeline.iter().skip(left_out) {
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
        @if let Some(outcome) = &moment.outcome { " " (pieces::badge(outcome)) }
        @if let Some(status) = moment.status { " " (status) }
        @if let Some(detail) = &moment.detail {
            // What was decided is a word of ours; all else is text of others.
            " " @if moment.what == "decided" { (detail.replace('_', " ")) } @else { (detail) }
        }
        @if let Some(by) = &moment.by { ", by " (by) }
        @if let Some(note) = &moment.note { ": “" (note) "”" }
        @if let Some(retry_at) = moment.retry_at {
            ", next attempt at " span.exact { (clock(&retry_at.to_string())) }
        }
    }
}

/// What befell, as people say it.
pub(super) fn words(what: &str) -> &str {
    match what {
        "cancel_asked" => "cancel asked for",
        "undoing" => "turned back",
        "given_up" => "given up",
        other => other,
    }
}

/// The exact time without its zone, which is UTC everywhere.
fn clock(text: &str) -> String {
    text.replacen('T', " ", 1).trim_end_matches('Z').to_owned()
}
