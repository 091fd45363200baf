//! The list of runs: search, live updates, paging.

use api_types::{RunPage, RunSummary, Time, WorkflowList};
use maud::{Markup, html};
use types::Timestamp;

use super::run::{JOB, now, run_path};
use crate::components;
use crate::context::{PageContext, encoded, place};
use crate::error::PageError;
use crate::page::{NavSection, Page};

const STATUSES: [(&str, &str); 8] = [
    ("", "any"),
    ("queued", "queued"),
    ("running", "running"),
    ("undoing", "undoing"),
    ("parked", "parked"),
    ("completed", "completed"),
    ("undone", "undone"),
    ("given_up", "given up"),
];
/// Common periods, in milliseconds before now.
const WITHIN: [(&str, &str, i64); 4] = [
    ("", "any time, or from/to", 0),
    ("15m", "last 15 minutes", 15 * 60_000),
    ("1h", "last hour", 60 * 60_000),
    ("1d", "last day", 24 * 60 * 60_000),
];
const ROWS: usize = 50;

/// The search, as in the page's address.
struct Search {
    id: Option<String>,
    workflow: Option<String>,
    status: Option<String>,
    key: Option<String>,
    within: Option<String>,
    from: Option<String>,
    to: Option<String>,
    cursor: Option<String>,
}

impl Search {
    fn of(ctx: &PageContext) -> Search {
        Search {
            id: ctx.query_value("id").map(|id| id.trim().to_owned()),
            workflow: ctx.query_value("workflow"),
            status: ctx.query_value("status"),
            key: ctx.query_value("key"),
            within: ctx.query_value("within"),
            from: ctx.query_value("from"),
            to: ctx.query_value("to"),
            cursor: ctx.query_value("cursor"),
        }
    }

    /// The query for the API. A period relative to now is resolved here, so that the next page covers the same period.
    fn query(&self, now: Timestamp) -> Result<Vec<(&'static str, Option<String>)>, PageError> {
        let within = self.within.as_deref().map(|asked| {
            let found = WITHIN.iter().find(|(word, _, _)| *word == asked);
            found
                .map(|(_, _, ms)| *ms)
                .ok_or_else(|| PageError::Form(format!("within: unknown period '{asked}'")))
        });
        let from = match within.transpose()? {
            Some(ms) if ms > 0 => Some(Time(Timestamp(now.0 - ms)).to_string()),
            _ => self.from.as_deref().map(|text| moment("from", text)).transpose()?,
        };
        let to = self.to.as_deref().map(|text| moment("to", text)).transpose()?;
        Ok(vec![
            ("workflow", self.workflow.clone()),
            ("status", self.status.clone()),
            ("key", self.key.clone()),
            ("from", from),
            ("to", to),
        ])
    }

    fn is_open(&self) -> bool {
        [&self.workflow, &self.status, &self.key, &self.within, &self.from, &self.to]
            .iter()
            .all(|part| part.is_none())
    }
}

/// The value of a datetime field: in UTC, possibly without seconds.
fn moment(field: &str, text: &str) -> Result<String, PageError> {
    let found = Time::parse_any(text);
    found.map(|at| at.to_string()).map_err(|why| PageError::Form(format!("{field}: {why}")))
}

pub(super) async fn list(ctx: &PageContext) -> Result<Page, PageError> {
    let search = Search::of(ctx);
    let workflows: WorkflowList = ctx.get("/v1/workflows").await?;
    let names: Vec<String> = workflows.items.into_iter().map(|workflow| workflow.name).collect();
    let shown = |content: Markup| {
        Page::new("Runs", NavSection::Runs).part(form(&search, &names)).live("runs", content)
    };
    if let Some(id) = &search.id {
        let path = format!("/v1/runs/{}", encoded(id));
        return match ctx.find::<serde_json::Value>(&path).await {
            Ok(Some(_)) => Err(PageError::Moved(run_path(id))),
            Ok(None) => Ok(shown(nothing_with(id))),
            Err(PageError::Problem(problem)) => Ok(shown(components::problem(&problem))),
            Err(error) => Err(error),
        };
    }
    let query = match search.query(now()) {
        Ok(query) => query,
        Err(error) => return Ok(shown(components::problem(&error.problem()))),
    };
    let more = [("cursor", search.cursor.clone()), ("limit", Some(ROWS.to_string()))];
    let found = ctx.get(&place("/v1/runs", query.clone().into_iter().chain(more))).await;
    match found {
        Ok(page) => Ok(shown(content(&search, &query, &page))),
        Err(PageError::Problem(problem)) if problem.status == 400 => Ok(shown(components::problem(&problem))),
        Err(error) => Err(error),
    }
}

fn content(search: &Search, query: &[(&'static str, Option<String>)], page: &RunPage) -> Markup {
    let at = |cursor: Option<String>| place("/ui/runs", query.iter().cloned().chain([("cursor", cursor)]));
    let first = search.cursor.is_some().then(|| at(None));
    let next = page.next.as_ref().map(|cursor| at(Some(cursor.clone())));
    html! {
        @if page.items.is_empty() {
            (nothing(search))
        } @else {
            form method="get" action="/ui/bulk/new" {
                (toolbar(query))
                (table(&page.items))
            }
        }
        (components::pager(first.as_deref(), next.as_deref()))
    }
}

/// The actions for the selected runs, or for all that match.
fn toolbar(query: &[(&'static str, Option<String>)]) -> Markup {
    html! {
        div.toolbar {
            input type="hidden" name="checked" value="yes";
            span.quiet { "Selected runs:" }
            button type="submit" name="action" value="retry" { "Retry" }
            button type="submit" name="action" value="cancel" { "Cancel" }
            button type="submit" name="action" value="rerun" { "Rerun" }
            a.button href=(place("/ui/bulk/new", query.iter().cloned())) { "All matching runs…" }
        }
    }
}

fn form(search: &Search, names: &[String]) -> Markup {
    let within: Vec<(&str, &str)> = WITHIN.iter().map(|(word, text, _)| (*word, *text)).collect();
    let civil = |text: &Option<String>| text.as_ref().map(|text| text.trim_end_matches('Z').to_owned());
    html! {
        form.search method="get" action="/ui/runs" role="search" {
            (components::field("id", "Run id", "", html! {
                input #id name="id" value=[&search.id] autocomplete="off" spellcheck="false";
            }))
            (components::field("workflow", "Workflow", "", html! {
                input #workflow name="workflow" value=[&search.workflow] list="workflows" autocomplete="off";
                datalist #workflows { @for name in names { option value=(name) {} } }
            }))
            (components::field("status", "Status", "", components::choice("status", &STATUSES, search.status.as_deref().unwrap_or_default(), "")))
            (components::field("key", "Key", "", html! { input #key name="key" value=[&search.key] autocomplete="off"; }))
            (components::field("within", "Accepted", "", components::select("within", &within, search.within.as_deref())))
            (components::field("from", "From (UTC)", "", html! {
                input #from name="from" type="datetime-local" step="1" value=[civil(&search.from)];
            }))
            (components::field("to", "To (UTC)", "", html! {
                input #to name="to" type="datetime-local" step="1" value=[civil(&search.to)];
            }))
            div.actions {
                button.primary type="submit" { "Search" }
                @if !search.is_open() || search.id.is_some() { a.button href="/ui/runs" { "Clear" } }
            }
        }
    }
}

fn nothing(search: &Search) -> Markup {
    if search.is_open() && search.cursor.is_none() {
        return components::empty(
            "No runs yet",
            html! { "A run starts when a request is submitted or a job fires. "
            a href="/ui/workflows" { "Start one from a workflow." } },
        );
    }
    components::empty(
        "No runs match",
        html! { "Relax the search, or " a href="/ui/runs" { "show all runs" } "." },
    )
}

fn nothing_with(id: &str) -> Markup {
    components::empty(
        "Run not found",
        html! { "There is no run with the id " code { (id) } ". Enter the full id; a "
        a href=(place("/ui/runs", [("key", Some(id.to_owned()))])) { "key of that name" } " may have runs." },
    )
}

/// A table of runs, with checkboxes.
pub(super) fn table(runs: &[RunSummary]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Runs" {
            table.runs {
                thead { tr {
                    th { input type="checkbox" data-all="id" aria-label="Select all on this page"; }
                    th { "Run" } th { "Workflow" } th { "Status" } th { "Accepted" } th.number { "Duration" } th { "Reason" }
                } }
                tbody { @for run in runs { (row(run)) } }
            }
        }
    }
}

fn row(run: &RunSummary) -> Markup {
    html! {
        tr {
            td { input type="checkbox" name="id" value=(run.id) aria-label={ "Run " (run.id) }; }
            td {
                a.id href=(run_path(&run.id)) title=(run.id) { (run.id) }
                @if run.key != run.id && run.workflow != JOB { br; small { "key " (run.key) } }
            }
            td { (workflow(run)) }
            td { (components::status(run.status)) }
            td { (components::time(run.accepted_at)) }
            td.number { (took(run)) }
            td.why title=[&run.reason] { (run.reason.as_deref().unwrap_or_default()) }
        }
    }
}

/// The occurrences of a job share a key; the page of the run names the job.
fn workflow(run: &RunSummary) -> Markup {
    if run.workflow == JOB {
        let all = place("/ui/runs", [("key", Some(run.key.clone()))]);
        return html! { "job (" a href=(all) { "all runs" } ")" };
    }
    html! { a.plain href={ "/ui/workflows/" (encoded(&run.workflow)) } { (run.workflow) } }
}

fn took(run: &RunSummary) -> String {
    run.ended_at.map_or(String::new(), |end| components::span((end.0.0 - run.accepted_at.0.0).max(0) as f64))
}

#[cfg(test)]
mod tests;
