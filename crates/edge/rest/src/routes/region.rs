//! The region that answers, and how it changes places with its pair.

use api_types::{DrillRequest, PromoteRequest};
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use futures_util::stream;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::json;
use crate::api::Api;
use crate::auth::access::Permission;
use crate::error::ApiError;
use crate::region::{Force, RegionControl};

pub(super) async fn show(State(api): State<Api>, headers: HeaderMap) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    Ok(json(&regions(&api)?.status().await?))
}

pub(super) async fn promote(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let by = api.auth.allow(&headers, Permission::Administer)?;
    let PromoteRequest { force, incomplete } = read(&body)?;
    tracing::warn!(by, force, incomplete, "a promotion was asked for");
    let force = match (force, incomplete) {
        (false, false) => Force::No,
        (true, false) => Force::Yes,
        (true, true) => Force::Incomplete,
        (false, true) => {
            return Err(ApiError::BadRequest("incomplete is for a promotion with force".to_owned()));
        }
    };
    Ok(json(&regions(&api)?.promote(force).await?))
}

pub(super) async fn demote(State(api): State<Api>, headers: HeaderMap) -> Result<Response, ApiError> {
    let by = api.auth.allow(&headers, Permission::Administer)?;
    tracing::warn!(by, "a demotion was asked for");
    Ok(json(&regions(&api)?.demote().await?))
}

pub(super) async fn drill(
    State(api): State<Api>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Administer)?;
    let DrillRequest { switch } = read(&body)?;
    Ok(json(&regions(&api)?.drill(switch).await?))
}

/// What requests of a tail are asked for with.
#[derive(Debug, Deserialize)]
pub(super) struct TailQuery {
    stream: String,
}

/// Bodies may be secret to those who only look on: whoever may hand them in again sees them.
pub(super) async fn tail_requests(
    State(api): State<Api>,
    headers: HeaderMap,
    asked: Result<Query<TailQuery>, QueryRejection>,
) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Administer)?;
    let Query(TailQuery { stream }) = asked.map_err(|error| ApiError::BadRequest(error.body_text()))?;
    let missing = || ApiError::NotFound(format!("the newest divergent tail holds no inbox {stream}"));
    let requests = regions(&api)?.tail_requests(stream.clone()).await?.ok_or_else(missing)?;
    let lines = stream::unfold(requests, async |mut requests| {
        let request = requests.recv().await?;
        let line = serde_json::to_string(&request).map(|line| line + "\n");
        Some((line, requests))
    });
    let mut response = Response::new(Body::from_stream(lines));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    Ok(response)
}

fn regions(api: &Api) -> Result<&dyn RegionControl, ApiError> {
    let none = || ApiError::NotFound("this installation has no regions; region.name sets them up".to_owned());
    api.region.as_deref().ok_or_else(none)
}

/// A body that may be missing.
fn read<T: DeserializeOwned + Default>(body: &Bytes) -> Result<T, ApiError> {
    if body.is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(body).map_err(|error| ApiError::BadRequest(error.to_string()))
}
