//! The list of runs: searched, live, page by page.

use api_types::{RunPage, RunSummary, Time, WorkflowList};
use maud::{Markup, html};
use types::Timestamp;

use super::run::{JOB, now, run_path};
use crate::page::{NavSection, Page};
use crate::pieces;
use crate::trouble::PageError;
use crate::visit::{Visit, encoded, place};

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
/// Stretches of time that are asked for often, in milliseconds until now.
const WITHIN: [(&str, &str, i64); 4] = [
    ("", "any time, or from and to", 0),
    ("15m", "the last 15 minutes", 15 * 60_000),
    ("1h", "the last hour", 60 * 60_000),
    ("1d", "the last day", 24 * 60 * 60_000),
];
const ROWS: usize = 50;

/// What is asked for, as the address of the page has it.
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
    fn of(visit: &Visit) -> Search {
        Search {
            id: visit.query_value("id").map(|id| id.trim().to_owned()),
            workflow: visit.query_value("workflow"),
            status: visit.query_value("status"),
            key: visit.query_value("key"),
            within: visit.query_value("within"),
            from: visit.query_value("from"),
            to: visit.query_value("to"),
            cursor: visit.query_value("cursor"),
        }
    }

    /// The query as the API has it. What counts from now gets its start here, so that a next page has the same.
    fn query(&self, now: Timestamp) -> Result<Vec<(&'static str, Option<String>)>, PageError> {
        let within = self.within.as_deref().map(|asked| {
            let found = WITHIN.iter().find(|(word, _, _)| *word == asked);
            found
                .map(|(_, _, ms)| *ms)
                .ok_or_else(|| PageError::Form(format!("within: there is no '{asked}'")))
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

/// A moment as a field for it gives it: in UTC, perhaps without seconds.
fn moment(field: &str, text: &str) -> Result<String, PageError> {
    let found = Time::parse_any(text);
    found.map(|at| at.to_string()).map_err(|why| PageError::Form(format!("{field}: {why}")))
}

pub(super) async fn list(visit: &Visit) -> Result<Page, PageError> {
    let search = Search::of(visit);
    let workflows: WorkflowList = visit.get("/v1/workflows").await?;
    let names: Vec<String> = workflows.items.into_iter().map(|workflow| workflow.name).collect();
    let shown = |content: Markup| {
        Page::new("Runs", NavSection::Runs).part(form(&search, &names)).live("runs", content)
    };
    if let Some(id) = &search.id {
        let path = format!("/v1/runs/{}", encoded(id));
        return match visit.find::<serde_json::Value>(&path).await {
            Ok(Some(_)) => Err(PageError::Moved(run_path(id))),
            Ok(None) => Ok(shown(nothing_with(id))),
            Err(PageError::Problem(problem)) => Ok(shown(pieces::problem(&problem))),
            Err(trouble) => Err(trouble),
        };
    }
    let query = match search.query(now()) {
        Ok(query) => query,
        Err(trouble) => return Ok(shown(pieces::problem(&trouble.problem()))),
    };
    let more = [("cursor", search.cursor.clone()), ("limit", Some(ROWS.to_string()))];
    let found = visit.get(&place("/v1/runs", query.clone().into_iter().chain(more))).await;
    match found {
        Ok(page) => Ok(shown(content(&search, &query, &page))),
        Err(PageError::Problem(problem)) if problem.status == 400 => Ok(shown(pieces::problem(&problem))),
        Err(trouble) => Err(trouble),
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
        (pieces::pager(first.as_deref(), next.as_deref()))
    }
}

/// What can be done with those that are checked, or with all that match.
fn toolbar(query: &[(&'static str, Option<String>)]) -> Markup {
    html! {
        div.toolbar {
            input type="hidden" name="checked" value="yes";
            span.quiet { "The checked ones:" }
            button type="submit" name="action" value="retry" { "Retry" }
            button type="submit" name="action" value="cancel" { "Cancel" }
            button type="submit" name="action" value="rerun" { "Run again" }
            a.button href=(place("/ui/bulk/new", query.iter().cloned())) { "All that match…" }
        }
    }
}

fn form(search: &Search, names: &[String]) -> Markup {
    let within: Vec<(&str, &str)> = WITHIN.iter().map(|(word, text, _)| (*word, *text)).collect();
    let civil = |text: &Option<String>| text.as_ref().map(|text| text.trim_end_matches('Z').to_owned());
    html! {
        form.search method="get" action="/ui/runs" role="search" {
            (pieces::field("id", "Run id", "", html! {
                input #id name="id" value=[&search.id] autocomplete="off" spellcheck="false";
            }))
            (pieces::field("workflow", "Workflow", "", html! {
                input #workflow name="workflow" value=[&search.workflow] list="workflows" autocomplete="off";
                datalist #workflows { @for name in names { option value=(name) {} } }
            }))
            (pieces::field("status", "Status", "", pieces::choice("status", &STATUSES, search.status.as_deref().unwrap_or_default(), "")))
            (pieces::field("key", "Key", "", html! { input #key name="key" value=[&search.key] autocomplete="off"; }))
            (pieces::field("within", "Accepted", "", pieces::select("within", &within, search.within.as_deref())))
            (pieces::field("from", "From (UTC)", "", html! {
                input #from name="from" type="datetime-local" step="1" value=[civil(&search.from)];
            }))
            (pieces::field("to", "To (UTC)", "", html! {
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
        return pieces::empty(
            "No runs yet",
            html! { "A run begins when a request is handed in, or a job fires. "
            a href="/ui/workflows" { "Start one from a workflow." } },
        );
    }
    pieces::empty("No runs match", html! { "Search for less, or " a href="/ui/runs" { "see all runs" } "." })
}

fn nothing_with(id: &str) -> Markup {
    pieces::empty(
        "No such run",
        html! { "There is no run with the id " code { (id) } ". Ids are written in full; a "
        a href=(place("/ui/runs", [("key", Some(id.to_owned()))])) { "key of that name" } " may have runs." },
    )
}

/// Runs in a table, with a box for each to check.
pub(super) fn table(runs: &[RunSummary]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Runs" {
            table.runs {
                thead { tr {
                    th { input type="checkbox" data-all="id" aria-label="Check all on this page"; }
                    th { "Run" } th { "Workflow" } th { "Status" } th { "Accepted" } th.number { "Took" } th { "Why" }
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
            td { (pieces::status(run.status)) }
            td { (pieces::time(run.accepted_at)) }
            td.number { (took(run)) }
            td.why title=[&run.reason] { (run.reason.as_deref().unwrap_or_default()) }
        }
    }
}

/// The occurrences of a job share their key; the run itself names the job.
fn workflow(run: &RunSummary) -> Markup {
    if run.workflow == JOB {
        let all = place("/ui/runs", [("key", Some(run.key.clone()))]);
        return html! { "job (" a href=(all) { "all its runs" } ")" };
    }
    html! { a.plain href={ "/ui/workflows/" (encoded(&run.workflow)) } { (run.workflow) } }
}

fn took(run: &RunSummary) -> String {
    run.ended_at.map_or(String::new(), |end| pieces::span((end.0.0 - run.accepted_at.0.0).max(0) as f64))
}

#[cfg(test)]
mod tests;
