//! What a step sends, for people to see.

use std::sync::Arc;

use api_types::CallView;
use axum::extract::State;
use axum::response::Response;
use engine::{CallContext, CallSubject, idempotency_key};
use http::Method;
use kernel::job::Occurrence;
use kernel::{Fact, Run};
use serde::Deserialize;
use serde_json::json;
use types::{StepIndex, Work, WorkKind};

use super::json;
use super::params::{PathParams, QueryParams};
use super::table::{OnStandby, Route, RouteAccess, RouteHandler, handle};
use crate::api::{Instance, Workflows};
use crate::auth::access::Permission;
use crate::error::ApiError;
use crate::forward::scope::RouteScope;
use crate::ingest_routes::run_id;
use crate::openapi::operation::{Operation, Parameter, ReplyDoc};
use crate::runs::{FoundRun, Runs};

/// The routes, with their documentation.
pub(super) const ROUTES: &[Route] = &[Route {
    method: Method::GET,
    path: "/v1/runs/{id}/steps/{step}/call",
    access: RouteAccess::Token(Permission::Read),
    scope: RouteScope::Run("id"),
    standby: OnStandby::Refuse,
    handler: RouteHandler::Call(|| handle(show)),
    doc: Operation {
        id: "showCall",
        summary: "What a step sends: the call as it is rendered for sending, with secrets masked",
        description: "",
        parameters: &[
            Parameter::path("id", "The run's id.", |_| {
                json!({
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 128,
                    "pattern": "^[A-Za-z0-9._~:-]+$",
                })
            }),
            Parameter::path("step", "The step's name.", |_| json!({ "type": "string" })),
            Parameter::query(
                "work",
                "Which of the step's works; the last two are actions that a person named in a decision.",
                |_| {
                    json!({
                        "type": "string",
                        "enum": ["do", "alternative", "undo", "do_instead", "undo_instead"],
                        "default": "do",
                    })
                },
            ),
            Parameter::query(
                "attempt",
                "Which attempt; they differ in their traceparent. The newest when absent.",
                |_| json!({ "type": "integer", "minimum": 1 }),
            ),
        ],
        body: None,
        replies: &[
            ReplyDoc::json::<CallView>(200, "What is sent."),
            ReplyDoc::problem(400, "No valid id."),
            ReplyDoc::problem(404, "No such run or step, or no such work of it."),
            ReplyDoc::retry_later(503, "The partition is stopped."),
        ],
    },
}];

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallQuery {
    #[serde(default)]
    work: WorkKind,
    attempt: Option<u32>,
}

pub(super) async fn show(
    State(runs): State<Runs>,
    State(workflows): State<Workflows>,
    State(instance): State<Arc<Instance>>,
    params: PathParams,
    QueryParams(CallQuery { work: kind, attempt }): QueryParams<CallQuery>,
) -> Result<Response, ApiError> {
    let (id, step) = (run_id(params.require("id")?)?, params.require("step")?.to_owned());
    let (run, reason) = match runs.find(&id).await? {
        Some(FoundRun::Live(_, run)) => {
            let reason = run.reason();
            (run, reason)
        }
        Some(FoundRun::Ended(ended, run)) => (run, ended.reason),
        Some(FoundRun::Waiting(_)) => {
            return Err(ApiError::NotFound(format!("run {id} waits in the inbox and has no steps yet")));
        }
        None => return Err(ApiError::NotFound(format!("no run {id}"))),
    };
    let names = workflows.step_names(&run);
    let index = names.iter().position(|name| name.as_str() == step).ok_or_else(|| {
        let known: Vec<_> = names.iter().map(|name| name.as_str()).collect();
        ApiError::NotFound(format!("no step '{step}' in run {id}; the steps are {}", known.join(", ")))
    })?;
    let index = StepIndex(index as u16);
    let subject = subject(&workflows, &run)?;
    let work = kind
        .of_step(index)
        .ok_or_else(|| ApiError::BadRequest(format!("work: a {} does not belong to a step", kind.name())))?;
    let works = WorkKind::ALL.into_iter().filter_map(|kind| kind.of_step(index));
    let works: Vec<Work> = works.filter(|work| has(&subject, &run, *work)).collect();
    if !works.contains(&work) {
        return Err(ApiError::NotFound(format!("work: there is no {} of step {step}", work.name())));
    }
    let attempt = attempt.unwrap_or_else(|| newest_attempt(&run, work));
    let mut context = CallContext::of(&run, work, reason);
    context.parked_count = parked_before(&run, work);
    let sent = (instance.calls)(&subject, &context, work, attempt);
    Ok(json(&CallView {
        step,
        work: work.name().to_owned(),
        works: works.into_iter().map(|work| work.name().to_owned()).collect(),
        attempt,
        idempotency_key: idempotency_key(&subject, &context, work),
        sent,
    }))
}

fn subject(workflows: &Workflows, run: &Run) -> Result<CallSubject, ApiError> {
    if let Some(occurrence) = Occurrence::of_request(&run.request) {
        return Ok(CallSubject::Job(Box::new(occurrence)));
    }
    let version = run.request.version;
    let catalog = workflows.catalog();
    let entry = catalog.version(&run.request.workflow, version);
    let entry = entry.expect("a run's workflow version is never removed");
    Ok(CallSubject::Workflow { definition: entry.definition.clone(), version })
}

/// Whether there is such a work: one that the workflow declares, or one that a person named. A job's errorAction may be
/// missing; its run says so when it is asked for.
fn has(subject: &CallSubject, run: &Run, work: Work) -> bool {
    match (work, subject) {
        (Work::DoInstead(_) | Work::UndoInstead(_), _) => begun(run, work).is_some(),
        (_, CallSubject::Workflow { definition, .. }) => definition.declares(work),
        (_, CallSubject::Job(_)) => !matches!(work, Work::Undo(_)),
    }
}

/// The last attempt that began, or the first that will.
fn newest_attempt(run: &Run, asked: Work) -> u32 {
    begun(run, asked).map_or(1, |(_, attempt)| attempt)
}

/// How often the run had been parked when the work began last: the key of what a person named counts it.
fn parked_before(run: &Run, asked: Work) -> u32 {
    let Some((place, _)) = begun(run, asked) else { return run.parked_count };
    let parked = run.timeline[..place].iter().filter(|moment| matches!(moment.fact, Fact::Parked { .. }));
    u32::try_from(parked.count()).unwrap_or(u32::MAX)
}

/// The last attempt that began: its place in the timeline, and its number.
fn begun(run: &Run, asked: Work) -> Option<(usize, u32)> {
    run.timeline.iter().enumerate().rev().find_map(|(place, moment)| match &moment.fact {
        Fact::Started { work, attempt } if *work == asked => Some((place, *attempt)),
        _ => None,
    })
}
