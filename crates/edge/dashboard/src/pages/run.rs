//! One run: why it stands where it stands, its steps over time, and what can be done about it.

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

use crate::page::{NavSection, Page};
use crate::pages::FormOutcome;
use crate::pieces;
use crate::trouble::PageError;
use crate::visit::{Visit, decoded, encoded, place};

use decisions::DecisionForm;

/// The workflow of every occurrence of a job.
pub(super) const JOB: &str = "job";

/// The page of a run.
pub(super) async fn show(visit: &Visit, id: &str) -> Result<Page, PageError> {
    let run = find(visit, &decoded(id)?).await?;
    Ok(page(&run, now(), None))
}

/// The page of a step.
pub(super) async fn show_step(visit: &Visit, id: &str, name: &str) -> Result<Page, PageError> {
    let run = find(visit, &decoded(id)?).await?;
    step::page(visit, &run, &decoded(name)?).await
}

/// A run as the API has it.
pub(crate) async fn raw(visit: &Visit, id: &str) -> Result<Bytes, PageError> {
    visit.call(Method::GET, &format!("/v1/runs/{}", encoded(&decoded(id)?)), Bytes::new(), "").await
}

/// A form of a run's page.
pub(super) async fn act(visit: &Visit, id: &str, what: &str) -> Result<FormOutcome, PageError> {
    let id = decoded(id)?;
    match what {
        "cancel" => {
            let path = format!("/v1/runs/{}/cancel", encoded(&id));
            visit.send(Method::POST, &path, &serde_json::Value::Null).await?;
            Ok(FormOutcome::Done { to: run_path(&id), message: "It is turning back.".to_owned() })
        }
        "decide" => match decisions::decide(visit, &id).await? {
            Ok(said) => {
                let is_listed = visit.field("back").as_deref() == Some("parked");
                let to = if is_listed { "/ui/parked".to_owned() } else { run_path(&id) };
                Ok(FormOutcome::Done { to, message: said })
            }
            Err(typed) => {
                let run = find(visit, &id).await?;
                Ok(FormOutcome::Invalid(page(&run, now(), Some(&typed))))
            }
        },
        _ => Err(PageError::NotFound),
    }
}

async fn find(visit: &Visit, id: &str) -> Result<RunDetail, PageError> {
    visit.get(&format!("/v1/runs/{}", encoded(id))).await
}

/// Where a run is shown.
pub(super) fn run_path(id: &str) -> String {
    format!("/ui/runs/{}", encoded(id))
}

/// Where a step of a run is shown.
fn step_path(id: &str, step: &str, work: Option<&str>) -> String {
    let path = format!("{}/steps/{}", run_path(id), encoded(step));
    place(&path, [("work", work.map(str::to_owned))])
}

/// The state of a step in a word. What waits in a run that has ended never begins.
fn state<'r>(run: &RunDetail, step: &'r StepView) -> &'r str {
    if step.state == "waiting" && run.summary.status.is_final() { "not_begun" } else { &step.state }
}

pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

fn page(run: &RunDetail, now: Timestamp, typed: Option<&DecisionForm>) -> Page {
    Page::new(&format!("Run {}", run.summary.id), NavSection::Runs)
        .live("standing", standing(run))
        .live("deciding", deciding(run, typed))
        .live("waterfall", drawing::draw(run, now))
        .live("timeline", timeline::list(&run.timeline))
        .part(asked(run))
}

fn standing(run: &RunDetail) -> Markup {
    let summary = &run.summary;
    let took = summary.ended_at.map(|end| (end.0.0 - summary.accepted_at.0.0).max(0) as f64);
    html! {
        div.standing {
            p.why-line { (pieces::status(summary.status)) " " (why::sentence(run)) }
            (pieces::facts(&[
                ("Workflow", origin(run)),
                ("Key", html! { a.id href=(place("/ui/runs", [("key", Some(summary.key.clone()))])) { (summary.key) } }),
                ("Partition", html! { (run.partition) }),
                ("Accepted", pieces::time(summary.accepted_at)),
                ("Took", html! { (took.map_or_else(|| "under way".to_owned(), pieces::span)) }),
            ]))
            div.actions {
                (actions(run))
                a.button href={ (run_path(&summary.id)) "/raw" } { "Raw JSON" }
            }
        }
    }
}

/// What a run is of: a version of a workflow, or a job.
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
            let question = format!("Cancel run {id}? What it has done is undone.");
            pieces::button(&format!("{}/cancel", run_path(id)), "Cancel", Some(&question), &[])
        }
        RunStatus::Undoing | RunStatus::Parked => html! {},
        RunStatus::Undone | RunStatus::GivenUp if run.summary.workflow != JOB => {
            let asked = [("id", Some(id.clone())), ("action", Some("rerun".to_owned()))];
            html! { a.button href=(place("/ui/bulk/new", asked)) { "Run again…" } }
        }
        RunStatus::Completed | RunStatus::Undone | RunStatus::GivenUp => html! {},
    }
}

fn deciding(run: &RunDetail, typed: Option<&DecisionForm>) -> Markup {
    html! {
        @if let Some(problem) = typed.and_then(|typed| typed.problem.as_ref()) { (pieces::problem(problem)) }
        @if run.summary.status == RunStatus::Parked {
            section aria-label="Decisions" {
                h2 { "What to do" }
                (decisions::forms(run, None, typed))
            }
        }
    }
}

/// What was asked for.
fn asked(run: &RunDetail) -> Markup {
    html! {
        @if let Some(request) = &run.request {
            h2 { "Request" }
            (pieces::copyable("Request", &pretty(request.get())))
        }
    }
}

/// JSON in lines; text that is none as it is.
fn pretty(json: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(json);
    value.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| json.to_owned())
}

#[cfg(test)]
mod tests;
