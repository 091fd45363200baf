//! The list of collections and jobs, with search.

use maud::{Markup, html};

use super::{
    AttemptPage, CollectionDocument, CollectionList, JobDocument, JobPage, collection_address,
    collection_api, describe,
};
use crate::components;
use crate::context::{PageContext, place};
use crate::error::PageError;
use crate::page::{NavSection, Page};

/// Jobs shown per collection in the list of all collections.
const ROWS: usize = 15;
/// Collections whose jobs are listed without a search.
const OPENED_MAX: usize = 8;
/// Collections searched at most; each one costs an API call per second.
const SEARCHED_MAX: usize = 200;
/// Search results at most, to keep the page small.
const FOUND_MAX: usize = 100;
/// Jobs per page whose last attempt is shown; each one costs an API call per second.
pub(super) const LOOKED_UP_MAX: usize = 40;

const STATES: [(&str, &str); 5] = [
    ("", "any"),
    ("enabled", "enabled"),
    ("disabled", "disabled"),
    ("completed", "completed"),
    ("faulted", "faulted"),
];

/// A row of the list: a job, and the result of its last attempt if it was looked up.
pub(super) struct JobRow {
    pub job: JobDocument,
    pub last: Option<String>,
}

/// A collection with the jobs that are shown.
struct ExpandedCollection<'a> {
    collection: &'a CollectionDocument,
    rows: Vec<JobRow>,
    /// Whether it has more jobs.
    more: bool,
}

pub(super) async fn show(ctx: &PageContext) -> Result<Page, PageError> {
    let CollectionList { items } = ctx.get("/v1/collections").await?;
    let searching = ctx.query_value("name").is_some() || ctx.query_value("state").is_some();
    let (opened, left) = open(ctx, &items, searching).await?;
    let content = html! {
        (collections(&items))
        @for one in &opened { (jobs(ctx, one)) }
        @if searching { (outcome(&opened, left)) }
        @else if !left.is_empty() {
            p.quiet { "Open a collection above to see the jobs of " (left.len()) " more collections." }
        }
    };
    Ok(Page::new("Jobs", NavSection::Jobs)
        .part(search(ctx))
        .live("jobs", content)
        .part(super::collection::new_form(&[], None)))
}

/// The collections whose jobs are shown, and those that were not searched. A search omits collections without a
/// matching job.
async fn open<'a>(
    ctx: &PageContext,
    items: &'a [CollectionDocument],
    searching: bool,
) -> Result<(Vec<ExpandedCollection<'a>>, &'a [CollectionDocument]), PageError> {
    let most = if searching { SEARCHED_MAX } else { OPENED_MAX };
    let (mut opened, mut found, mut look_ups) = (Vec::new(), 0, LOOKED_UP_MAX);
    for (index, collection) in items.iter().enumerate() {
        if index >= most || found >= FOUND_MAX {
            return Ok((opened, &items[index..]));
        }
        let (rows, more) = rows(ctx, &collection.collection, ROWS, None, &mut look_ups).await?;
        found += rows.len();
        if !searching || !rows.is_empty() || more.is_some() {
            opened.push(ExpandedCollection { collection, rows, more: more.is_some() });
        }
    }
    Ok((opened, &[]))
}

fn jobs(ctx: &PageContext, ExpandedCollection { collection, rows, more }: &ExpandedCollection<'_>) -> Markup {
    let (name, state) = (ctx.query_value("name"), ctx.query_value("state"));
    let searching = name.is_some() || state.is_some();
    let address = place(&collection_address(&collection.collection), [("name", name), ("state", state)]);
    html! {
        h2 { a href=(collection_address(&collection.collection)) { (collection.collection) } }
        (table(rows))
        @if *more {
            p {
                @if searching { a href=(address) { "More in " (collection.collection) } }
                @else { a href=(address) { "All " (components::count(collection.jobs)) " jobs in " (collection.collection) } }
            }
        }
    }
}

/// A note if a search found nothing or was incomplete.
fn outcome(opened: &[ExpandedCollection<'_>], left: &[CollectionDocument]) -> Markup {
    html! {
        @if opened.is_empty() && left.is_empty() {
            (components::empty("No matching jobs", html! { a href="/ui/jobs" { "Show all jobs" } }))
        }
        @if let Some(first) = left.first() {
            div.fine role="status" {
                strong { (left.len()) @if left.len() == 1 { " collection was" } @else { " collections were" } " not searched" }
                ", starting with " a href=(collection_address(&first.collection)) { (first.collection) } ". "
                "Type more of the name, or open a collection above."
            }
        }
    }
}

/// The matching jobs of a collection, from a cursor on. `look_ups` is how many last attempts the page may still look
/// up.
pub(super) async fn rows(
    ctx: &PageContext,
    collection: &str,
    limit: usize,
    cursor: Option<String>,
    look_ups: &mut usize,
) -> Result<(Vec<JobRow>, Option<String>), PageError> {
    let query = [
        ("name", ctx.query_value("name")),
        ("state", ctx.query_value("state")),
        ("limit", Some(limit.to_string())),
        ("cursor", cursor),
    ];
    let page: JobPage = ctx.get(&place(&format!("{}/jobs", collection_api(collection)), query)).await?;
    let mut rows = Vec::new();
    for job in page.items {
        let wanted = *look_ups > 0 && job.count("executionCount") > 0;
        *look_ups -= usize::from(wanted);
        let last = if wanted { last(ctx, &job).await? } else { None };
        rows.push(JobRow { job, last });
    }
    Ok((rows, page.next))
}

/// The result of the latest attempt of a job.
async fn last(ctx: &PageContext, job: &JobDocument) -> Result<Option<String>, PageError> {
    let found: Option<AttemptPage> = ctx.find(&format!("{}/history?limit=1", job.place().api())).await?;
    Ok(found.and_then(|page| page.items.into_iter().next()).map(|attempt| attempt.status))
}

fn search(ctx: &PageContext) -> Markup {
    html! {
        form.search method="get" action="/ui/jobs" role="search" {
            (components::field("name", "Name", "", html! { input #name name="name" value=[ctx.query_value("name")]; }))
            (components::field("state", "State", "", components::choice("state", &STATES, &ctx.query_value("state").unwrap_or_default(), "")))
            button type="submit" { "Search" }
            a.button.primary href={ "/ui/jobs/" (super::NEW) } { "New job" }
        }
    }
}

fn collections(items: &[CollectionDocument]) -> Markup {
    if items.is_empty() {
        let hint = html! { "Jobs are grouped in collections. “New job” can create one." };
        return components::empty("No collections", hint);
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Collections" {
            table {
                thead { tr { th { "Collection" } th { "State" } th { "Plan" } th.number { "Jobs" } } }
                tbody {
                    @for collection in items {
                        tr {
                            td { a href=(collection_address(&collection.collection)) { (collection.collection) } }
                            td { (components::badge(&collection.state().to_lowercase())) }
                            td { (collection.plan()) }
                            td.number { (components::count(collection.jobs)) }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn table(rows: &[JobRow]) -> Markup {
    if rows.is_empty() {
        return components::empty("No jobs", html! { "A job runs an action once or on a schedule." });
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Jobs" {
            table {
                thead { tr {
                    th { "Job" } th { "State" } th { "Action" } th { "Schedule" } th { "Next" } th { "Last" } th { "Last result" } th.number { "Failures" }
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
            td { (components::badge(job.state())) }
            td { (describe::kind(&job.properties)) }
            td.why { (describe::when(&job.properties)) }
            td { @if let Some(next) = job.time("nextExecutionTime") { (components::time(next)) } @else { span.quiet { "–" } } }
            td { @if let Some(time) = job.time("lastExecutionTime") { (components::time(time)) } @else { span.quiet { "never" } } }
            td { @if let Some(last) = last { (components::badge(last)) } }
            td.number { (components::count(job.count("failureCount"))) " of " (components::count(job.count("executionCount"))) }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pages::fake_api::{self, now};

    /// The page of a search in many collections, the last of which has the job; and how often the API was queried for a
    /// history.
    fn searched(at: &str, count: usize, each: usize) -> (String, usize) {
        let (ctx, sent) = fake_api::context(at, &[], move |(_, path, _)| {
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
        let shown = now(show(&ctx)).expect("a page").content().into_string();
        let histories = sent.lock().unwrap().iter().filter(|(_, path, _)| path.contains("/history")).count();
        (shown, histories)
    }

    #[test]
    fn a_search_looks_everywhere_or_says_where_it_did_not() {
        let (shown, _) = searched("/ui/jobs?name=j", 30, 0);
        assert!(shown.contains("href=\"/ui/jobs/c/j\""), "{shown}");
        assert!(!shown.contains("No matching jobs") && !shown.contains("not searched"), "{shown}");
        let (shown, _) = searched("/ui/jobs?name=j", SEARCHED_MAX + 2, 0);
        assert!(shown.contains("2 collections were not searched"), "{shown}");
        assert!(!shown.contains("No matching jobs"), "{shown}");
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
