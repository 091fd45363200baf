//! Workflows: applied, checked, shown, deleted.

use api_types::{AppliedView, StepOutline, Time, WorkflowList, WorkflowView};
use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Response};
use engine::CatalogEntry;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use types::WorkflowName;
use workflow::Definition;

use super::{Named, json};
use crate::api::Api;
use crate::auth::access::Permission;
use crate::body;
use crate::error::ApiError;
use crate::etag::{if_match, with_etag};
use crate::limits::DEFINITION_BYTES_MAX;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShowQuery {
    version: Option<u32>,
}

pub(super) async fn list(State(api): State<Api>, headers: HeaderMap) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    let catalog = api.workflows.catalog();
    let items = catalog.all().map(outline).collect();
    Ok(json(&WorkflowList { items }))
}

/// Every version, newest first; also of a workflow that was deleted.
pub(super) async fn versions(
    State(api): State<Api>,
    headers: HeaderMap,
    Named(name): Named,
) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    let catalog = api.workflows.catalog();
    let named = WorkflowName::new(&name).ok();
    let mut items: Vec<_> = named.iter().flat_map(|name| catalog.versions(name)).map(outline).collect();
    if items.is_empty() {
        return Err(ApiError::UnknownWorkflow(format!("no workflow is called '{name}'")));
    }
    items.reverse();
    Ok(json(&WorkflowList { items }))
}

pub(super) async fn show(
    State(api): State<Api>,
    headers: HeaderMap,
    Named(name): Named,
    asked: Result<Query<ShowQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    let Query(asked) = asked.map_err(|error| ApiError::BadRequest(error.body_text()))?;
    let catalog = api.workflows.catalog();
    let entry = match asked.version {
        None => api.workflows.current(&name)?,
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

pub(super) async fn apply(State(api): State<Api>, request: Request) -> Result<Response, ApiError> {
    let by = api.auth.allow(request.headers(), Permission::Edit)?;
    let if_version = if_match(request.headers())?;
    let source = source(request).await?;
    let applied = api.workflows.apply(&source, by, if_version).await?;
    let view =
        AppliedView { name: applied.name.to_string(), version: applied.version, changed: applied.changed };
    let mut response = json(&view);
    if applied.changed {
        *response.status_mut() = StatusCode::CREATED;
    }
    Ok(with_etag(response, applied.version))
}

pub(super) async fn check(State(api): State<Api>, request: Request) -> Result<Response, ApiError> {
    api.auth.allow(request.headers(), Permission::Read)?;
    let source = source(request).await?;
    let definition = Definition::parse(&source).map_err(ApiError::Invalid)?;
    Ok(json(&serde_json::json!({ "name": definition.name(), "valid": true })))
}

pub(super) async fn delete(
    State(api): State<Api>,
    headers: HeaderMap,
    Named(name): Named,
) -> Result<Response, ApiError> {
    let by = api.auth.allow(&headers, Permission::Edit)?;
    let entry = api.workflows.current(&name)?;
    api.workflows.delete(entry.definition.name(), by).await?;
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
