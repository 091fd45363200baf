//! The list of runs: searched, live, page by page.

use maud::{Markup, html};
use wire::{RunPage, RunSummary};

use crate::page::{Page, Place};
use crate::pieces;
use crate::trouble::Trouble;
use crate::visit::{Visit, encoded, place};

const FILTERS: [&str; 5] = ["workflow", "status", "key", "from", "to"];
const STATUSES: [(&str, &str); 7] = [
    ("", "any"),
    ("running", "running"),
    ("undoing", "undoing"),
    ("parked", "parked"),
    ("completed", "completed"),
    ("undone", "undone"),
    ("given_up", "given up"),
];
const ROWS: usize = 50;

pub(super) async fn list(visit: &Visit) -> Result<Page, Trouble> {
    let asked = FILTERS.map(|name| (name, visit.asked(name)));
    let cursor = visit.asked("cursor");
    let query =
        asked.clone().into_iter().chain([("cursor", cursor.clone()), ("limit", Some(ROWS.to_string()))]);
    let page: RunPage = visit.get(&place("/v1/runs", query)).await?;
    let at =
        |cursor: Option<String>| place("/ui/runs", asked.clone().into_iter().chain([("cursor", cursor)]));
    let first = cursor.is_some().then(|| at(None));
    let next = page.next.map(|cursor| at(Some(cursor)));
    Ok(Page::new("Runs", Place::Runs).part(search(visit)).live(
        "runs",
        html! {
            (table(&page.items))
            (pieces::pager(first.as_deref(), next.as_deref()))
        },
    ))
}

fn search(visit: &Visit) -> Markup {
    let value = |name: &str| visit.asked(name);
    html! {
        form.search method="get" action="/ui/runs" role="search" {
            (pieces::field("workflow", "Workflow", "", html! {
                input #workflow name="workflow" value=[value("workflow")];
            }))
            (pieces::field("status", "Status", "", pieces::select("status", &STATUSES, value("status").as_deref())))
            (pieces::field("key", "Key", "", html! { input #key name="key" value=[value("key")]; }))
            button type="submit" { "Search" }
        }
    }
}

pub(super) fn table(runs: &[RunSummary]) -> Markup {
    if runs.is_empty() {
        return pieces::empty(
            "No runs",
            html! { "A run begins when a request is handed in, or a job fires." },
        );
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Runs" {
            table {
                thead { tr { th { "Run" } th { "Workflow" } th { "Status" } th { "Accepted" } th { "Took" } th { "Why" } } }
                tbody {
                    @for run in runs {
                        tr {
                            td { a.id href={ "/ui/runs/" (encoded(&run.id)) } { (run.id) } }
                            td { (run.workflow) }
                            td { (pieces::status(run.status)) }
                            td { (pieces::time(run.accepted_at)) }
                            td.number { (took(run)) }
                            td.why { (run.reason.as_deref().unwrap_or_default()) }
                        }
                    }
                }
            }
        }
    }
}

fn took(run: &RunSummary) -> String {
    run.ended_at.map_or(String::new(), |end| pieces::span((end.0.0 - run.accepted_at.0.0) as f64))
}
