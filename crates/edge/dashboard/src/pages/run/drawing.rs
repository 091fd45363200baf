//! Renders the waterfall: bars with descriptions for screen readers, and the same data as a table.

use api_types::RunDetail;
use maud::{Markup, html};
use types::Timestamp;

use super::waterfall::{
    AttemptOutcome, AttemptRecord, Bar, Lane, RunMarker, StepRow, Waterfall, attempts, layout,
};
use super::{state, step_path, timeline};
use crate::components;

const LANE_HEIGHT: usize = 16;
const MARK_ROOM_MIN: f64 = 16.0;
/// In percent of the axis; letters are narrower on wide screens.
const LETTER_WIDTH: f64 = 1.4;
/// Attempts in the table; older ones are only in the raw JSON.
const TABLE_ROWS_MAX: usize = 200;

/// The whole figure at `now`.
pub(super) fn draw(run: &RunDetail, now: Timestamp) -> Markup {
    if run.steps.is_empty() {
        return html! {};
    }
    let laid = layout(run, now);
    html! {
        section aria-label="Steps over time" {
            h2 { "Steps" }
            div.waterfall {
                (axis(&laid))
                @for (row, step) in laid.rows.iter().zip(&run.steps) {
                    div.wf-row {
                        div.wf-step {
                            a href=(step_path(&run.summary.id, &row.step, None)) { (row.step) }
                            " " (components::badge(state(run, step)))
                        }
                        (bars(row, &laid))
                        @if let Some(reason) = &step.reason { div.wf-why { (reason) } }
                    }
                }
            }
            (legend())
            (table(run))
        }
    }
}

fn axis(laid: &Waterfall) -> Markup {
    html! {
        div.wf-row.wf-axis {
            div.wf-step.quiet { "since acceptance" }
            svg height="18" aria-hidden="true" {
                @for tick in &laid.ticks {
                    text x={ (percent(tick.x)) } y="13" text-anchor=(anchor(tick.x)) { (tick.label) }
                }
            }
        }
        @if !laid.marks.is_empty() {
            div.wf-row.wf-marks {
                div.wf-step.quiet { "run events" }
                svg height="18" role="img" aria-label=(marks_in_words(laid)) {
                    @for mark in &laid.marks {
                        g {
                            title { (timeline::words(&mark.what)) " at " (api_types::Time(mark.at)) }
                            circle cx=(percent(mark.x)) cy="9" r="4" class=(mark.what) {}
                        }
                    }
                    @for label in mark_labels(&laid.marks) {
                        text x=(percent(label.x)) y="13" text-anchor=(label.anchor) { (label.text) }
                    }
                }
            }
        }
    }
}

/// The label of one or more marks.
#[derive(Debug, PartialEq)]
struct MarkLabel {
    x: f64,
    anchor: &'static str,
    text: String,
}

/// A label for every mark; marks that are too close together share one. It is to the right of its marks, or to the
/// left if there is no room.
fn mark_labels(marks: &[RunMarker]) -> Vec<MarkLabel> {
    let crowds: Vec<&[RunMarker]> = marks.chunk_by(|a, b| b.x - a.x <= MARK_ROOM_MIN).collect();
    // From right to left: a label to the left of its marks takes room from earlier marks.
    let mut until = 100.0;
    let label = |crowd: &&[RunMarker]| {
        let (first, last) = (crowd.first()?.x, crowd.last()?.x);
        let text = crowd_in_words(crowd);
        let width = text.chars().count() as f64 * LETTER_WIDTH;
        let fits_right = until - last > width;
        let (x, anchor) = if fits_right { (last + 1.0, "start") } else { (first - 1.0, "end") };
        until = if fits_right { first } else { first - width };
        Some(MarkLabel { x, anchor, text })
    };
    crowds.iter().rev().filter_map(label).collect()
}

fn crowd_in_words(crowd: &[RunMarker]) -> String {
    let words = |mark: &RunMarker| timeline::words(&mark.what).to_owned();
    match crowd {
        [first, .., last] if crowd.len() > 2 => format!("{} … {}", words(first), words(last)),
        all => all.iter().map(words).collect::<Vec<_>>().join(", "),
    }
}

fn marks_in_words(laid: &Waterfall) -> String {
    let words: Vec<String> = laid.marks.iter().map(|mark| timeline::words(&mark.what).to_owned()).collect();
    words.join(", then ")
}

fn bars(row: &StepRow, laid: &Waterfall) -> Markup {
    let has_undo = row.bars.iter().any(|bar| bar.lane == Lane::Undo);
    let height = if has_undo { 2 * LANE_HEIGHT } else { LANE_HEIGHT };
    html! {
        svg height=(height) role="img" aria-label=(row_in_words(row)) {
            @for tick in &laid.ticks {
                line.tick x1=(percent(tick.x)) x2=(percent(tick.x)) y1="0" y2=(height) {}
            }
            @for gap in &row.gaps {
                @let y = top(gap.lane) + LANE_HEIGHT / 2;
                line.gap x1=(percent(gap.x)) x2=(percent(gap.x + gap.width)) y1=(y) y2=(y) {}
            }
            @for bar in &row.bars { (draw_bar(bar)) }
        }
    }
}

fn draw_bar(bar: &Bar) -> Markup {
    let y = top(bar.lane) + 2;
    // The symbol is to the right of the bar, or to the left if the bar reaches the end of the axis.
    let (x, anchor) =
        if bar.x + bar.width > 95.0 { (bar.x - 0.4, "end") } else { (bar.x + bar.width + 0.4, "start") };
    html! {
        g class={ "bar " (bar.lane.word()) " " (bar.end.word()) } {
            title { (bar_in_words(bar)) }
            rect x=(percent(bar.x)) width=(percent(bar.width)) y=(y) height=(LANE_HEIGHT - 4) rx="2" {}
            text x=(percent(x)) y=(y + LANE_HEIGHT - 6) text-anchor=(anchor) {
                (sign(bar.end))
                @if bar.attempts.len() > 1 { "×" (bar.attempts.len()) }
            }
        }
    }
}

fn top(lane: Lane) -> usize {
    match lane {
        Lane::Do | Lane::Alternative => 0,
        Lane::Undo => LANE_HEIGHT,
    }
}

fn sign(end: AttemptOutcome) -> &'static str {
    match end {
        AttemptOutcome::Running => "…",
        AttemptOutcome::Done => "✓",
        AttemptOutcome::Refused => "✕",
        AttemptOutcome::Transient => "↻",
        AttemptOutcome::Unknown => "?",
    }
}

fn percent(x: f64) -> String {
    format!("{x:.2}%")
}

/// Keeps labels at the ends inside the figure.
fn anchor(x: f64) -> &'static str {
    match x {
        x if x < 3.0 => "start",
        x if x > 96.0 => "end",
        _ => "middle",
    }
}

fn row_in_words(row: &StepRow) -> String {
    if row.bars.is_empty() {
        return format!("{}: not started", row.step);
    }
    let bars: Vec<String> = row.bars.iter().map(bar_in_words).collect();
    format!("{}: {}", row.step, bars.join("; then "))
}

fn bar_in_words(bar: &Bar) -> String {
    match bar.attempts.as_slice() {
        [attempt] => attempt_in_words(attempt),
        [first, .., last] => {
            format!(
                "attempts {} to {} of {}, close together; last one: {}",
                first.number,
                last.number,
                bar.lane.word(),
                attempt_in_words(last)
            )
        }
        [] => String::new(),
    }
}

fn attempt_in_words(attempt: &AttemptRecord) -> String {
    let mut words = format!("attempt {} of {}: ", attempt.number, attempt.work.replace('_', " "));
    words.push_str(attempt.end.word());
    if let Some(status) = attempt.status {
        words.push_str(&format!(", {status}"));
    }
    if let Some(detail) = &attempt.detail {
        words.push_str(&format!(", {detail}"));
    }
    if let Some(ended) = attempt.ended {
        words.push_str(&format!(", took {}", span(attempt.began, ended)));
        if let Some(retry_at) = attempt.retry_at {
            words.push_str(&format!("; next attempt after {}", span(ended, retry_at)));
        }
    }
    words
}

fn span(from: Timestamp, to: Timestamp) -> String {
    components::span((to.0 - from.0).max(0) as f64)
}

fn legend() -> Markup {
    html! {
        p.wf-legend.quiet {
            "✓ done  ✕ refused  ↻ transient failure, retried  ? unknown  … in progress; "
            "upper row: do, lower row: undo; dashed line: waiting for the next attempt"
        }
    }
}

fn table(run: &RunDetail) -> Markup {
    let attempts = attempts(&run.timeline);
    let omitted = attempts.len().saturating_sub(TABLE_ROWS_MAX);
    html! {
        details #attempts {
            summary { "Attempts as a table (" (components::count(attempts.len() as u64)) ")" }
            @if omitted > 0 { p.quiet { (components::count(omitted as u64)) " older attempts are in the raw JSON." } }
            div.scroll tabindex="0" role="region" aria-label="Attempts" {
                table {
                    thead { tr {
                        th { "Step" } th { "Work" } th.number { "Attempt" } th { "Started" } th.number { "Duration" }
                        th { "Outcome" } th { "Response" } th.number { "Retry after" }
                    } }
                    tbody {
                        @for attempt in attempts.iter().skip(omitted) { (table_row(run, attempt)) }
                    }
                }
            }
        }
    }
}

fn table_row(run: &RunDetail, attempt: &AttemptRecord) -> Markup {
    let took = attempt.ended.map(|ended| span(attempt.began, ended));
    let waited = attempt.ended.zip(attempt.retry_at).map(|(ended, retry_at)| span(ended, retry_at));
    html! {
        tr {
            td { a href=(step_path(&run.summary.id, &attempt.step, Some(&attempt.work))) { (attempt.step) } }
            td { (attempt.work.replace('_', " ")) }
            td.number { (attempt.number) }
            td { (components::time(api_types::Time(attempt.began))) }
            td.number { (took.unwrap_or_default()) }
            td { (components::badge(attempt.end.word())) }
            td.why {
                @if let Some(status) = attempt.status { (status) " " }
                (attempt.detail.as_deref().unwrap_or_default())
            }
            td.number { (waited.unwrap_or_default()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_has_its_word_and_none_stands_on_another() {
        let labels = |marks: &[(f64, &str)]| {
            let marks =
                marks.iter().map(|(x, what)| RunMarker { x: *x, what: (*what).to_owned(), at: Timestamp(0) });
            let marks: Vec<RunMarker> = marks.collect();
            let labels = mark_labels(&marks).into_iter().rev();
            labels.map(|label| format!("{:.0} {} {}", label.x, label.anchor, label.text)).collect::<Vec<_>>()
        };
        assert_eq!(
            labels(&[(10.0, "undoing"), (100.0, "parked")]),
            ["11 start rolling back", "99 end parked"]
        );
        assert_eq!(labels(&[(90.0, "undoing"), (100.0, "parked")]), ["89 end rolling back, parked"]);
        // A label to the left of its mark takes room from the mark before it.
        assert_eq!(labels(&[(80.0, "undoing"), (98.0, "parked")]), ["79 end rolling back", "97 end parked"]);
        let many = [(5.0, "undoing"), (6.0, "parked"), (7.0, "decided"), (8.0, "parked")];
        assert_eq!(labels(&many), ["9 start rolling back … parked"]);
        assert!(labels(&[]).is_empty());
    }
}
