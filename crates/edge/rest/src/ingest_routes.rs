//! Ingest: requests for workflows, at `/v1/workflows/{name}/runs` or at a workflow's own route.
//!
//! These routes carry the load, so they are matched before the rest of the table.

mod accept;
mod batch;

use std::sync::Arc;

use api_types::{AcceptedRun, BatchAnswer, RunDetail, RunSummary, Time};
use axum::body::Body;
use bytes::Bytes;
use engine::CatalogEntry;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use ingest::{Admitted, DurableRequest, IncomingRequest, Ingest, Sender};
use serde_json::json;
use types::{RunId, RunStatus};

use crate::api::{Cluster, Workflows};
use crate::auth::access::Permission;
use crate::body::{self, Payload};
use crate::error::ApiError;
use crate::forward::scope::RouteScope;
use crate::openapi::operation::{Media, Operation, Parameter, ReplyDoc, RequestBody, lines_of};
use crate::openapi::shared::{BUSY, LOCATION_OF_RUN, NO_SUCH_WORKFLOW, RUN_ID, TRACEPARENT, WORKFLOW};
use crate::routes::table::{OnStandby, Route, RouteAccess, RouteHandler};
use crate::runs::Runs;

pub use accept::VERSION;
pub(crate) use accept::{Acceptance, ForwardHead};

/// The body of a request for a workflow.
const REQUEST: RequestBody =
    RequestBody { required: true, content: &[Media::new("application/json", |_| json!({}))] };

/// The replies to it.
const SUBMITTED: &[ReplyDoc] = &[
    ReplyDoc::json::<RunDetail>(200, "The same request was accepted before; `Idempotent-Replay: true`.")
        .with(&[LOCATION_OF_RUN]),
    ReplyDoc::json::<RunSummary>(202, "Accepted: durable. The body is the run.").with(&[LOCATION_OF_RUN]),
    ReplyDoc::problem(400, "The body is not valid JSON, does not match the schema, or its id is not valid."),
    NO_SUCH_WORKFLOW,
    ReplyDoc::problem(409, "The id was used with another body."),
    ReplyDoc::problem(413, "The body is larger than the limit."),
    ReplyDoc::problem(415, "Not JSON."),
    BUSY,
    ReplyDoc::retry_later(503, "The disk or memory is used up, or the partition is stopped."),
];

/// The routes, with their documentation.
pub(crate) const ROUTES: &[Route; 3] = &[
    Route {
        method: Method::POST,
        path: "/v1/workflows/{workflow}/runs",
        access: RouteAccess::Token(Permission::Ingest),
        scope: RouteScope::Ingest,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Ingest,
        doc: Operation {
            id: "startRun",
            summary: "Submit a request",
            description: "",
            parameters: &[
                WORKFLOW,
                Parameter::header("Idempotency-Key", "The run's id, when the body has none.", |_| {
                    json!({
                        "type": "string",
                        "pattern": "^(\"[A-Za-z0-9._~:-]{1,128}\"|[A-Za-z0-9._~:-]{1,128})$",
                    })
                }),
                TRACEPARENT,
            ],
            body: Some(REQUEST),
            replies: SUBMITTED,
        },
    },
    Route {
        method: Method::PUT,
        path: "/v1/workflows/{workflow}/runs/{id}",
        access: RouteAccess::Token(Permission::Ingest),
        scope: RouteScope::Ingest,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Ingest,
        doc: Operation {
            id: "putRun",
            summary: "Submit a request under an id",
            description: "",
            parameters: &[WORKFLOW, RUN_ID, TRACEPARENT],
            body: Some(REQUEST),
            replies: SUBMITTED,
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/workflows/{workflow}/runs:batch",
        access: RouteAccess::Token(Permission::Ingest),
        scope: RouteScope::Ingest,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Ingest,
        doc: Operation {
            id: "startRuns",
            summary: "Submit many requests, one per line",
            description: "",
            parameters: &[WORKFLOW],
            body: Some(RequestBody {
                required: false,
                content: &[Media::new("application/x-ndjson", |_| {
                    json!({
                        "type": "string",
                        "format": "binary",
                        "description": "One JSON value per line.",
                    })
                })],
            }),
            replies: &[
                ReplyDoc::media(
                    200,
                    "One BatchAnswer per line, in order.",
                    &[Media::new("application/x-ndjson", |c| {
                        lines_of::<BatchAnswer>(c, "One `BatchAnswer` per line.")
                    })],
                ),
                ReplyDoc::problem(400, "Too many lines."),
                NO_SUCH_WORKFLOW,
                ReplyDoc::problem(413, "Too many bytes."),
                ReplyDoc::problem(415, "Not NDJSON."),
                BUSY,
                ReplyDoc::retry_later(503, "The disk or memory is used up."),
            ],
        },
    },
];

/// Names the run that a request becomes, when neither its path nor its body does.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENT_REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");
const TRACE_HEADER: HeaderName = HeaderName::from_static("traceparent");

/// A route of the ingest path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum IngestRoute<'a> {
    /// `POST /v1/workflows/{name}/runs`
    Post { workflow: &'a str },
    /// `PUT /v1/workflows/{name}/runs/{id}`
    Put { workflow: &'a str, id: &'a str },
    /// `POST /v1/workflows/{name}/runs:batch`
    Batch { workflow: &'a str },
}

/// The ingest route at a path.
pub(crate) fn find<'a>(method: &Method, path: &'a str) -> Option<IngestRoute<'a>> {
    let rest = path.strip_prefix("/v1/workflows/")?;
    let (workflow, rest) = rest.split_once('/')?;
    match (method, rest) {
        (&Method::POST, "runs") => Some(IngestRoute::Post { workflow }),
        (&Method::POST, "runs:batch") => Some(IngestRoute::Batch { workflow }),
        (&Method::PUT, rest) => {
            let id = rest.strip_prefix("runs/").filter(|id| !id.is_empty() && !id.contains('/'))?;
            Some(IngestRoute::Put { workflow, id })
        }
        _ => None,
    }
}

impl IngestRoute<'_> {
    /// Its entry in the table of routes.
    pub(crate) fn route(&self) -> &'static Route {
        let [post, put, batch] = ROUTES;
        match self {
            IngestRoute::Post { .. } => post,
            IngestRoute::Put { .. } => put,
            IngestRoute::Batch { .. } => batch,
        }
    }
}

/// Accepts requests for workflows, here or at the owner of their partition. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Submissions {
    pub ingest: Arc<Ingest>,
    pub workflows: Workflows,
    pub runs: Runs,
    pub cluster: Cluster,
}

impl Submissions {
    /// Answers a request of the ingest path.
    pub(crate) async fn answer(
        &self,
        route: IngestRoute<'_>,
        request: Request<Payload>,
    ) -> Result<Response<Body>, ApiError> {
        match route {
            IngestRoute::Post { workflow } => {
                let entry = self.find_workflow(workflow, request.headers())?;
                self.submit(&entry, request, None).await
            }
            IngestRoute::Put { workflow, id } => {
                let entry = self.find_workflow(workflow, request.headers())?;
                self.submit(&entry, request, Some(run_id(id)?)).await
            }
            IngestRoute::Batch { workflow } => {
                let entry = self.find_workflow(workflow, request.headers())?;
                self.submit_batch(&entry, request).await
            }
        }
    }

    /// Accepts one request for a workflow.
    async fn submit(
        &self,
        entry: &CatalogEntry,
        request: Request<Payload>,
        path_id: Option<RunId>,
    ) -> Result<Response<Body>, ApiError> {
        match self.accept(entry, path_id, request).await? {
            Acceptance::Local(durable, _) => self.acknowledge(entry, &durable).await,
            Acceptance::Forwarded(response) => Ok(response),
        }
    }

    /// Admits a request and reads its body: the body of one that is refused would take memory that is short.
    pub(crate) async fn read_body(
        &self,
        request: Request<Payload>,
        bytes_max: usize,
    ) -> Result<(Admitted, Bytes), ApiError> {
        match self.ingest.admit() {
            Ok(admitted) => Ok((admitted, body::read(request, bytes_max).await?)),
            Err(refusal) => {
                body::discard(request, bytes_max).await;
                Err(refusal.into())
            }
        }
    }

    async fn acknowledge(
        &self,
        entry: &CatalogEntry,
        durable: &DurableRequest,
    ) -> Result<Response<Body>, ApiError> {
        let location = format!("/v1/runs/{}", durable.id);
        if durable.new {
            let body = accepted_json(entry, durable);
            return Ok(accepted(StatusCode::ACCEPTED, &location, body.into()));
        }
        let body = self.runs.show(&durable.id).await?;
        let mut response = accepted(StatusCode::OK, &location, body);
        mark_replay(&mut response, durable);
        Ok(response)
    }
}

/// A request of a client as its head describes it, still without its body.
pub(crate) fn incoming_request(
    headers: &HeaderMap,
    path_id: Option<RunId>,
) -> Result<IncomingRequest, ApiError> {
    check_media_type(headers, &["application/json"])?;
    let header_id = match headers.get(IDEMPOTENCY_KEY) {
        None => None,
        Some(value) => {
            let text = value.to_str().unwrap_or("").trim().trim_matches('"');
            Some(
                RunId::new(text)
                    .map_err(|error| ApiError::BadRequest(format!("Idempotency-Key: {error}")))?,
            )
        }
    };
    let trace = headers.get(TRACE_HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Ok(IncomingRequest { body: Bytes::new(), path_id, header_id, trace, sender: Sender::Client })
}

pub(crate) fn check_media_type(headers: &HeaderMap, allowed: &[&str]) -> Result<(), ApiError> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let text = value.to_str().unwrap_or("").split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    // The default of curl.
    let unsaid = text == "application/x-www-form-urlencoded" || text.is_empty();
    if unsaid
        || allowed.contains(&text.as_str())
        || text.ends_with("+json") && allowed.contains(&"application/json")
    {
        return Ok(());
    }
    Err(ApiError::MediaType(format!(
        "Content-Type {text:?} is not taken here; send {}",
        allowed.join(" or ")
    )))
}

pub(crate) fn run_id(text: &str) -> Result<RunId, ApiError> {
    RunId::new(text).map_err(|error| ApiError::BadRequest(error.to_string()))
}

fn accepted_json(entry: &CatalogEntry, durable: &DurableRequest) -> Vec<u8> {
    let summary = AcceptedRun {
        id: durable.id.as_str(),
        workflow: entry.definition.name().as_str(),
        version: entry.version,
        status: RunStatus::Accepted,
        key: durable.key.as_str(),
        accepted_at: Time(durable.at),
    };
    serde_json::to_vec(&summary).expect("a summary in memory can always be encoded")
}

/// Says that the answer is about a request that was accepted before.
pub(crate) fn mark_replay(response: &mut Response<Body>, durable: &DurableRequest) {
    if !durable.new {
        response.headers_mut().insert(IDEMPOTENT_REPLAY, HeaderValue::from_static("true"));
    }
}

pub(crate) fn accepted(status: StatusCode, location: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Ok(location) = HeaderValue::try_from(location) {
        headers.insert(LOCATION, location);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ingest_path_has_its_own_routes_and_no_others() {
        let post = |path| find(&Method::POST, path);
        assert_eq!(post("/v1/workflows/a/runs"), Some(IngestRoute::Post { workflow: "a" }));
        assert_eq!(post("/v1/workflows/a/runs:batch"), Some(IngestRoute::Batch { workflow: "a" }));
        let put = find(&Method::PUT, "/v1/workflows/a/runs/x-1");
        assert_eq!(put, Some(IngestRoute::Put { workflow: "a", id: "x-1" }));
        for path in ["/v1/workflows/a/runs/", "/v1/workflows/a/runs/x/y", "/v1/workflows", "/v1/workflows/a"]
        {
            assert_eq!(find(&Method::PUT, path), None, "{path}");
            assert_eq!(post(path), None, "{path}");
        }
        assert_eq!(find(&Method::GET, "/v1/workflows/a/runs"), None);
    }
}
