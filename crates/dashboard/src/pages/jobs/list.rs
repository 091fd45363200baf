//! The collections and their jobs, to be searched.

use maud::{Markup, html};

use super::{AttemptPage, Collection, Collections, Job, JobPage, collection_address, collection_api, words};
use crate::page::{Page, Place};
use crate::pieces;
use crate::trouble::Trouble;
use crate::visit::{Visit, place};

/// Jobs of one collection in the list of all.
const ROWS: usize = 15;
/// Collections whose jobs are listed.
const OPENED_MAX: usize = 8;
/// Jobs whose last attempt is looked up; each costs a look at its history every second.
const LOOKED_UP_MAX: usize = 40;

const STATES: [(&str, &str); 5] = [
    ("", "any"),
    ("enabled", "enabled"),
    ("disabled", "disabled"),
    ("completed", "completed"),
    ("faulted", "faulted"),
];

/// A row of the list: a job, and how its last attempt ended when that was looked up.
pub(super) struct Row {
    pub job: Job,
    pub last: Option<String>,
}

pub(super) async fn show(visit: &Visit) -> Result<Page, Trouble> {
    let Collections { items } = visit.get("/v1/collections").await?;
    let searching = visit.asked("name").is_some() || visit.asked("state").is_some();
    let mut opened = Vec::new();
    for collection in items.iter().take(OPENED_MAX) {
        let (rows, more) = rows(visit, &collection.collection, ROWS, None).await?;
        opened.push((collection, rows, more));
    }
    let content = html! {
        (collections(&items))
        @for (collection, rows, more) in &opened {
            @if !(searching && rows.is_empty()) {
                h2 { a href=(collection_address(&collection.collection)) { (collection.collection) } }
                (table(rows))
                @if more.is_some() {
                    p { a href=(collection_address(&collection.collection)) { "All " (pieces::count(collection.jobs)) " jobs of " (collection.collection) } }
                }
            }
        }
        @if searching && opened.iter().all(|(_, rows, _)| rows.is_empty()) {
            (pieces::empty("No job is like that", html! { a href="/ui/jobs" { "Show all jobs" } }))
        }
    };
    Ok(Page::new("Jobs", Place::Jobs)
        .part(search(visit))
        .live("jobs", content)
        .part(super::collection::new_form(&[], None)))
}

/// The jobs of a collection that the search is for, from a cursor on.
pub(super) async fn rows(
    visit: &Visit,
    collection: &str,
    limit: usize,
    cursor: Option<String>,
) -> Result<(Vec<Row>, Option<String>), Trouble> {
    let query = [
        ("name", visit.asked("name")),
        ("state", visit.asked("state")),
        ("limit", Some(limit.to_string())),
        ("cursor", cursor),
    ];
    let page: JobPage = visit.get(&place(&format!("{}/jobs", collection_api(collection)), query)).await?;
    let mut rows = Vec::new();
    for job in page.items {
        let wanted = rows.len() < LOOKED_UP_MAX && job.count("executionCount") > 0;
        let last = if wanted { last(visit, &job).await? } else { None };
        rows.push(Row { job, last });
    }
    Ok((rows, page.next))
}

/// How the newest attempt of a job ended.
async fn last(visit: &Visit, job: &Job) -> Result<Option<String>, Trouble> {
    let found: Option<AttemptPage> = visit.find(&format!("{}/history?limit=1", job.place().api())).await?;
    Ok(found.and_then(|page| page.items.into_iter().next()).map(|attempt| attempt.status))
}

fn search(visit: &Visit) -> Markup {
    html! {
        form.search method="get" action="/ui/jobs" role="search" {
            (pieces::field("name", "Name", "", html! { input #name name="name" value=[visit.asked("name")]; }))
            (pieces::field("state", "State", "", pieces::select("state", &STATES, visit.asked("state").as_deref())))
            button type="submit" { "Search" }
            a.button.primary href={ "/ui/jobs/" (super::NEW) } { "New job" }
        }
    }
}

fn collections(items: &[Collection]) -> Markup {
    if items.is_empty() {
        let hint = html! { "Jobs live in collections. “New job” makes a collection on the way." };
        return pieces::empty("No collections", hint);
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Collections" {
            table {
                thead { tr { th { "Collection" } th { "State" } th { "Plan" } th.number { "Jobs" } } }
                tbody {
                    @for collection in items {
                        tr {
                            td { a href=(collection_address(&collection.collection)) { (collection.collection) } }
                            td { (pieces::badge(&collection.state().to_lowercase())) }
                            td { (collection.plan()) }
                            td.number { (pieces::count(collection.jobs)) }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn table(rows: &[Row]) -> Markup {
    if rows.is_empty() {
        return pieces::empty("No jobs", html! { "A job calls something at a time: once, or by a rule." });
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Jobs" {
            table {
                thead { tr {
                    th { "Job" } th { "State" } th { "Does" } th { "When" } th { "Next" } th { "Last" } th { "Result" } th.number { "Failures" }
                } }
                tbody { @for row in rows { (one(row)) } }
            }
        }
    }
}

fn one(Row { job, last }: &Row) -> Markup {
    html! {
        tr {
            td { a href=(job.place().address()) { (job.name) } }
            td { (pieces::badge(job.state())) }
            td { (words::kind(&job.properties)) }
            td.why { (words::when(&job.properties)) }
            td { @if let Some(next) = job.time("nextExecutionTime") { (pieces::time(next)) } @else { span.quiet { "–" } } }
            td { @if let Some(time) = job.time("lastExecutionTime") { (pieces::time(time)) } @else { span.quiet { "never" } } }
            td { @if let Some(last) = last { (pieces::badge(last)) } }
            td.number { (pieces::count(job.count("failureCount"))) " of " (pieces::count(job.count("executionCount"))) }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hostile_names_stay_text() {
        let hostile = "<script>x</script>";
        let properties =
            json!({ "state": hostile, "action": { "type": hostile }, "recurrence": { "cron": hostile } });
        let job = Job { name: hostile.to_owned(), collection: hostile.to_owned(), properties };
        let shown = table(&[Row { job, last: Some(hostile.to_owned()) }]).into_string();
        assert!(!shown.contains("<script>"), "{shown}");
        assert!(shown.contains("/ui/jobs/%3Cscript%3Ex%3C%2Fscript%3E/%3Cscript%3E"), "{shown}");
    }
}
