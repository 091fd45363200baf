//! Workflows: which there are, what each does, its versions, and a form to start a run of it.

mod diff;
mod edit;
mod form;
mod graph;
mod start;
mod versions;

use std::collections::BTreeMap;

use http::Method;
use maud::{Markup, html};
use serde_json::Value;
use wire::{RunPage, WorkflowList, WorkflowView};

use super::Acted;
use crate::page::{Page, Place};
use crate::pieces;
use crate::trouble::Trouble;
use crate::visit::{Visit, decoded, encoded, place};

/// Runs that are counted by their status.
const RECENT: usize = 50;
/// Workflows whose runs are counted in the list; each costs a look at the runs every second.
const COUNTED_MAX: usize = 12;

pub(super) async fn show(visit: &Visit, rest: &[&str]) -> Result<Page, Trouble> {
    match rest {
        [] => list(visit).await,
        ["new"] => Ok(edit::new_page()),
        [name] => one(visit, &decoded(name)?).await,
        [name, "edit"] => edit::show(visit, &decoded(name)?).await,
        [name, "start"] => start::show(visit, &decoded(name)?).await,
        [name, "versions"] => versions::show(visit, &decoded(name)?).await,
        _ => Err(Trouble::NotFound),
    }
}

pub(super) async fn act(visit: &Visit, rest: &[&str]) -> Result<Acted, Trouble> {
    match rest {
        ["new"] => edit::act(visit, None).await,
        [name, "edit"] => edit::act(visit, Some(&decoded(name)?)).await,
        [name, "start"] => start::act(visit, &decoded(name)?).await,
        [name, "delete"] => {
            let name = decoded(name)?;
            visit.send(Method::DELETE, &api(&name), &Value::Null).await?;
            Ok(Acted::Done {
                to: "/ui/workflows".to_owned(),
                said: format!("{name} takes no more requests."),
            })
        }
        _ => Err(Trouble::NotFound),
    }
}

fn api(name: &str) -> String {
    format!("/v1/workflows/{}", encoded(name))
}

fn address(name: &str) -> String {
    format!("/ui/workflows/{}", encoded(name))
}

async fn list(visit: &Visit) -> Result<Page, Trouble> {
    let WorkflowList { items } = visit.get("/v1/workflows").await?;
    let mut counted = Vec::new();
    for workflow in items.iter().take(COUNTED_MAX) {
        counted.push(recent(visit, &workflow.name).await?);
    }
    Ok(Page::new("Workflows", Place::Workflows)
        .part(html! { p.actions { a.button.primary href="/ui/workflows/new" { "New workflow" } } })
        .live("workflows", table(&items, &counted)))
}

/// How many of the newest runs have which status.
async fn recent(visit: &Visit, name: &str) -> Result<Recent, Trouble> {
    let query = [("workflow", Some(name.to_owned())), ("limit", Some(RECENT.to_string()))];
    let page: RunPage = visit.get(&place("/v1/runs", query)).await?;
    let mut counts = BTreeMap::new();
    for run in &page.items {
        *counts.entry(run.status.to_string()).or_insert(0) += 1;
    }
    Ok(Recent { counts, more: page.next.is_some() })
}

#[derive(Default)]
struct Recent {
    counts: BTreeMap<String, usize>,
    /// Whether there are older runs that were not counted.
    more: bool,
}

fn table(workflows: &[WorkflowView], counted: &[Recent]) -> Markup {
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
                    th { "Newest runs" } th { span.unseen { "Start" } }
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

fn counts(name: &str, recent: &Recent) -> Markup {
    html! {
        @if recent.counts.is_empty() { span.quiet { "none" } }
        span.badges {
            @for (status, count) in &recent.counts {
                @let query = [("workflow", Some(name.to_owned())), ("status", Some(status.clone()))];
                a.plain href=(place("/ui/runs", query)) { (pieces::badge(status)) " " (count) }
            }
            @if recent.more { span.quiet { "of the newest " (RECENT) } }
        }
    }
}

async fn one(visit: &Visit, name: &str) -> Result<Page, Trouble> {
    let workflow: WorkflowView = visit.get(&api(name)).await?;
    let recent = recent(visit, name).await?;
    let route = workflow.route.as_ref().map(|route| html! { code { (route) } });
    let mut facts = vec![
        ("Version", html! { (workflow.version) }),
        ("Applied", html! { (pieces::time(workflow.applied_at)) " by " (workflow.applied_by) }),
        ("Runs with one key", html! { (if workflow.serial { "one after another" } else { "side by side" }) }),
    ];
    facts.extend(route.map(|route| ("Own route", route)));
    facts.push(("Newest runs", counts(name, &recent)));
    Ok(Page::new(name, Place::Workflows)
        .live("workflow", pieces::facts(&facts))
        .part(actions(name))
        .live("steps", html! { h2 { "Steps" } (graph::drawn(&workflow.steps)) })
        .part(html! {
            h2 { "Definition" }
            (pieces::copyable("The definition", workflow.source.as_deref().unwrap_or_default()))
        }))
}

fn actions(name: &str) -> Markup {
    let question = format!("Delete {name}? It takes no more requests; runs under way go on.");
    html! {
        div.actions {
            a.button.primary href={ (address(name)) "/start" } { "Start a run" }
            a.button href=(place("/ui/runs", [("workflow", Some(name.to_owned()))])) { "Its runs" }
            a.button href={ (address(name)) "/edit" } { "Edit" }
            a.button href={ (address(name)) "/versions" } { "Versions" }
            (pieces::button(&format!("{}/delete", address(name)), "Delete", Some(&question), &[]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_leads_on_and_foreign_text_stays_text() {
        let hostile = "<script>x</script>";
        let workflow = WorkflowView {
            name: hostile.to_owned(),
            version: 3,
            route: Some(hostile.to_owned()),
            serial: false,
            steps: Vec::new(),
            applied_at: wire::Time::default(),
            applied_by: hostile.to_owned(),
            source: None,
            schema: None,
        };
        let recent = Recent { counts: [("parked".to_owned(), 2)].into(), more: true };
        let shown = table(&[workflow], &[recent]).into_string();
        assert!(!shown.contains("<script>"), "{shown}");
        assert!(shown.contains("/ui/workflows/%3Cscript%3Ex%3C%2Fscript%3E/start"), "{shown}");
        assert!(shown.contains("status=parked") && shown.contains("of the newest 50"), "{shown}");
    }
}
