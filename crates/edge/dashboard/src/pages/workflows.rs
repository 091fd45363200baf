//! Workflows: list, definition, versions, editor, and the form to start a run.

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
use crate::components;
use crate::context::{PageContext, decoded, encoded, place};
use crate::error::PageError;
use crate::page::{NavSection, Page};

/// Runs that are counted by status: live runs first, then the newest that have ended.
const RECENT: usize = 50;
/// Not a valid name of a workflow, so it cannot collide with one.
const NEW: &str = "~new";
/// Workflows whose runs are counted in the list; each one costs an API call per second.
const COUNTED_MAX: usize = 12;

pub(super) async fn show(ctx: &PageContext, rest: &[&str]) -> Result<Page, PageError> {
    match rest {
        [] => list(ctx).await,
        [NEW] => Ok(edit::new_page()),
        [name] => one(ctx, &decoded(name)?).await,
        [name, "edit"] => edit::show(ctx, &decoded(name)?).await,
        [name, "start"] => start::show(ctx, &decoded(name)?).await,
        [name, "versions"] => versions::show(ctx, &decoded(name)?).await,
        _ => Err(PageError::NotFound),
    }
}

pub(super) async fn act(ctx: &PageContext, rest: &[&str]) -> Result<FormOutcome, PageError> {
    match rest {
        [NEW] => edit::act(ctx, None).await,
        [name, "edit"] => edit::act(ctx, Some(&decoded(name)?)).await,
        [name, "start"] => start::act(ctx, &decoded(name)?).await,
        [name, "delete"] => {
            let name = decoded(name)?;
            ctx.send(Method::DELETE, &api(&name), &Value::Null).await?;
            Ok(FormOutcome::Done { to: "/ui/workflows".to_owned(), message: format!("Deleted {name}.") })
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

async fn list(ctx: &PageContext) -> Result<Page, PageError> {
    let WorkflowList { items } = ctx.get("/v1/workflows").await?;
    let mut counted = Vec::new();
    for workflow in items.iter().take(COUNTED_MAX) {
        counted.push(recent(ctx, &workflow.name).await?);
    }
    Ok(Page::new("Workflows", NavSection::Workflows)
        .part(html! { p.actions { a.button.primary href={ "/ui/workflows/" (NEW) } { "New workflow" } } })
        .live("workflows", table(&items, &counted)))
}

/// The number of recent runs by status.
async fn recent(ctx: &PageContext, name: &str) -> Result<RecentRuns, PageError> {
    let query = [("workflow", Some(name.to_owned())), ("limit", Some(RECENT.to_string()))];
    let page: RunPage = ctx.get(&place("/v1/runs", query)).await?;
    let mut counts = BTreeMap::new();
    for run in &page.items {
        *counts.entry(run.status.to_string()).or_insert(0) += 1;
    }
    Ok(RecentRuns { counts, more: page.next.is_some() })
}

#[derive(Default)]
struct RecentRuns {
    counts: BTreeMap<String, usize>,
    /// Whether more runs exist than were counted.
    more: bool,
}

fn table(workflows: &[WorkflowView], counted: &[RecentRuns]) -> Markup {
    if workflows.is_empty() {
        let hint =
            html! { "Create one with “New workflow”, or with " code { "sortie workflow apply FILE" } "." };
        return components::empty("No workflows", hint);
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
                            td { (components::time(workflow.applied_at)) " by " (workflow.applied_by) }
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
                a.plain href=(place("/ui/runs", query)) { (components::badge(status)) " " (count) }
            }
            @if recent.more { span.quiet { "of the latest " (RECENT) " runs" } }
        }
    }
}

async fn one(ctx: &PageContext, name: &str) -> Result<Page, PageError> {
    let present: Option<WorkflowView> = ctx.find(&api(name)).await?;
    let active = present.as_ref().map(|present| present.version);
    let workflow = match (ctx.query_value("version"), present) {
        (Some(version), _) => ctx.get(&place(&api(name), [("version", Some(version))])).await?,
        (None, Some(present)) => present,
        (None, None) => {
            // Fails with 404 unless the workflow was deleted and its versions were kept.
            let _kept: WorkflowList = ctx.get(&format!("{}/versions", api(name))).await?;
            return Err(PageError::Moved(format!("{}/versions", address(name))));
        }
    };
    let recent = recent(ctx, name).await?;
    Ok(page(&workflow, active, &recent))
}

fn page(workflow: &WorkflowView, active: Option<u32>, recent: &RecentRuns) -> Page {
    let name = &workflow.name;
    let route = workflow.route.as_ref().map(|route| html! { code { (route) } });
    let mut facts = vec![
        ("Version", html! { (workflow.version) }),
        ("Applied", html! { (components::time(workflow.applied_at)) " by " (workflow.applied_by) }),
        ("Runs with the same key", html! { (if workflow.serial { "sequential" } else { "parallel" }) }),
    ];
    facts.extend(route.map(|route| ("Route", route)));
    facts.push(("Runs", counts(name, recent)));
    Page::new(name, NavSection::Workflows)
        .live("workflow", html! { (inactive_note(workflow, active)) (components::facts(&facts)) })
        .part(actions(name, active.is_some()))
        .live("steps", html! { h2 { "Steps" } (graph::drawn(&workflow.steps)) })
        .part(html! {
            h2 { "Definition" }
            (components::copyable("Definition", workflow.source.as_deref().unwrap_or_default()))
        })
}

/// A note that this is not the active version.
fn inactive_note(workflow: &WorkflowView, active: Option<u32>) -> Markup {
    html! {
        @match active {
            Some(version) if version == workflow.version => {},
            Some(version) => {
                div.fine role="status" {
                    strong { "Version " (workflow.version) " is not the active version." }
                    " New runs use " a href=(address(&workflow.name)) { "version " (version) } "."
                }
            },
            None => {
                div.fine role="status" {
                    strong { "Version " (workflow.version) " of a deleted workflow." }
                    " It no longer accepts requests."
                }
            },
        }
    }
}

fn actions(name: &str, is_active: bool) -> Markup {
    let question = format!("Delete {name}? It stops accepting requests; runs in progress continue.");
    html! {
        div.actions {
            @if is_active { a.button.primary href={ (address(name)) "/start" } { "Start a run" } }
            a.button href=(place("/ui/runs", [("workflow", Some(name.to_owned()))])) { "View runs" }
            @if is_active { a.button href={ (address(name)) "/edit" } { "Edit" } }
            a.button href={ (address(name)) "/versions" } { "Versions" }
            @if is_active {
                (components::button(&format!("{}/delete", address(name)), "Delete", Some(&question), &[]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pages::fake_api::{self, now, refused};

    fn version(version: u32) -> Value {
        json!({ "name": "w", "version": version, "serial": false, "steps": [], "applied_by": "ann",
            "applied_at": "2026-03-01T12:00:00.000Z", "source": format!("text of {version}") })
    }

    /// The page at an address, with versions 1 to 3, of which 3 is active unless the workflow was deleted.
    fn shown(at: &str, is_deleted: bool) -> Result<String, PageError> {
        let (ctx, _) = fake_api::context(at, &[], move |(_, path, _)| match path.as_str() {
            "/v1/workflows/w" if is_deleted => refused(404, "no workflow"),
            "/v1/workflows/w" => (200, version(3)),
            "/v1/workflows/w?version=2" => (200, version(2)),
            "/v1/workflows/w?version=3" => (200, version(3)),
            "/v1/workflows/w/versions" => (200, json!({ "items": [version(3), version(2)] })),
            path if path.starts_with("/v1/runs?") => (200, json!({ "items": [] })),
            _ => refused(404, "nothing"),
        });
        let rest = ctx.path_segments()[2..].to_vec();
        now(show(&ctx, &rest)).map(|page| page.content().into_string())
    }

    #[test]
    fn a_version_is_shown_as_it_was_and_says_that_it_is_older() {
        let older = shown("/ui/workflows/w?version=2", false).unwrap();
        assert!(older.contains("text of 2") && older.contains("not the active version"), "{older}");
        for at in ["/ui/workflows/w", "/ui/workflows/w?version=3"] {
            let present = shown(at, false).unwrap();
            assert!(
                present.contains("text of 3") && !present.contains("not the active version"),
                "{present}"
            );
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
        assert!(kept.contains("text of 2") && kept.contains("deleted workflow"), "{kept}");
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
        assert!(shown.contains("status=parked") && shown.contains("of the latest 50 runs"), "{shown}");
    }
}
