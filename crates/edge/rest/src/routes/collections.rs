//! Collections for people: `/v1/collections/{c}`, with the bodies of the Azure API.
//!
//! `{c}` is a collection's name, or `subscription~group~name` for one that was made through the Azure paths.

use axum::extract::{Query, Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method, StatusCode};
use kernel::job::Collection;
use schedule::FrontEnd;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Items, Named, json as answer};
use crate::api::Api;
use crate::auth::access::Permission;
use crate::azure::{CollectionPath, scope};
use crate::body;
use crate::error::ApiError;
use crate::etag::{expect, with_etag};
use crate::jobs::{JobsError, Manner, stored_collection};
use crate::limits::{IMPORT_BYTES_MAX, JOB_BYTES_MAX};

/// The subscription and the group of collections that were made natively.
const SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000000";
const GROUP: &str = "default";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ImportQuery {
    dry_run: bool,
    prune: bool,
}

/// Where `{c}` points.
pub(crate) fn path_of(text: &str) -> Result<CollectionPath, ApiError> {
    let parts: Vec<&str> = text.split('~').collect();
    let [subscription, group, name] = match parts.as_slice() {
        [name] => [SUBSCRIPTION, GROUP, name],
        [subscription, group, name] => [*subscription, *group, *name],
        _ => {
            let text = format!("'{text}' is no collection: write its name, or subscription~group~name");
            return Err(ApiError::BadRequest(text));
        }
    };
    let [subscription, group, name] = [subscription, group, name].map(str::to_owned);
    Ok(CollectionPath { subscription, group, name })
}

/// How a collection is named in paths.
pub(super) fn short_name(collection: &Collection) -> String {
    short_name_of(&collection.full_name())
}

/// The same for one that is known by its full name, `subscription/group/name`.
pub(crate) fn short_name_of(full_name: &str) -> String {
    let parts: Vec<&str> = full_name.splitn(3, '/').collect();
    match parts.as_slice() {
        [SUBSCRIPTION, group, name] if group.eq_ignore_ascii_case(GROUP) => (*name).to_owned(),
        _ => full_name.replace('/', "~"),
    }
}

fn shown(collection: &Collection) -> Result<Value, JobsError> {
    let document = stored_collection(collection)?;
    let mut value =
        serde_json::to_value(scope(collection).collection(&collection.name, &document)).expect("plain data");
    value["collection"] = short_name(collection).into();
    value["jobs"] = collection.jobs.into();
    Ok(value)
}

pub(super) async fn list(State(api): State<Api>, headers: HeaderMap) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    let all = api.jobs.reader.collections_in(api.cluster.owned_partitions(), "").map_err(JobsError::from)?;
    let items = all.iter().map(shown).collect::<Result<Vec<_>, _>>()?;
    Ok(answer(&Items { items }))
}

pub(super) async fn one(
    State(api): State<Api>,
    Named(name): Named,
    request: Request,
) -> Result<Response, ApiError> {
    let method = request.method().clone();
    let needs =
        if matches!(method, Method::GET | Method::HEAD) { Permission::Read } else { Permission::Edit };
    api.auth.allow(request.headers(), needs)?;
    let (at, expect) = (path_of(&name)?, expect(&method, request.headers())?);
    let (collection, status) = match method {
        Method::GET | Method::HEAD => (api.jobs.collection(&at)?, StatusCode::OK),
        Method::PUT => {
            // Everything in a collection has a default, and so has all of it.
            let bytes = body::read(request, JOB_BYTES_MAX).await?;
            let body = if bytes.is_empty() { json!({}) } else { parse(&bytes)? };
            let (collection, created) = api.jobs.put_collection(&at, &body, FrontEnd::Native, expect).await?;
            (collection, if created { StatusCode::CREATED } else { StatusCode::OK })
        }
        Method::PATCH => {
            let body = read(request, JOB_BYTES_MAX).await?;
            (api.jobs.patch_collection(&at, &body, expect).await?, StatusCode::OK)
        }
        Method::DELETE => {
            api.jobs.delete_collection(&at, expect).await?;
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        method => return Err(ApiError::Method { method, allow: "" }),
    };
    let mut response = answer(&shown(&collection)?);
    *response.status_mut() = status;
    Ok(with_etag(response, collection.version))
}

pub(super) async fn enable(
    State(api): State<Api>,
    headers: HeaderMap,
    Named(name): Named,
) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Edit)?;
    api.jobs.switch_collection(&path_of(&name)?, true).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn disable(
    State(api): State<Api>,
    headers: HeaderMap,
    Named(name): Named,
) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Edit)?;
    api.jobs.switch_collection(&path_of(&name)?, false).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(super) async fn export(
    State(api): State<Api>,
    headers: HeaderMap,
    Named(name): Named,
) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    Ok(answer(&api.jobs.export(&path_of(&name)?)?))
}

pub(super) async fn import(
    State(api): State<Api>,
    Named(name): Named,
    asked: Result<Query<ImportQuery>, axum::extract::rejection::QueryRejection>,
    request: Request,
) -> Result<Response, ApiError> {
    let Query(asked) = asked.map_err(|error| ApiError::BadRequest(error.body_text()))?;
    api.auth.allow(request.headers(), if asked.dry_run { Permission::Read } else { Permission::Edit })?;
    let body = read(request, IMPORT_BYTES_MAX).await?;
    let manner = Manner { dry_run: asked.dry_run, prune: asked.prune };
    Ok(answer(&api.jobs.import(&path_of(&name)?, &body, manner).await?))
}

/// A body as JSON.
pub(super) async fn read(request: Request, bytes_max: usize) -> Result<Value, ApiError> {
    parse(&body::read(request, bytes_max).await?)
}

fn parse(bytes: &[u8]) -> Result<Value, ApiError> {
    if bytes.is_empty() {
        return Err(ApiError::BadRequest("the body is missing; send JSON".to_owned()));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::BadRequest(format!("the body is not JSON: {error}")))
}
