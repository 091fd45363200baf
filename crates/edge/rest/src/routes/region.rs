//! The region that answers, and how it changes places with its pair.

use api_types::{DrillRequest, DrillView, PromoteRequest, PromotedView, RegionView, TailRequestView};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::json;
use super::params::{Caller, QueryParams};
use super::table::{OnStandby, Route, RouteAccess, RouteHandler, handle};
use crate::auth::access::Permission;
use crate::error::ApiError;
use crate::forward::scope::RouteScope;
use crate::openapi::operation::{Media, Operation, Parameter, ReplyDoc, RequestBody, lines_of};
use crate::openapi::shared::{NO_ANSWER, NO_REGIONS};
use crate::region::{Force, Regions};

/// The routes, with their documentation.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: Method::GET,
        path: "/v1/region",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Replicated,
        standby: OnStandby::Answer,
        handler: RouteHandler::Call(|| handle(show)),
        doc: Operation {
            id: "showRegion",
            summary: "This region, its pair, and how far the mirrors are",
            description: "",
            parameters: &[],
            body: None,
            replies: &[ReplyDoc::json::<RegionView>(200, "Where they stand."), NO_REGIONS, NO_ANSWER],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/region:promote",
        access: RouteAccess::Token(Permission::Administer),
        scope: RouteScope::Replicated,
        standby: OnStandby::Answer,
        handler: RouteHandler::Call(|| handle(promote)),
        doc: Operation {
            id: "promoteRegion",
            summary: "Make this region the active one",
            description: "",
            parameters: &[],
            body: Some(RequestBody {
                required: false,
                content: &[Media::json::<PromoteRequest>().example(|| json!({ "force": false }))],
            }),
            replies: &[
                ReplyDoc::json::<PromotedView>(200, "It is active."),
                ReplyDoc::problem(400, "A field is wrong; the detail names it."),
                NO_REGIONS,
                ReplyDoc::problem(409, "The current state does not allow it; the detail says why."),
                NO_ANSWER,
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/region:demote",
        access: RouteAccess::Token(Permission::Administer),
        scope: RouteScope::Replicated,
        standby: OnStandby::Answer,
        handler: RouteHandler::Call(|| handle(demote)),
        doc: Operation {
            id: "demoteRegion",
            summary: "Make this region let go of everything",
            description: "",
            parameters: &[],
            body: None,
            replies: &[
                ReplyDoc::json::<RegionView>(
                    200,
                    "No region is active until one of the two is promoted. With a witness the pair \
                        promotes itself when the lease has expired.",
                ),
                NO_REGIONS,
                ReplyDoc::problem(409, "The current state does not allow it; the detail says why."),
                NO_ANSWER,
            ],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/region:requests",
        access: RouteAccess::Token(Permission::Administer),
        scope: RouteScope::Replicated,
        standby: OnStandby::Answer,
        handler: RouteHandler::Call(|| handle(tail_requests)),
        doc: Operation {
            id: "listTailRequests",
            summary: "The requests of one inbox in the newest divergent tail",
            description: "",
            parameters: &[Parameter::query(
                "stream",
                "A stream of the tail that is an inbox, like `sortie_ING_00003`.",
                |_| json!({ "type": "string" }),
            )
            .required()],
            body: None,
            replies: &[
                ReplyDoc::media(
                    200,
                    "One TailRequest per line, in order. A line with a `problem` could not be read; \
                        the last may say that the rest is missing.",
                    &[Media::new("application/x-ndjson", |c| {
                        lines_of::<TailRequestView>(c, "One `TailRequest` per line.")
                    })],
                ),
                ReplyDoc::problem(400, "No stream is named."),
                NO_REGIONS,
                NO_ANSWER,
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/region:drill",
        access: RouteAccess::Token(Permission::Administer),
        scope: RouteScope::Replicated,
        standby: OnStandby::Answer,
        handler: RouteHandler::Call(|| handle(drill)),
        doc: Operation {
            id: "drillRegion",
            summary: "Check that a switch would work, and on request make one and switch back",
            description: "",
            parameters: &[],
            body: Some(RequestBody {
                required: false,
                content: &[Media::json::<DrillRequest>().example(|| json!({ "switch": false }))],
            }),
            replies: &[
                ReplyDoc::json::<DrillView>(200, "What was seen."),
                ReplyDoc::problem(400, "A field is wrong; the detail names it."),
                NO_REGIONS,
                ReplyDoc::problem(409, "The current state does not allow it; the detail says why."),
                NO_ANSWER,
            ],
        },
    },
];

pub(super) async fn show(State(regions): State<Regions>) -> Result<Response, ApiError> {
    Ok(json(&regions.control()?.status().await?))
}

pub(super) async fn promote(
    State(regions): State<Regions>,
    Caller(by): Caller,
    body: Bytes,
) -> Result<Response, ApiError> {
    let PromoteRequest { force, incomplete } = read(&body)?;
    tracing::warn!(by, force, incomplete, "promotion requested");
    let force = match (force, incomplete) {
        (false, false) => Force::No,
        (true, false) => Force::Yes,
        (true, true) => Force::Incomplete,
        (false, true) => {
            return Err(ApiError::BadRequest("incomplete is for a promotion with force".to_owned()));
        }
    };
    Ok(json(&regions.control()?.promote(force).await?))
}

pub(super) async fn demote(State(regions): State<Regions>, Caller(by): Caller) -> Result<Response, ApiError> {
    tracing::warn!(by, "demotion requested");
    Ok(json(&regions.control()?.demote().await?))
}

pub(super) async fn drill(State(regions): State<Regions>, body: Bytes) -> Result<Response, ApiError> {
    let DrillRequest { switch } = read(&body)?;
    Ok(json(&regions.control()?.drill(switch).await?))
}

/// The query for the requests of a tail.
#[derive(Debug, Deserialize)]
pub(super) struct TailQuery {
    stream: String,
}

/// Bodies may be secret: only callers who may submit them again see them.
pub(super) async fn tail_requests(
    State(regions): State<Regions>,
    QueryParams(TailQuery { stream }): QueryParams<TailQuery>,
) -> Result<Response, ApiError> {
    let missing = || ApiError::NotFound(format!("the newest divergent tail holds no inbox {stream}"));
    let requests = regions.control()?.tail_requests(stream.clone()).await?.ok_or_else(missing)?;
    let lines = stream::unfold(requests, async |mut requests| {
        let request = requests.recv().await?;
        let line = serde_json::to_string(&request).map(|line| line + "\n");
        Some((line, requests))
    });
    let mut response = Response::new(Body::from_stream(lines));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    Ok(response)
}

/// A body that may be missing.
fn read<T: DeserializeOwned + Default>(body: &Bytes) -> Result<T, ApiError> {
    if body.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(body).map_err(|error| ApiError::BadRequest(error.to_string()))
}
