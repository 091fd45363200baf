//! Workflows: which there are, what each does, its versions, and a form to start a run of it.

mod diff;
mod edit;
mod form;
mod graph;
mod start;
mod versions;

use std::collections::BTreeMap;

use api_types::{RunPage, WorkflowList, WorkflowView};
use http::Method;
use maud::{Markup, html};
use serde_json::Value;

pub(super) use versions::difference;

use super::FormOutcome;
use crate::page::{NavSection, Page};
use crate::pieces;
use crate::trouble::PageError;
use crate::visit::{Visit, decoded, encoded, place};

/// Runs that are counted by their status: those under way first, then the newest that have ended.
const RECENT: usize = 50;
/// No workflow has such a name.
const NEW: &str = "~new";
/// Workflows whose runs are counted in the list; each costs a look at the runs every second.
const COUNTED_MAX: usize = 12;

pub(super) async fn show(visit: &Visit, rest: &[&str]) -> Result<Page, PageError> {
    match rest {
        [] => list(visit).await,
        [NEW] => Ok(edit::new_page()),
        [name] => one(visit, &decoded(name)?).await,
        [name, "edit"] => edit::show(visit, &decoded(name)?).await,
        [name, "start"] => start::show(visit, &decoded(name)?).await,
        [name, "versions"] => versions::show(visit, &decoded(name)?).await,
        _ => Err(PageError::NotFound),
    }
}

pub(super) async fn act(visit: &Visit, rest: &[&str]) -> Result<FormOutcome, PageError> {
    match rest {
        [NEW] => edit::act(visit, None).await,
        [name, "edit"] => edit::act(visit, Some(&decoded(name)?)).await,
        [name, "start"] => start::act(visit, &decoded(name)?).await,
        [name, "delete"] => {
            let name = decoded(name)?;
            visit.send(Method::DELETE, &api(&name), &Value::Null).await?;
            Ok(FormOutcome::Done {
                to: "/ui/workflows".to_owned(),
                message: format!("{name} takes no more requests."),
            })
        }
        _ => Err(PageError::NotFound),
    }
}

fn api(name: &str) -> String {
    format!("/v1/workflows/{}", encoded(name))
}

fn address(name: &str) -> String {
    format!("/ui/workflows/{}", encoded(name))
}

async fn list(visit: &Visit) -> Result<Page, PageError> {
    let WorkflowList { items } = visit.get("/v1/workflows").await?;
    let mut counted = Vec::new();
    for workflow in items.iter().take(COUNTED_MAX) {
        counted.push(recent(visit, &workflow.name).await?);
    }
    Ok(Page::new("Workflows", NavSection::Workflows)
        .part(html! { p.actions { a.button.primary href={ "/ui/workflows/" (NEW) } { "New workflow" } } })
        .live("workflows", table(&items, &counted)))
}

/// How many runs have which status, of as many as are looked at.
async fn recent(visit: &Visit, name: &str) -> Result<RecentRuns, PageError> {
    let query = [("workflow", Some(name.to_owned())), ("limit", Some(RECENT.to_string()))];
    let page: RunPage = visit.get(&place("/v1/runs", query)).await?;
    let mut counts = BTreeMap::new();
    for run in &page.items {
        *counts.entry(run.status.to_string()).or_insert(0) += 1;
    }
    Ok(RecentRuns { counts, more: page.next.is_some() })
}

#[derive(Default)]
struct RecentRuns {
    counts: BTreeMap<String, usize>,
    /// Whether there are runs that were not counted.
    more: bool,
}

fn table(workflows: &[WorkflowView], counted: &[RecentRuns]) -> Markup {
    if workflows.is_empty() {
        let hint =
            html! { "Make one with “New workflow”, or with " code { "sortie workflow apply FILE" } "." };
        return pieces::empty("No workflows", hint);
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label="Workflows" {
            table {
                thead { tr {
                    th { "Workflow" } th.number { "Version" } th.number { "Steps" } th { "Route" } th { "Applied" }
                    th { "Runs" } th { span.unseen { "Start" } }
                } }
                tbody {
                    @for (index, workflow) in workflows.iter().enumerate() {
                        tr {
                            td { a href=(address(&workflow.name)) { (workflow.name) } }
                            td.number { (workflow.version) }
                            td.number { (workflow.steps.len()) }
                            td { @if let Some(route) = &workflow.route { code { (route) } } }
                            td { (pieces::time(workflow.applied_at)) " by " (workflow.applied_by) }
                            td { @if let Some(recent) = counted.get(index) { (counts(&workflow.name, recent)) } }
                            td { a href={ (address(&workflow.name)) "/start" } aria-label={ "Start a run of " (workflow.name) } { "Start a run" } }
                        }
                    }
                }
            }
        }
    }
}

fn counts(name: &str, recent: &RecentRuns) -> Markup {
    html! {
        @if recent.counts.is_empty() { span.quiet { "none" } }
        span.badges {
            @for (status, count) in &recent.counts {
                @let query = [("workflow", Some(name.to_owned())), ("status", Some(status.clone()))];
                a.plain href=(place("/ui/runs", query)) { (pieces::badge(status)) " " (count) }
            }
            @if recent.more { span.quiet { "of " (RECENT) ", those under way first" } }
        }
    }
}

async fn one(visit: &Visit, name: &str) -> Result<Page, PageError> {
    let present: Option<WorkflowView> = visit.find(&api(name)).await?;
    let in_force = present.as_ref().map(|present| present.version);
    let workflow = match (visit.query_value("version"), present) {
        (Some(version), _) => visit.get(&place(&api(name), [("version", Some(version))])).await?,
        (None, Some(present)) => present,
        (None, None) => {
            // Answers that there is no such workflow, unless its versions were kept when it was deleted.
            let _kept: WorkflowList = visit.get(&format!("{}/versions", api(name))).await?;
            return Err(PageError::Moved(format!("{}/versions", address(name))));
        }
    };
    let recent = recent(visit, name).await?;
    Ok(page(&workflow, in_force, &recent))
}

fn page(workflow: &WorkflowView, in_force: Option<u32>, recent: &RecentRuns) -> Page {
    let name = &workflow.name;
    let route = workflow.route.as_ref().map(|route| html! { code { (route) } });
    let mut facts = vec![
        ("Version", html! { (workflow.version) }),
        ("Applied", html! { (pieces::time(workflow.applied_at)) " by " (workflow.applied_by) }),
        ("Runs with one key", html! { (if workflow.serial { "one after another" } else { "side by side" }) }),
    ];
    facts.extend(route.map(|route| ("Own route", route)));
    facts.push(("Runs", counts(name, recent)));
    Page::new(name, NavSection::Workflows)
        .live("workflow", html! { (not_in_force(workflow, in_force)) (pieces::facts(&facts)) })
        .part(actions(name, in_force.is_some()))
        .live("steps", html! { h2 { "Steps" } (graph::drawn(&workflow.steps)) })
        .part(html! {
            h2 { "Definition" }
            (pieces::copyable("The definition", workflow.source.as_deref().unwrap_or_default()))
        })
}

/// That this is not the version that new runs have.
fn not_in_force(workflow: &WorkflowView, in_force: Option<u32>) -> Markup {
    html! {
        @match in_force {
            Some(version) if version == workflow.version => {},
            Some(version) => {
                div.fine role="status" {
                    strong { "This is version " (workflow.version) ", an older one." }
                    " New runs have " a href=(address(&workflow.name)) { "version " (version) } "."
                }
            },
            None => {
                div.fine role="status" {
                    strong { "This is version " (workflow.version) " of a workflow that was deleted." }
                    " It takes no more requests."
                }
            },
        }
    }
}

fn actions(name: &str, is_in_force: bool) -> Markup {
    let question = format!("Delete {name}? It takes no more requests; runs under way go on.");
    html! {
        div.actions {
            @if is_in_force { a.button.primary href={ (address(name)) "/start" } { "Start a run" } }
            a.button href=(place("/ui/runs", [("workflow", Some(name.to_owned()))])) { "Its runs" }
            @if is_in_force { a.button href={ (address(name)) "/edit" } { "Edit" } }
            a.button href={ (address(name)) "/versions" } { "Versions" }
            @if is_in_force {
                (pieces::button(&format!("{}/delete", address(name)), "Delete", Some(&question), &[]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pages::pretend::{self, now, refused};

    fn version(version: u32) -> Value {
        json!({ "name": "w", "version": version, "serial": false, "steps": [], "applied_by": "ann",
            "applied_at": "2026-03-01T12:00:00.000Z", "source": format!("text of {version}") })
    }

    /// What is shown at a place, with versions 1 to 3 of which 3 is in force unless it was deleted.
    fn shown(at: &str, is_deleted: bool) -> Result<String, PageError> {
        let (visit, _) = pretend::visit(at, &[], move |(_, path, _)| match path.as_str() {
            "/v1/workflows/w" if is_deleted => refused(404, "no workflow"),
            "/v1/workflows/w" => (200, version(3)),
            "/v1/workflows/w?version=2" => (200, version(2)),
            "/v1/workflows/w?version=3" => (200, version(3)),
            "/v1/workflows/w/versions" => (200, json!({ "items": [version(3), version(2)] })),
            path if path.starts_with("/v1/runs?") => (200, json!({ "items": [] })),
            _ => refused(404, "nothing"),
        });
        let rest = visit.path_segments()[2..].to_vec();
        now(show(&visit, &rest)).map(|page| page.content().into_string())
    }

    #[test]
    fn a_version_is_shown_as_it_was_and_says_that_it_is_older() {
        let older = shown("/ui/workflows/w?version=2", false).unwrap();
        assert!(older.contains("text of 2") && older.contains("an older one"), "{older}");
        for at in ["/ui/workflows/w", "/ui/workflows/w?version=3"] {
            let present = shown(at, false).unwrap();
            assert!(present.contains("text of 3") && !present.contains("an older one"), "{present}");
        }
        assert!(matches!(shown("/ui/workflows/w?version=9", false), Err(PageError::Problem(_))));
    }

    #[test]
    fn what_was_deleted_is_reached_by_its_versions() {
        let Err(PageError::Moved(to)) = shown("/ui/workflows/w", true) else { panic!("not moved") };
        assert_eq!(to, "/ui/workflows/w/versions");
        let versions = shown(&to, true).unwrap();
        assert!(
            versions.contains("href=\"/ui/workflows/w?version=2\"") && versions.contains("deleted"),
            "{versions}"
        );
        let kept = shown("/ui/workflows/w?version=2", true).unwrap();
        assert!(kept.contains("text of 2") && kept.contains("was deleted"), "{kept}");
        assert!(!kept.contains("Start a run") && !kept.contains("/delete"), "{kept}");
        assert!(matches!(shown("/ui/workflows/other", false), Err(PageError::Problem(_))));
    }

    #[test]
    fn the_list_leads_on_and_foreign_text_stays_text() {
        let hostile = "<script>x</script>";
        let workflow = WorkflowView {
            name: hostile.to_owned(),
            version: 3,
            route: Some(hostile.to_owned()),
            serial: false,
            steps: Vec::new(),
            applied_at: api_types::Time::default(),
            applied_by: hostile.to_owned(),
            source: None,
            schema: None,
        };
        let recent = RecentRuns { counts: [("parked".to_owned(), 2)].into(), more: true };
        let shown = table(&[workflow], &[recent]).into_string();
        assert!(!shown.contains("<script>"), "{shown}");
        assert!(shown.contains("/ui/workflows/%3Cscript%3Ex%3C%2Fscript%3E/start"), "{shown}");
        assert!(shown.contains("status=parked") && shown.contains("of 50, those under way first"), "{shown}");
    }
}
