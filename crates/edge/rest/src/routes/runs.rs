//! Runs and what can be asked of them.

use api_types::{DecisionKind, DecisionRequest, RunDetail, RunPage, Time};
use axum::extract::{Request, State};
use axum::response::Response;
use http::{Method, StatusCode, Uri};
use kernel::{Command, Decision};
use serde::Deserialize;
use serde_json::json;
use types::{Key, RunStatus, StepIndex, WorkflowName};
use view::RunQuery;

use super::json;
use super::params::{Caller, Named, QueryParams};
use super::table::{OnStandby, Route, RouteAccess, RouteHandler, handle};
use crate::api::Workflows;
use crate::auth::access::Permission;
use crate::error::ApiError;
use crate::forward::scope::{Merge, RouteScope};
use crate::ingest_routes::run_id;
use crate::limits::{DECISION_BYTES_MAX, PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};
use crate::openapi::operation::{Media, Operation, Parameter, ReplyDoc, RequestBody};
use crate::openapi::shared::{
    CURSOR, FROM_TIME, LIMIT, NO_SUCH_RUN, OF_KEY, OF_WORKFLOW, RUN_ID, TO_TIME, WRONG_PARAMETER,
};
use crate::runs::{self, FoundRun, Runs};
use crate::{body, own_route};

/// The routes, with their documentation.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: Method::GET,
        path: "/v1/runs",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Merged(Merge::Runs),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(list)),
        doc: Operation {
            id: "listRuns",
            summary: "List runs: those in memory first, then the ended ones, newest first",
            description: "",
            parameters: &[
                OF_WORKFLOW,
                Parameter::query("status", "Only runs with this status.", |_| {
                    json!({
                        "type": "string",
                        "enum": [
                            "queued",
                            "running",
                            "undoing",
                            "parked",
                            "completed",
                            "undone",
                            "given_up",
                        ],
                    })
                }),
                OF_KEY,
                FROM_TIME,
                TO_TIME,
                LIMIT,
                CURSOR,
            ],
            body: None,
            replies: &[
                ReplyDoc::json::<RunPage>(200, "A page."),
                WRONG_PARAMETER,
                ReplyDoc::retry_later(503, "The view cannot be read."),
            ],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/runs/{id}",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Run("id"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(show)),
        doc: Operation {
            id: "showRun",
            summary: "A run with its steps and its timeline",
            description: "",
            parameters: &[RUN_ID],
            body: None,
            replies: &[
                ReplyDoc::json::<RunDetail>(200, "The run."),
                ReplyDoc::problem(400, "No valid id."),
                NO_SUCH_RUN,
                ReplyDoc::retry_later(503, "The partition is stopped."),
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/runs/{id}/cancel",
        access: RouteAccess::Operator,
        scope: RouteScope::Run("id"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(cancel)),
        doc: Operation {
            id: "cancelRun",
            summary: "Cancel a run, as long as its pivot has not begun",
            description: "",
            parameters: &[RUN_ID],
            body: None,
            replies: &[
                ReplyDoc::json::<RunDetail>(202, "It is being undone."),
                ReplyDoc::problem(400, "No valid id."),
                NO_SUCH_RUN,
                ReplyDoc::problem(409, "Past its pivot, parked, or ended."),
                ReplyDoc::retry_later(503, "The partition is stopped."),
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/runs/{id}/decide",
        access: RouteAccess::Operator,
        scope: RouteScope::Run("id"),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(decide)),
        doc: Operation {
            id: "decideRun",
            summary: "Decide on a parked run",
            description: "",
            parameters: &[RUN_ID],
            body: Some(RequestBody { required: true, content: &[Media::json::<DecisionRequest>()] }),
            replies: &[
                ReplyDoc::json::<RunDetail>(200, "The run goes on, or has been given up."),
                ReplyDoc::problem(400, "The decision is malformed."),
                NO_SUCH_RUN,
                ReplyDoc::problem(409, "The run is not parked, or the step does not wait for a decision."),
                ReplyDoc::problem(413, "Too large."),
                ReplyDoc::retry_later(503, "The partition is stopped."),
            ],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/parked",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Merged(Merge::Parked),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(parked)),
        doc: Operation {
            id: "listParked",
            summary: "Parked runs: they wait for a decision",
            description: "",
            parameters: &[OF_WORKFLOW, OF_KEY, FROM_TIME, TO_TIME, LIMIT, CURSOR],
            body: None,
            replies: &[
                ReplyDoc::json::<RunPage>(200, "A page."),
                WRONG_PARAMETER,
                ReplyDoc::retry_later(503, "The view cannot be read."),
            ],
        },
    },
];

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    workflow: Option<WorkflowName>,
    status: Option<RunStatus>,
    key: Option<Key>,
    from: Option<Time>,
    to: Option<Time>,
    limit: Option<usize>,
    cursor: Option<String>,
}

impl ListQuery {
    fn into_query(self) -> Result<RunQuery, ApiError> {
        let limit = self.limit.unwrap_or(PAGE_ITEMS_DEFAULT);
        if !(1..=PAGE_ITEMS_MAX).contains(&limit) {
            return Err(ApiError::BadRequest(format!("limit: {limit} is not 1 to {PAGE_ITEMS_MAX}")));
        }
        Ok(RunQuery {
            workflow: self.workflow,
            status: self.status,
            key: self.key,
            from: self.from.map(|time| time.0),
            to: self.to.map(|time| time.0),
            partition: None,
            limit,
            cursor: self.cursor,
            among: None,
        })
    }
}

/// What the address of a list of runs asks for.
pub(crate) fn run_query(uri: &Uri, parked: bool) -> Result<RunQuery, ApiError> {
    let QueryParams::<ListQuery>(query) = QueryParams::of(uri)?;
    let query = query.into_query()?;
    Ok(if parked { RunQuery { status: Some(RunStatus::Parked), ..query } } else { query })
}

pub(super) async fn list(
    State(runs): State<Runs>,
    QueryParams(query): QueryParams<ListQuery>,
) -> Result<Response, ApiError> {
    Ok(json(&runs::page(&runs, query.into_query()?).await?))
}

pub(super) async fn parked(
    State(runs): State<Runs>,
    QueryParams(query): QueryParams<ListQuery>,
) -> Result<Response, ApiError> {
    let query = RunQuery { status: Some(RunStatus::Parked), ..query.into_query()? };
    Ok(json(&runs::page(&runs, query).await?))
}

pub(super) async fn show(State(runs): State<Runs>, Named(id): Named) -> Result<Response, ApiError> {
    Ok(own_route::json(StatusCode::OK, runs.show(&run_id(&id)?).await?))
}

pub(super) async fn cancel(
    State(runs): State<Runs>,
    Caller(by): Caller,
    Named(id): Named,
) -> Result<Response, ApiError> {
    let id = run_id(&id)?;
    runs.cancel(&id, &by).await?;
    Ok(own_route::json(StatusCode::ACCEPTED, runs.show(&id).await?))
}

pub(super) async fn decide(
    State(runs): State<Runs>,
    Caller(by): Caller,
    Named(id): Named,
    request: Request,
) -> Result<Response, ApiError> {
    let id = run_id(&id)?;
    let bytes = body::read(request, DECISION_BYTES_MAX).await?;
    let request: DecisionRequest = serde_json::from_slice(&bytes)
        .map_err(|error| ApiError::BadRequest(format!("the decision: {error}")))?;
    if request.decision.needs_note() && request.note.trim().is_empty() {
        return Err(ApiError::BadRequest("note: say why; it is kept in the run's timeline".to_owned()));
    }
    let (partition, decision) = match runs.find(&id).await? {
        None => return Err(ApiError::NotFound(format!("no run {id}"))),
        Some(FoundRun::Live(partition, run)) => (partition, decision(&runs.workflows, &run, &request)?),
        Some(found) => {
            let rejection = match found.status() {
                status if status.is_final() => kernel::Rejection::Ended(status),
                status => kernel::Rejection::NotParked(status),
            };
            return Err(engine::CommandError::Rejected(rejection).into());
        }
    };
    let command = Command::Decide { decision, note: request.note };
    runs.command(partition, &id, &by, command).await?;
    Ok(own_route::json(StatusCode::OK, runs.show(&id).await?))
}

fn decision(
    workflows: &Workflows,
    run: &kernel::Run,
    request: &DecisionRequest,
) -> Result<Decision, ApiError> {
    let named = request.step.as_deref().map(|name| step(run, name)).transpose()?;
    let needed =
        || named.ok_or_else(|| ApiError::BadRequest("step: say which step is decided on".to_owned()));
    Ok(match request.decision {
        DecisionKind::Retry => Decision::Retry { step: named },
        DecisionKind::RetryFrom => Decision::RetryFrom { step: needed()? },
        DecisionKind::Skip => Decision::Skip { step: needed()? },
        DecisionKind::ByHand => {
            let output =
                request.output.as_ref().map(|json| bytes::Bytes::copy_from_slice(json.get().as_bytes()));
            Decision::ByHand { step: needed()?, output }
        }
        DecisionKind::Instead => {
            let action = request.action.as_ref().map(|json| json.get().to_owned());
            let action =
                action.ok_or_else(|| ApiError::BadRequest("action: say what to call instead".to_owned()))?;
            let catalog = workflows.catalog();
            let entry = catalog.version(&run.request.workflow, run.request.version);
            let entry = entry.expect("a live run's workflow version is never removed");
            entry.definition.parse_action(&action).map_err(ApiError::Invalid)?;
            Decision::Instead { step: needed()?, action }
        }
        DecisionKind::GiveUp => Decision::GiveUp,
    })
}

fn step(run: &kernel::Run, name: &str) -> Result<StepIndex, ApiError> {
    let found = run.each_step().find(|(_, plan, _)| plan.name.as_str() == name);
    found.map(|(index, _, _)| index).ok_or_else(|| {
        let known: Vec<_> = run.each_step().map(|(_, plan, _)| plan.name.to_string()).collect();
        ApiError::BadRequest(format!("step: no step '{name}'; the steps are {}", known.join(", ")))
    })
}
