//! Workflows: applied, checked, shown, deleted.

use api_types::{AppliedView, StepOutline, Time, WorkflowList, WorkflowView};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use engine::CatalogEntry;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::json;
use types::WorkflowName;
use workflow::Definition;

use super::json;
use super::params::{Caller, Named, QueryParams};
use super::table::{OnStandby, Route, RouteAccess, RouteHandler, handle};
use crate::api::Workflows;
use crate::auth::access::Permission;
use crate::body;
use crate::error::ApiError;
use crate::etag::{if_match, with_etag};
use crate::forward::scope::RouteScope;
use crate::limits::DEFINITION_BYTES_MAX;
use crate::openapi::drafts::{Checked, DefinitionDocument};
use crate::openapi::operation::{Media, Operation, Parameter, ReplyDoc, RequestBody};
use crate::openapi::shared::{NO_SUCH_WORKFLOW, WORKFLOW, WRONG_PARAMETER};

/// A definition, as YAML or as JSON.
const DEFINITION: RequestBody = RequestBody {
    required: true,
    content: &[
        Media::new("application/yaml", |_| json!({ "type": "string", "format": "binary" })),
        Media::json::<DefinitionDocument>().example(|| {
            json!({
                "name": "notify",
                "services": { "mail": { "url": "https://mail.example" } },
                "steps": {
                    "send": {
                        "call": { "service": "mail", "method": "POST", "path": "/messages", "body": ".request" },
                    },
                },
            })
        }),
    ],
};

/// The routes, with their documentation.
pub(super) const ROUTES: &[Route] = &[
    Route {
        method: Method::GET,
        path: "/v1/workflows",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Replicated,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(list)),
        doc: Operation {
            id: "listWorkflows",
            summary: "All active workflows",
            description: "",
            parameters: &[],
            body: None,
            replies: &[ReplyDoc::json::<WorkflowList>(200, "The workflows.")],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/workflows",
        access: RouteAccess::Token(Permission::Edit),
        scope: RouteScope::Control,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(apply)),
        doc: Operation {
            id: "applyWorkflow",
            summary: "Apply a definition (YAML or JSON)",
            description: "",
            parameters: &[Parameter::header(
                "If-Match",
                r#"The version that must be active, like "3"."#,
                |_| json!({ "type": "string", "pattern": "^(\\*|(W/)?(\"[0-9]{1,9}\"|[0-9]{1,9}))$" }),
            )],
            body: Some(DEFINITION),
            replies: &[
                ReplyDoc::json::<AppliedView>(200, "The same text was active already."),
                ReplyDoc::json::<AppliedView>(201, "A new version is active."),
                ReplyDoc::problem(400, "The definition is wrong; `errors` says where."),
                ReplyDoc::problem(409, "Its route belongs to another workflow."),
                ReplyDoc::problem(412, "Another version is active."),
                ReplyDoc::problem(413, "Too large."),
                ReplyDoc::retry_later(503, "It could not be made durable."),
            ],
        },
    },
    Route {
        method: Method::POST,
        path: "/v1/workflows:check",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Replicated,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(check)),
        doc: Operation {
            id: "checkWorkflow",
            summary: "Check a definition without applying it",
            description: "",
            parameters: &[],
            body: Some(DEFINITION),
            replies: &[
                ReplyDoc::json::<Checked>(200, "It is fine."),
                ReplyDoc::problem(400, "The definition is wrong; `errors` says where."),
                ReplyDoc::problem(413, "Too large."),
            ],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/workflows/{workflow}",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Replicated,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(show)),
        doc: Operation {
            id: "showWorkflow",
            summary: "A workflow with its source",
            description: "",
            parameters: &[
                WORKFLOW,
                Parameter::query(
                    "version",
                    "Another version than the active one.",
                    |_| json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX }),
                ),
            ],
            body: None,
            replies: &[
                ReplyDoc::json::<WorkflowView>(200, "The workflow."),
                WRONG_PARAMETER,
                NO_SUCH_WORKFLOW,
            ],
        },
    },
    Route {
        method: Method::DELETE,
        path: "/v1/workflows/{workflow}",
        access: RouteAccess::Token(Permission::Edit),
        scope: RouteScope::Control,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(delete)),
        doc: Operation {
            id: "deleteWorkflow",
            summary: "Take no more requests for a workflow; its runs go on",
            description: "",
            parameters: &[WORKFLOW],
            body: None,
            replies: &[
                ReplyDoc::empty(204, "Done."),
                NO_SUCH_WORKFLOW,
                ReplyDoc::retry_later(503, "It could not be made durable."),
            ],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/workflows/{name}/versions",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Replicated,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(versions)),
        doc: Operation {
            id: "listWorkflowVersions",
            summary: "Every version of a workflow, newest first; also of a deleted one",
            description: "",
            parameters: &[Parameter::path("name", "The workflow's name.", |_| {
                json!({
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 64,
                    "pattern": "^[A-Za-z0-9._-]+$",
                })
            })],
            body: None,
            replies: &[
                ReplyDoc::json::<WorkflowList>(200, "The versions, without their sources."),
                ReplyDoc::problem(404, "No such workflow."),
            ],
        },
    },
];

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShowQuery {
    version: Option<u32>,
}

pub(super) async fn list(State(workflows): State<Workflows>) -> Result<Response, ApiError> {
    let catalog = workflows.catalog();
    let items = catalog.all().map(outline).collect();
    Ok(json(&WorkflowList { items }))
}

/// Every version, newest first; also of a workflow that was deleted.
pub(super) async fn versions(
    State(workflows): State<Workflows>,
    Named(name): Named,
) -> Result<Response, ApiError> {
    let catalog = workflows.catalog();
    let named = WorkflowName::new(&name).ok();
    let mut items: Vec<_> = named.iter().flat_map(|name| catalog.versions(name)).map(outline).collect();
    if items.is_empty() {
        return Err(ApiError::UnknownWorkflow(format!("no workflow is called '{name}'")));
    }
    items.reverse();
    Ok(json(&WorkflowList { items }))
}

pub(super) async fn show(
    State(workflows): State<Workflows>,
    Named(name): Named,
    QueryParams(query): QueryParams<ShowQuery>,
) -> Result<Response, ApiError> {
    let catalog = workflows.catalog();
    let entry = match query.version {
        None => workflows.current(&name)?,
        Some(version) => {
            let named = WorkflowName::new(&name).ok();
            let found = named.and_then(|name| catalog.version(&name, version).cloned());
            found.ok_or_else(|| {
                ApiError::UnknownWorkflow(format!("no version {version} of workflow '{name}'"))
            })?
        }
    };
    Ok(with_etag(json(&view(&entry)), entry.version))
}

pub(super) async fn apply(
    State(workflows): State<Workflows>,
    Caller(by): Caller,
    request: Request,
) -> Result<Response, ApiError> {
    let if_version = if_match(request.headers())?;
    let source = source(request).await?;
    let applied = workflows.apply(&source, &by, if_version).await?;
    let view =
        AppliedView { name: applied.name.to_string(), version: applied.version, changed: applied.changed };
    let mut response = json(&view);
    if applied.changed {
        *response.status_mut() = StatusCode::CREATED;
    }
    Ok(with_etag(response, applied.version))
}

pub(super) async fn check(request: Request) -> Result<Response, ApiError> {
    let source = source(request).await?;
    let definition = Definition::parse(&source).map_err(ApiError::Invalid)?;
    Ok(json(&serde_json::json!({ "name": definition.name(), "valid": true })))
}

pub(super) async fn delete(
    State(workflows): State<Workflows>,
    Caller(by): Caller,
    Named(name): Named,
) -> Result<Response, ApiError> {
    let entry = workflows.current(&name)?;
    workflows.delete(entry.definition.name(), &by).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn source(request: Request) -> Result<String, ApiError> {
    let bytes = body::read(request, DEFINITION_BYTES_MAX).await?;
    String::from_utf8(bytes.to_vec())
        .map_err(|_| ApiError::BadRequest("the definition is not UTF-8 text".to_owned()))
}

/// A version without what makes it long.
fn outline(entry: &CatalogEntry) -> WorkflowView {
    WorkflowView { source: None, schema: None, ..view(entry) }
}

fn view(entry: &CatalogEntry) -> WorkflowView {
    let definition = &entry.definition;
    let plan = definition.plan();
    let name = |index: &types::StepIndex| plan.steps[usize::from(index.0)].name.to_string();
    let steps = plan.steps.iter().map(|step| StepOutline {
        name: step.name.to_string(),
        after: step.after.iter().map(name).collect(),
        alternative: step.alternative.is_some(),
        undo: step.undo.is_some(),
        pivot: step.pivot,
    });
    WorkflowView {
        name: definition.name().to_string(),
        version: entry.version,
        route: definition.accept().route().map(str::to_owned),
        serial: plan.serial,
        steps: steps.collect(),
        applied_at: Time(entry.applied_at),
        applied_by: entry.applied_by.to_string(),
        source: Some(definition.source().to_owned()),
        schema: definition.accept().schema().cloned(),
    }
}
