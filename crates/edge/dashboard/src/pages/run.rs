//! One run: its status and reason, its steps over time, and the possible actions.

pub(super) mod decisions;
mod drawing;
mod step;
mod timeline;
mod waterfall;
mod why;

use std::time::{SystemTime, UNIX_EPOCH};

use api_types::{RunDetail, StepView};
use bytes::Bytes;
use http::Method;
use maud::{Markup, html};
use serde::Deserialize;
use types::{RunStatus, Timestamp};

use crate::components;
use crate::context::{PageContext, decoded, encoded, place};
use crate::error::PageError;
use crate::page::{NavSection, Page};
use crate::pages::FormOutcome;

use decisions::DecisionForm;

/// The workflow of every occurrence of a job.
pub(super) const JOB: &str = types::JOB_WORKFLOW;

/// The page of a run.
pub(super) async fn show(ctx: &PageContext, id: &str) -> Result<Page, PageError> {
    let run = find(ctx, &decoded(id)?).await?;
    Ok(page(&run, now(), None))
}

/// The page of a step.
pub(super) async fn show_step(ctx: &PageContext, id: &str, name: &str) -> Result<Page, PageError> {
    let run = find(ctx, &decoded(id)?).await?;
    step::page(ctx, &run, &decoded(name)?).await
}

/// The run as the API returns it.
pub(crate) async fn raw(ctx: &PageContext, id: &str) -> Result<Bytes, PageError> {
    ctx.call(Method::GET, &format!("/v1/runs/{}", encoded(&decoded(id)?)), Bytes::new(), "").await
}

/// Handles a form on the page of a run.
pub(super) async fn act(ctx: &PageContext, id: &str, what: &str) -> Result<FormOutcome, PageError> {
    let id = decoded(id)?;
    match what {
        "cancel" => {
            let path = format!("/v1/runs/{}/cancel", encoded(&id));
            ctx.send(Method::POST, &path, &serde_json::Value::Null).await?;
            Ok(FormOutcome::Done { to: run_path(&id), message: "Rolling back.".to_owned() })
        }
        "decide" => match decisions::decide(ctx, &id).await? {
            Ok(said) => {
                let is_listed = ctx.field("back").as_deref() == Some("parked");
                let to = if is_listed { "/ui/parked".to_owned() } else { run_path(&id) };
                Ok(FormOutcome::Done { to, message: said })
            }
            Err(typed) => {
                let run = find(ctx, &id).await?;
                Ok(FormOutcome::Invalid(page(&run, now(), Some(&typed))))
            }
        },
        _ => Err(PageError::NotFound),
    }
}

async fn find(ctx: &PageContext, id: &str) -> Result<RunDetail, PageError> {
    ctx.get(&format!("/v1/runs/{}", encoded(id))).await
}

/// The page of a run.
pub(super) fn run_path(id: &str) -> String {
    format!("/ui/runs/{}", encoded(id))
}

/// The page of a step.
fn step_path(id: &str, step: &str, work: Option<&str>) -> String {
    let path = format!("{}/steps/{}", run_path(id), encoded(step));
    place(&path, [("work", work.map(str::to_owned))])
}

/// The state of a step. A step that waits in an ended run will never start.
fn state<'r>(run: &RunDetail, step: &'r StepView) -> &'r str {
    if step.state == "waiting" && run.summary.status.is_final() { "not_started" } else { &step.state }
}

pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn page(run: &RunDetail, now: Timestamp, typed: Option<&DecisionForm>) -> Page {
    Page::new(&format!("Run {}", run.summary.id), NavSection::Runs)
        .live("state", state_section(run))
        .live("deciding", deciding(run, typed))
        .live("waterfall", drawing::draw(run, now))
        .live("timeline", timeline::list(&run.timeline))
        .part(asked(run))
}

fn state_section(run: &RunDetail) -> Markup {
    let summary = &run.summary;
    let took = summary.ended_at.map(|end| (end.0.0 - summary.accepted_at.0.0).max(0) as f64);
    html! {
        div.run-state {
            p.why-line { (components::status(summary.status)) " " (why::sentence(run)) }
            (components::facts(&[
                ("Workflow", origin(run)),
                ("Key", html! { a.id href=(place("/ui/runs", [("key", Some(summary.key.clone()))])) { (summary.key) } }),
                ("Partition", html! { (run.partition) }),
                ("Accepted", components::time(summary.accepted_at)),
                ("Duration", html! { (took.map_or_else(|| "in progress".to_owned(), components::span)) }),
            ]))
            div.actions {
                (actions(run))
                a.button href={ (run_path(&summary.id)) "/raw" } { "Raw JSON" }
            }
        }
    }
}

/// The origin of a run: a version of a workflow, or a job.
fn origin(run: &RunDetail) -> Markup {
    let summary = &run.summary;
    if let Some(job) = job_of(run) {
        return html! { "job " a href=(job.path()) { (job.name) } " of " (job.collection) };
    }
    let path = format!("/ui/workflows/{}", encoded(&summary.workflow));
    html! {
        a href=(place(&path, [("version", Some(summary.version.to_string()))])) {
            (summary.workflow) " version " (summary.version)
        }
    }
}

/// The job that a run is an occurrence of.
struct JobLink {
    /// As paths name it.
    collection: String,
    name: String,
}

impl JobLink {
    fn path(&self) -> String {
        format!("/ui/jobs/{}/{}", encoded(&self.collection), encoded(&self.name))
    }
}

fn job_of(run: &RunDetail) -> Option<JobLink> {
    #[derive(Deserialize)]
    struct Occurrence {
        collection: String,
        job: String,
    }
    let request = run.request.as_ref().filter(|_| run.summary.workflow == JOB)?;
    let Occurrence { collection, job } = serde_json::from_str(request.get()).ok()?;
    let native = collection.strip_prefix("00000000-0000-0000-0000-000000000000/default/");
    let collection = native.map_or_else(|| collection.replace('/', "~"), str::to_owned);
    Some(JobLink { collection, name: job })
}

fn actions(run: &RunDetail) -> Markup {
    let id = &run.summary.id;
    match run.summary.status {
        RunStatus::Accepted | RunStatus::Queued | RunStatus::Running => {
            let question = format!("Cancel run {id}? The steps it has done are undone.");
            components::button(&format!("{}/cancel", run_path(id)), "Cancel", Some(&question), &[])
        }
        RunStatus::Undoing | RunStatus::Parked => html! {},
        RunStatus::Undone | RunStatus::GivenUp if run.summary.workflow != JOB => {
            let asked = [("id", Some(id.clone())), ("action", Some("rerun".to_owned()))];
            html! { a.button href=(place("/ui/bulk/new", asked)) { "Rerun…" } }
        }
        RunStatus::Completed | RunStatus::Undone | RunStatus::GivenUp => html! {},
    }
}

fn deciding(run: &RunDetail, typed: Option<&DecisionForm>) -> Markup {
    html! {
        @if let Some(problem) = typed.and_then(|typed| typed.problem.as_ref()) { (components::problem(problem)) }
        @if run.summary.status == RunStatus::Parked {
            section aria-label="Decisions" {
                h2 { "Resolve" }
                (decisions::forms(run, None, typed))
            }
        }
    }
}

/// The request that started the run.
fn asked(run: &RunDetail) -> Markup {
    html! {
        @if let Some(request) = &run.request {
            h2 { "Request" }
            (components::copyable("Request", &pretty(request.get())))
        }
    }
}

/// Indented JSON; other text unchanged.
fn pretty(json: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(json);
    value.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| json.to_owned())
}

#[cfg(test)]
mod tests;
