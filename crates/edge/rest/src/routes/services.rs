//! Services: how they are doing, and what people say about them.

use api_types::{ServiceRequest, ServiceView};
use axum::extract::{Request, State};
use axum::response::Response;
use http::Method;
use serde_json::json;

use super::params::{Caller, Named};
use super::table::{OnStandby, Route, RouteAccess, RouteHandler, handle};
use super::{Items, json};
use crate::auth::access::Permission;
use crate::body;
use crate::error::ApiError;
use crate::forward::scope::{Merge, RouteScope};
use crate::limits::SERVICE_REQUEST_BYTES_MAX;
use crate::openapi::drafts::ServiceList;
use crate::openapi::operation::{Media, Operation, Parameter, ReplyDoc, RequestBody};
use crate::openapi::shared::WRONG_FIELD;
use crate::services::Services;

/// The routes, with their documentation.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: Method::GET,
        path: "/v1/services",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Merged(Merge::Services),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(list)),
        doc: Operation {
            id: "listServices",
            summary: "How the services that were called are doing",
            description: "",
            parameters: &[],
            body: None,
            replies: &[ReplyDoc::json::<ServiceList>(200, "The services.")],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/services/{name}",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Merged(Merge::Service),
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(show)),
        doc: Operation {
            id: "showService",
            summary: "How a service is doing",
            description: "",
            parameters: &[Parameter::path(
                "name",
                "The service's address, percent-encoded; or its name in workflows, or workflow/service.",
                |_| json!({ "type": "string", "minLength": 1, "maxLength": 256 }),
            )],
            body: None,
            replies: &[
                ReplyDoc::json::<ServiceView>(200, "The service."),
                ReplyDoc::problem(400, "Several services have this name."),
                ReplyDoc::problem(404, "No workflow names it, and no run has called it."),
            ],
        },
    },
    Route {
        method: Method::PUT,
        path: "/v1/services/{name}",
        access: RouteAccess::Token(Permission::Operate),
        scope: RouteScope::Control,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(put)),
        doc: Operation {
            id: "setService",
            summary: "Hold a service's breaker open or closed, or limit its calls, manually",
            description: "Replaces earlier manual settings of the service, and stays active on every \
                instance and after restarts until it is replaced. Calls to a service whose breaker \
                is held open wait; none of them fails.",
            parameters: &[Parameter::path(
                "name",
                "The service's address, percent-encoded; or its name in workflows, or workflow/service.",
                |_| json!({ "type": "string", "minLength": 1, "maxLength": 256 }),
            )],
            body: Some(RequestBody {
                required: true,
                content: &[Media::json::<ServiceRequest>()
                    .example(|| json!({ "breaker": "open", "note": "maintenance until noon" }))],
            }),
            replies: &[
                ReplyDoc::json::<ServiceView>(200, "It is active."),
                WRONG_FIELD,
                ReplyDoc::problem(404, "No workflow names it, and no run has called it."),
                ReplyDoc::problem(409, "Too many services have manual settings."),
                ReplyDoc::problem(413, "It is too long."),
                ReplyDoc::problem(503, "It cannot be persisted at this moment."),
            ],
        },
    },
];

pub(super) async fn list(State(services): State<Services>) -> Result<Response, ApiError> {
    Ok(json(&Items { items: services.all() }))
}

pub(super) async fn show(State(services): State<Services>, Named(name): Named) -> Result<Response, ApiError> {
    Ok(json(&services.get(&name)?))
}

pub(super) async fn put(
    State(services): State<Services>,
    Caller(by): Caller,
    Named(name): Named,
    request: Request,
) -> Result<Response, ApiError> {
    let bytes = body::read(request, SERVICE_REQUEST_BYTES_MAX).await?;
    let said: ServiceRequest = serde_json::from_slice(&bytes).map_err(|error| {
        ApiError::BadRequest(format!("breaker, limit and note are what can be said: {error}"))
    })?;
    Ok(json(&services.set_manually(&name, said, &by).await?))
}
