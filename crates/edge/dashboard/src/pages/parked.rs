//! Runs that wait for a decision, oldest first, with the reason and the possible decisions.

use api_types::{RunDetail, RunPage, RunSummary};
use maud::{Markup, html};
use types::RunStatus;

use super::run::{decisions, run_path};
use crate::components;
use crate::context::{PageContext, encoded, place};
use crate::error::PageError;
use crate::page::{NavSection, Page};

/// Runs per page: each one costs an API call.
const ROWS: usize = 20;
/// Runs that are sorted here at most; the API lists the newest first.
const SORTED_MAX: usize = 1000;

/// One page of the parked runs.
struct ParkedPage {
    runs: Vec<RunSummary>,
    total: usize,
    /// Whether there are more than were sorted.
    at_least: bool,
    first: usize,
}

pub(super) async fn show(ctx: &PageContext) -> Result<Page, PageError> {
    let first = ctx.query_value("after").and_then(|after| after.parse().ok()).unwrap_or(0);
    let found: RunPage = ctx.get(&format!("/v1/parked?limit={SORTED_MAX}")).await?;
    let stretch = ParkedPage::of(found, first);
    let mut runs: Vec<RunDetail> = Vec::new();
    for run in &stretch.runs {
        // A run that was resolved meanwhile is not shown.
        let found: Option<RunDetail> = ctx.find(&format!("/v1/runs/{}", encoded(&run.id))).await?;
        runs.extend(found.filter(|run| run.summary.status == RunStatus::Parked));
    }
    Ok(Page::new("Parked", NavSection::Parked).part(toolbar()).live("parked", content(&stretch, &runs)))
}

impl ParkedPage {
    fn of(found: RunPage, first: usize) -> ParkedPage {
        let mut runs = found.items;
        runs.sort_by(|a, b| (a.accepted_at, &a.id).cmp(&(b.accepted_at, &b.id)));
        let (total, at_least) = (runs.len(), found.next.is_some());
        let runs = runs.into_iter().skip(first).take(ROWS).collect();
        ParkedPage { runs, total, at_least, first }
    }
}

/// Static while the list changes; the checkboxes belong to this form.
fn toolbar() -> Markup {
    html! {
        form #bulk.toolbar method="get" action="/ui/bulk/new" {
            input type="hidden" name="checked" value="yes";
            span.quiet { "Selected runs:" }
            button type="submit" name="action" value="retry" { "Retry" }
            button type="submit" name="action" value="resolve" { "Resolve…" }
            a.button href="/ui/bulk/new?status=parked&action=retry" { "All parked…" }
        }
    }
}

fn content(stretch: &ParkedPage, runs: &[RunDetail]) -> Markup {
    if stretch.total == 0 {
        return components::empty(
            "No parked runs",
            html! {
                "A run is parked when an undo fails for good, or a step fails after the pivot. It then waits for your decision."
            },
        );
    }
    let last = stretch.first + stretch.runs.len();
    let at = |after: usize| place("/ui/parked", [("after", Some(after.to_string()))]);
    html! {
        p.quiet {
            (components::count(stretch.total as u64))
            @if stretch.at_least { " or more runs; the newest of them, oldest first." } @else { " parked, oldest first." }
        }
        @for run in runs { (card(run)) }
        nav.pager aria-label="Pages of this list" {
            @if stretch.first > 0 { a href=(at(stretch.first.saturating_sub(ROWS))) rel="prev" { "Older" } }
            @if last < stretch.total { a href=(at(last)) rel="next" { "Newer" } }
        }
    }
}

fn card(run: &RunDetail) -> Markup {
    let summary = &run.summary;
    let parked = run.timeline.iter().rev().find(|moment| moment.what == "parked");
    html! {
        section.card.parked-run aria-label={ "Run " (summary.id) } {
            div.row {
                input type="checkbox" name="id" value=(summary.id) form="bulk" aria-label={ "Run " (summary.id) };
                a.id href=(run_path(&summary.id)) { (summary.id) }
                span { (summary.workflow) }
                span.quiet { "accepted " (components::time(summary.accepted_at)) }
                @if let Some(parked) = parked { span.quiet { "parked " (components::time(parked.at)) } }
            }
            p { (summary.reason.as_deref().unwrap_or_default()) }
            p.quiet { "Unresolved steps: " (run.open_steps.join(", ")) }
            details id={ "decide-" (summary.id) } {
                summary { "Resolve" }
                (decisions::forms(run, Some("parked"), None))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use api_types::Time;
    use serde_json::json;
    use types::Timestamp;

    use super::*;

    const HOSTILE: &str = "<svg onload=alert(1)>\"";

    fn summary(id: &str, at: i64) -> RunSummary {
        RunSummary {
            id: id.to_owned(),
            workflow: "w".to_owned(),
            version: 1,
            status: RunStatus::Parked,
            key: id.to_owned(),
            accepted_at: Time(Timestamp(at)),
            ended_at: None,
            reason: Some(HOSTILE.to_owned()),
        }
    }

    #[test]
    fn the_oldest_comes_first_and_pages_go_on_where_they_ended() {
        let found = || {
            let items = (0..50).rev().map(|n| summary(&format!("r-{n}"), n)).collect();
            RunPage { items, next: None }
        };
        let ids = |first| {
            let stretch = ParkedPage::of(found(), first);
            (stretch.runs.first().unwrap().id.clone(), stretch.runs.last().unwrap().id.clone())
        };
        assert_eq!(ids(0), ("r-0".to_owned(), "r-19".to_owned()));
        assert_eq!(ids(40), ("r-40".to_owned(), "r-49".to_owned()));
        let shown = content(&ParkedPage::of(found(), 20), &[]).into_string();
        assert!(shown.contains("/ui/parked?after=40") && shown.contains("/ui/parked?after=0"), "{shown}");
    }

    #[test]
    fn foreign_text_stays_text_and_boxes_belong_to_the_bulk() {
        let run = json!({ "id": HOSTILE, "workflow": HOSTILE, "version": 1, "status": "parked", "key": "k",
            "accepted_at": "2026-03-01T12:00:00.000Z", "reason": HOSTILE, "partition": 0, "open_steps": [HOSTILE],
            "steps": [{ "name": HOSTILE, "state": "undo_failed", "attempts": 1, "reason": HOSTILE }] });
        let run: RunDetail = serde_json::from_str(&run.to_string()).unwrap();
        let shown = card(&run).into_string();
        assert!(!shown.contains("<svg") && shown.contains(r#"form="bulk""#), "{shown}");
    }
}
