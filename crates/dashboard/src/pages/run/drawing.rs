//! The waterfall as people see it: bars that also say in words what they are, and the same as a table.

use maud::{Markup, html};
use wire::RunDetail;
use words::Timestamp;

use super::waterfall::{Attempt, Bar, End, Lane, Row, Waterfall, attempts, layout};
use super::{step_path, timeline};
use crate::pieces;

const LANE_HEIGHT: usize = 16;
const MARK_ROOM_MIN: f64 = 16.0;
/// Attempts in the table; older ones are in the raw JSON.
const TABLE_ROWS_MAX: usize = 200;

/// The whole figure, as the run stands at `now`.
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
                            " " (pieces::badge(&step.state))
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
            div.wf-step.quiet { "since it was accepted" }
            svg height="18" aria-hidden="true" {
                @for tick in &laid.ticks {
                    text x={ (percent(tick.x)) } y="13" text-anchor=(anchor(tick.x)) { (tick.label) }
                }
            }
        }
        @if !laid.marks.is_empty() {
            div.wf-row.wf-marks {
                div.wf-step.quiet { "what befell the run" }
                svg height="18" role="img" aria-label=(marks_in_words(laid)) {
                    @for (n, mark) in laid.marks.iter().enumerate() {
                        @let next = laid.marks.get(n + 1).map_or(100.0, |next| next.x);
                        @let before = n.checked_sub(1).map_or(-MARK_ROOM_MIN, |n| laid.marks[n].x);
                        @let what = timeline::words(&mark.what);
                        g {
                            title { (what) " at " (wire::Time(mark.at)) }
                            circle cx=(percent(mark.x)) cy="9" r="4" class=(mark.what) {}
                            // The word stands beside its mark where there is room for it.
                            @if next - mark.x > MARK_ROOM_MIN {
                                text x=(percent(mark.x + 1.0)) y="13" { (what) }
                            } @else if mark.x - before > 2.0 * MARK_ROOM_MIN {
                                text x=(percent(mark.x - 1.0)) y="13" text-anchor="end" { (what) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn marks_in_words(laid: &Waterfall) -> String {
    let words: Vec<String> = laid.marks.iter().map(|mark| timeline::words(&mark.what).to_owned()).collect();
    words.join(", then ")
}

fn bars(row: &Row, laid: &Waterfall) -> Markup {
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
    // The sign stands beside the bar, and before it where the bar ends the axis.
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

fn sign(end: End) -> &'static str {
    match end {
        End::Running => "…",
        End::Done => "✓",
        End::Refused => "✕",
        End::Transient => "↻",
        End::Unknown => "?",
    }
}

fn percent(x: f64) -> String {
    format!("{x:.2}%")
}

/// Labels at the ends stay inside.
fn anchor(x: f64) -> &'static str {
    match x {
        x if x < 3.0 => "start",
        x if x > 96.0 => "end",
        _ => "middle",
    }
}

fn row_in_words(row: &Row) -> String {
    if row.bars.is_empty() {
        return format!("{}: not begun", row.step);
    }
    let bars: Vec<String> = row.bars.iter().map(bar_in_words).collect();
    format!("{}: {}", row.step, bars.join("; then "))
}

fn bar_in_words(bar: &Bar) -> String {
    match bar.attempts.as_slice() {
        [attempt] => attempt_in_words(attempt),
        [first, .., last] => {
            format!(
                "attempts {} to {} of {}, close together; the last: {}",
                first.number,
                last.number,
                bar.lane.word(),
                attempt_in_words(last)
            )
        }
        [] => String::new(),
    }
}

fn attempt_in_words(attempt: &Attempt) -> String {
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
    pieces::span((to.0 - from.0).max(0) as f64)
}

fn legend() -> Markup {
    html! {
        p.wf-legend.quiet {
            "✓ done  ✕ refused  ↻ transient, tried again  ? unknown  … under way; "
            "upper line: do, lower line: undo; broken line: waits for its next attempt"
        }
    }
}

fn table(run: &RunDetail) -> Markup {
    let attempts = attempts(&run.timeline);
    let left_out = attempts.len().saturating_sub(TABLE_ROWS_MAX);
    html! {
        details #attempts {
            summary { "Attempts as a table (" (pieces::count(attempts.len() as u64)) ")" }
            @if left_out > 0 { p.quiet { (pieces::count(left_out as u64)) " older ones are in the raw JSON." } }
            div.scroll tabindex="0" role="region" aria-label="Attempts" {
                table {
                    thead { tr {
                        th { "Step" } th { "Work" } th.number { "Attempt" } th { "Began" } th.number { "Took" }
                        th { "Outcome" } th { "Answer" } th.number { "Then waited" }
                    } }
                    tbody {
                        @for attempt in attempts.iter().skip(left_out) { (table_row(run, attempt)) }
                    }
                }
            }
        }
    }
}

fn table_row(run: &RunDetail, attempt: &Attempt) -> Markup {
    let took = attempt.ended.map(|ended| span(attempt.began, ended));
    let waited = attempt.ended.zip(attempt.retry_at).map(|(ended, retry_at)| span(ended, retry_at));
    html! {
        tr {
            td { a href=(step_path(&run.summary.id, &attempt.step, None)) { (attempt.step) } }
            td { (attempt.work.replace('_', " ")) }
            td.number { (attempt.number) }
            td { (pieces::time(wire::Time(attempt.began))) }
            td.number { (took.unwrap_or_default()) }
            td { (pieces::badge(attempt.end.word())) }
            td.why {
                @if let Some(status) = attempt.status { (status) " " }
                (attempt.detail.as_deref().unwrap_or_default())
            }
            td.number { (waited.unwrap_or_default()) }
        }
    }
}
