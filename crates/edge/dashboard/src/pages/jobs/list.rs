//! The collections and their jobs, to be searched.

use maud::{Markup, html};

use super::{
    AttemptPage, CollectionDocument, CollectionList, JobDocument, JobPage, collection_address,
    collection_api, words,
};
use crate::page::{NavSection, Page};
use crate::pieces;
use crate::trouble::PageError;
use crate::visit::{Visit, place};

/// Jobs of one collection in the list of all.
const ROWS: usize = 15;
/// Collections whose jobs are listed when nothing is searched.
const OPENED_MAX: usize = 8;
/// Collections that are searched; each costs a look every second.
const SEARCHED_MAX: usize = 200;
/// Jobs that are found at most, so that a page stays light.
const FOUND_MAX: usize = 100;
/// Jobs of a page whose last attempt is looked up; each costs a look at its history every second.
pub(super) const LOOKED_UP_MAX: usize = 40;

const STATES: [(&str, &str); 5] = [
    ("", "any"),
    ("enabled", "enabled"),
    ("disabled", "disabled"),
    ("completed", "completed"),
    ("faulted", "faulted"),
];

/// A row of the list: a job, and how its last attempt ended when that was looked up.
pub(super) struct JobRow {
    pub job: JobDocument,
    pub last: Option<String>,
}

/// A collection with the jobs of it that are shown.
struct ExpandedCollection<'a> {
    collection: &'a CollectionDocument,
    rows: Vec<JobRow>,
    /// Whether it has more of them.
    more: bool,
}

pub(super) async fn show(visit: &Visit) -> Result<Page, PageError> {
    let CollectionList { items } = visit.get("/v1/collections").await?;
    let searching = visit.query_value("name").is_some() || visit.query_value("state").is_some();
    let (opened, left) = open(visit, &items, searching).await?;
    let content = html! {
        (collections(&items))
        @for one in &opened { (jobs(visit, one)) }
        @if searching { (outcome(&opened, left)) }
        @else if !left.is_empty() {
            p.quiet { "The jobs of " (left.len()) " more collections are behind their names above." }
        }
    };
    Ok(Page::new("Jobs", NavSection::Jobs)
        .part(search(visit))
        .live("jobs", content)
        .part(super::collection::new_form(&[], None)))
}

/// The collections whose jobs are shown, and those that were not looked into. A search passes over collections without
/// a job that it is for.
async fn open<'a>(
    visit: &Visit,
    items: &'a [CollectionDocument],
    searching: bool,
) -> Result<(Vec<ExpandedCollection<'a>>, &'a [CollectionDocument]), PageError> {
    let most = if searching { SEARCHED_MAX } else { OPENED_MAX };
    let (mut opened, mut found, mut look_ups) = (Vec::new(), 0, LOOKED_UP_MAX);
    for (index, collection) in items.iter().enumerate() {
        if index >= most || found >= FOUND_MAX {
            return Ok((opened, &items[index..]));
        }
        let (rows, more) = rows(visit, &collection.collection, ROWS, None, &mut look_ups).await?;
        found += rows.len();
        if !searching || !rows.is_empty() || more.is_some() {
            opened.push(ExpandedCollection { collection, rows, more: more.is_some() });
        }
    }
    Ok((opened, &[]))
}

fn jobs(visit: &Visit, ExpandedCollection { collection, rows, more }: &ExpandedCollection<'_>) -> Markup {
    let (name, state) = (visit.query_value("name"), visit.query_value("state"));
    let searching = name.is_some() || state.is_some();
    let address = place(&collection_address(&collection.collection), [("name", name), ("state", state)]);
    html! {
        h2 { a href=(collection_address(&collection.collection)) { (collection.collection) } }
        (table(rows))
        @if *more {
            p {
                @if searching { a href=(address) { "More in " (collection.collection) } }
                @else { a href=(address) { "All " (pieces::count(collection.jobs)) " jobs of " (collection.collection) } }
            }
        }
    }
}

/// What a search came to, when it found nothing or did not look everywhere.
fn outcome(opened: &[ExpandedCollection<'_>], left: &[CollectionDocument]) -> Markup {
    html! {
        @if opened.is_empty() && left.is_empty() {
            (pieces::empty("No job is like that", html! { a href="/ui/jobs" { "Show all jobs" } }))
        }
        @if let Some(first) = left.first() {
            div.fine role="status" {
                strong { (left.len()) @if left.len() == 1 { " collection was" } @else { " collections were" } " not searched" }
                ": from " a href=(collection_address(&first.collection)) { (first.collection) } " on. "
                "Search for more of the name, or open the collection above."
            }
        }
    }
}

/// The jobs of a collection that the search is for, from a cursor on. `look_ups` is how many last attempts the page may
/// still look up.
pub(super) async fn rows(
    visit: &Visit,
    collection: &str,
    limit: usize,
    cursor: Option<String>,
    look_ups: &mut usize,
) -> Result<(Vec<JobRow>, Option<String>), PageError> {
    let query = [
        ("name", visit.query_value("name")),
        ("state", visit.query_value("state")),
        ("limit", Some(limit.to_string())),
        ("cursor", cursor),
    ];
    let page: JobPage = visit.get(&place(&format!("{}/jobs", collection_api(collection)), query)).await?;
    let mut rows = Vec::new();
    for job in page.items {
        let wanted = *look_ups > 0 && job.count("executionCount") > 0;
        *look_ups -= usize::from(wanted);
        let last = if wanted { last(visit, &job).await? } else { None };
        rows.push(JobRow { job, last });
    }
    Ok((rows, page.next))
}

/// How the newest attempt of a job ended.
async fn last(visit: &Visit, job: &JobDocument) -> Result<Option<String>, PageError> {
    let found: Option<AttemptPage> = visit.find(&format!("{}/history?limit=1", job.place().api())).await?;
    Ok(found.and_then(|page| page.items.into_iter().next()).map(|attempt| attempt.status))
}

fn search(visit: &Visit) -> Markup {
    html! {
        form.search method="get" action="/ui/jobs" role="search" {
            (pieces::field("name", "Name", "", html! { input #name name="name" value=[visit.query_value("name")]; }))
            (pieces::field("state", "State", "", pieces::choice("state", &STATES, &visit.query_value("state").unwrap_or_default(), "")))
            button type="submit" { "Search" }
            a.button.primary href={ "/ui/jobs/" (super::NEW) } { "New job" }
        }
    }
}

fn collections(items: &[CollectionDocument]) -> Markup {
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

pub(super) fn table(rows: &[JobRow]) -> Markup {
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

fn one(JobRow { job, last }: &JobRow) -> Markup {
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
    use crate::pages::pretend::{self, now};

    /// The page of a search in many collections, the last of which has the job; and how often the API was asked for a
    /// history.
    fn searched(at: &str, count: usize, each: usize) -> (String, usize) {
        let (visit, sent) = pretend::visit(at, &[], move |(_, path, _)| {
            let last = format!("/v1/collections/c{}/jobs", count - 1);
            let job = |collection: &str| {
                json!({ "name": "j", "collection": collection,
                "properties": { "status": { "executionCount": 1 } } })
            };
            let answer = match path.as_str() {
                "/v1/collections" => {
                    let one = |n| json!({ "collection": format!("c{n}"), "jobs": 1, "properties": {} });
                    json!({ "items": (0..count).map(one).collect::<Vec<_>>() })
                }
                path if path.contains("/history") => json!({ "items": [], "next": null }),
                path if each > 0 || path.starts_with(&last) => {
                    json!({ "items": vec![job("c"); each.max(1)], "next": null })
                }
                _ => json!({ "items": [], "next": null }),
            };
            (200, answer)
        });
        let shown = now(show(&visit)).expect("a page").content().into_string();
        let histories = sent.lock().unwrap().iter().filter(|(_, path, _)| path.contains("/history")).count();
        (shown, histories)
    }

    #[test]
    fn a_search_looks_everywhere_or_says_where_it_did_not() {
        let (shown, _) = searched("/ui/jobs?name=j", 30, 0);
        assert!(shown.contains("href=\"/ui/jobs/c/j\""), "{shown}");
        assert!(!shown.contains("No job is like that") && !shown.contains("not searched"), "{shown}");
        let (shown, _) = searched("/ui/jobs?name=j", SEARCHED_MAX + 2, 0);
        assert!(shown.contains("2 collections were not searched"), "{shown}");
        assert!(!shown.contains("No job is like that"), "{shown}");
    }

    #[test]
    fn look_ups_are_counted_over_the_whole_page() {
        let (_, histories) = searched("/ui/jobs", 8, 15);
        assert_eq!(histories, LOOKED_UP_MAX);
    }

    #[test]
    fn hostile_names_stay_text() {
        let hostile = "<script>x</script>";
        let properties =
            json!({ "state": hostile, "action": { "type": hostile }, "recurrence": { "cron": hostile } });
        let job = JobDocument { name: hostile.to_owned(), collection: hostile.to_owned(), properties };
        let shown = table(&[JobRow { job, last: Some(hostile.to_owned()) }]).into_string();
        assert!(!shown.contains("<script>"), "{shown}");
        assert!(shown.contains("/ui/jobs/%3Cscript%3Ex%3C%2Fscript%3E/%3Cscript%3E"), "{shown}");
    }
}
