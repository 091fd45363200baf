//! Bulks: one action on many runs.

use api_types::{BulkList, BulkPreview, BulkRequest, BulkView};
use axum::extract::{Request, State};
use axum::response::Response;
use bulk::Bulks;
use http::Method;
use serde_json::json;

use super::json;
use super::params::{Caller, Named};
use super::table::{OnStandby, Route, RouteAccess, RouteHandler, handle};
use crate::auth::access::Permission;
use crate::error::ApiError;
use crate::forward::scope::RouteScope;
use crate::openapi::operation::{Media, Operation, Parameter, ReplyDoc, ReplyHeader, RequestBody};
use crate::router::Router;

/// The routes, with their documentation.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: Method::GET,
        path: "/v1/bulk",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Control,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(list)),
        doc: Operation {
            id: "listBulks",
            summary: "What was done to many runs, newest first",
            description: "",
            parameters: &[],
            body: None,
            replies: &[
                ReplyDoc::json::<BulkList>(
                    200,
                    "The bulks: all running ones, and the last hundred that have ended.",
                ),
                ReplyDoc::retry_later(
                    503,
                    "The control partition changes its owner, or the view cannot be read.",
                ),
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/bulk",
        access: RouteAccess::Token(Permission::Operate),
        scope: RouteScope::Control,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(start)),
        doc: Operation {
            id: "startBulk",
            summary: "Do one thing to many runs, or say what it would do",
            description: "",
            parameters: &[],
            body: Some(RequestBody {
                required: true,
                content: &[Media::json::<BulkRequest>().example(|| {
                    json!({
                        "action": "retry",
                        "select": { "status": "parked" },
                        "note": "the service is well again",
                        "dry_run": true,
                    })
                })],
            }),
            replies: &[
                ReplyDoc::json::<BulkPreview>(200, "A dry run: nothing was changed."),
                ReplyDoc::json::<BulkView>(202, "It is running, and durable.").with(&[ReplyHeader {
                    name: "Location",
                    description: "Where it can be followed.",
                    schema: |_| json!({ "type": "string" }),
                }]),
                ReplyDoc::problem(400, "A field is wrong; the detail names it."),
                ReplyDoc::problem(409, "Too many are running."),
                ReplyDoc::problem(413, "Too large."),
                ReplyDoc::problem(502, "The owner did not answer: look at the list before you try again."),
                ReplyDoc::retry_later(
                    503,
                    "The control partition changes its owner, or the view cannot be read.",
                ),
            ],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/bulk/{id}",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Control,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(show)),
        doc: Operation {
            id: "showBulk",
            summary: "How far a bulk has come",
            description: "",
            parameters: &[Parameter::path("id", "The bulk's id.", |_| {
                json!({
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 128,
                    "pattern": "^[A-Za-z0-9._~:-]+$",
                })
            })],
            body: None,
            replies: &[
                ReplyDoc::json::<BulkView>(200, "The bulk."),
                ReplyDoc::problem(400, "The id is none."),
                ReplyDoc::problem(404, "No such bulk."),
                ReplyDoc::retry_later(
                    503,
                    "The control partition changes its owner, or the view cannot be read.",
                ),
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/bulk/{id}/stop",
        access: RouteAccess::Token(Permission::Operate),
        scope: RouteScope::Control,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(stop)),
        doc: Operation {
            id: "stopBulk",
            summary: "End a bulk before it is through",
            description: "",
            parameters: &[Parameter::path("id", "The bulk's id.", |_| {
                json!({
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 128,
                    "pattern": "^[A-Za-z0-9._~:-]+$",
                })
            })],
            body: None,
            replies: &[
                ReplyDoc::json::<BulkView>(200, "It is stopped, or had ended before."),
                ReplyDoc::problem(400, "The id is none."),
                ReplyDoc::problem(404, "No such bulk."),
                ReplyDoc::problem(502, "The owner did not answer: look at the list before you try again."),
                ReplyDoc::retry_later(
                    503,
                    "The control partition changes its owner, or the view cannot be read.",
                ),
            ],
        },
    },
];

pub(super) async fn list(State(bulks): State<Bulks>) -> Result<Response, ApiError> {
    Ok(json(&BulkList { items: bulks.all() }))
}

/// Begins a bulk, or says what it would do. The router reaches runs wherever they are.
pub(super) async fn start(
    State(router): State<Router>,
    Caller(by): Caller,
    request: Request,
) -> Result<Response, ApiError> {
    router.take_bulk(&by, request).await
}

pub(super) async fn show(State(bulks): State<Bulks>, Named(id): Named) -> Result<Response, ApiError> {
    Ok(json(&bulks.get(&id)?))
}

pub(super) async fn stop(
    State(bulks): State<Bulks>,
    Caller(by): Caller,
    Named(id): Named,
) -> Result<Response, ApiError> {
    Ok(json(&bulks.stop(&id, &by).await?))
}
