//! Queues and the subscriptions of topics: made, shown, changed, deleted, looked into, redriven and emptied.

use std::collections::BTreeMap;

use api_types::Moved;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequestParts, Path, Query, Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use kernel::queue::{QueueRef, SubQueue};
use serde::Deserialize;
use serde_json::{Value, json};

use super::json as answer;
use crate::api::Api;
use crate::auth::access::Permission;
use crate::body;
use crate::bus::{queue_ref, resource};
use crate::error::ApiError;
use crate::etag::{expect, with_etag};
use crate::limits::{PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX, QUEUE_BYTES_MAX};
use crate::queues::{Look, Part, only_looks, shelf};

/// The queue, topic or subscription that a path names.
pub(super) struct At(pub QueueRef);

impl<S: Send + Sync> FromRequestParts<S> for At {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<At, ApiError> {
        let Path(names) = Path::<BTreeMap<String, String>>::from_request_parts(parts, state)
            .await
            .map_err(|error: PathRejection| ApiError::BadRequest(error.body_text()))?;
        let name = names.get("q").or_else(|| names.get("t")).map(String::as_str).unwrap_or_default();
        Ok(At(queue_ref(name, names.get("s").map(String::as_str))?))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PartQuery {
    after: Option<String>,
    limit: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LookQuery {
    shelf: Option<String>,
    from: Option<u64>,
    limit: Option<usize>,
}

pub(super) type AskedPart = Result<Query<PartQuery>, QueryRejection>;
pub(super) type AskedLook = Result<Query<LookQuery>, QueryRejection>;

pub(super) fn part(asked: AskedPart) -> Result<Part, ApiError> {
    let Query(asked) = asked.map_err(|error| ApiError::BadRequest(error.body_text()))?;
    let limit = asked.limit.unwrap_or(PAGE_ITEMS_MAX);
    if !(1..=PAGE_ITEMS_MAX).contains(&limit) {
        return Err(ApiError::BadRequest(format!("limit: {limit} is not 1 to {PAGE_ITEMS_MAX}")));
    }
    Ok(Part { after: asked.after.map(|name| name.to_ascii_lowercase()), limit })
}

/// How many names a list of queues or topics is asked for.
pub(crate) fn name_limit(uri: &http::Uri) -> Result<usize, ApiError> {
    Ok(part(Query::try_from_uri(uri))?.limit)
}

fn look(asked: AskedLook) -> Result<Look, ApiError> {
    let Query(asked) = asked.map_err(|error| ApiError::BadRequest(error.body_text()))?;
    let limit = asked.limit.unwrap_or(PAGE_ITEMS_DEFAULT);
    if !(1..=Look::LIMIT_MAX).contains(&limit) {
        return Err(ApiError::BadRequest(format!("limit: {limit} is not 1 to {}", Look::LIMIT_MAX)));
    }
    let shelf = asked.shelf.as_deref().map_or(Ok(SubQueue::Main), shelf)?;
    Ok(Look { shelf, from: asked.from.unwrap_or(0), limit })
}

pub(super) async fn list(
    State(api): State<Api>,
    headers: HeaderMap,
    asked: AskedPart,
) -> Result<Response, ApiError> {
    api.auth.allow_queue(&headers, Permission::Read, "/")?;
    Ok(answer(&api.queues.list_queues(part(asked)?).await?))
}

/// A queue or a subscription.
pub(super) async fn one(State(api): State<Api>, At(at): At, request: Request) -> Result<Response, ApiError> {
    let method = request.method().clone();
    allow(&api, &request, &at)?;
    let expect = expect(&method, request.headers())?;
    let (queue, status) = match method {
        Method::PUT => {
            let (queue, created) = api.queues.put_queue(&at, &read(request).await?, expect).await?;
            (queue, if created { StatusCode::CREATED } else { StatusCode::OK })
        }
        Method::DELETE => {
            api.queues.delete_queue(&at, expect).await?;
            return Ok(StatusCode::NO_CONTENT.into_response());
        }
        // The router lets only these through.
        _ => (api.queues.show_queue(&at).await?, StatusCode::OK),
    };
    let mut response = answer(&queue);
    *response.status_mut() = status;
    Ok(with_etag(response, queue.version))
}

/// Looking needs less than changing.
pub(super) fn allow(api: &Api, request: &Request, at: &QueueRef) -> Result<(), ApiError> {
    let needs = if only_looks(request.method()) { Permission::Read } else { Permission::Edit };
    api.auth.allow_queue(request.headers(), needs, &resource(at)).map(drop)
}

pub(super) async fn messages(
    State(api): State<Api>,
    headers: HeaderMap,
    At(at): At,
    asked: AskedLook,
) -> Result<Response, ApiError> {
    api.auth.allow_queue(&headers, Permission::Read, &resource(&at))?;
    Ok(answer(&api.queues.peek(&at, look(asked)?).await?))
}

pub(super) async fn redrive(
    State(api): State<Api>,
    At(at): At,
    request: Request,
) -> Result<Response, ApiError> {
    api.auth.allow_queue(request.headers(), Permission::Operate, &resource(&at))?;
    let messages = api.queues.redrive(&at, &read(request).await?).await?;
    Ok(answer(&Moved { messages }))
}

pub(super) async fn purge(
    State(api): State<Api>,
    At(at): At,
    request: Request,
) -> Result<Response, ApiError> {
    api.auth.allow_queue(request.headers(), Permission::Operate, &resource(&at))?;
    let messages = api.queues.purge(&at, &read(request).await?).await?;
    Ok(answer(&Moved { messages }))
}

/// A body as JSON. Everything in these has a default, and so has all of it.
pub(super) async fn read(request: Request) -> Result<Value, ApiError> {
    let bytes = body::read(request, QUEUE_BYTES_MAX).await?;
    if bytes.is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| ApiError::BadQueue(format!("the body is not JSON: {error}")))
}
