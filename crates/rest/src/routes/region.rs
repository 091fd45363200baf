//! The region that answers, and how it changes places with its pair.

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use journal::Journal;
use serde::de::DeserializeOwned;
use wire::{DrillRequest, PromoteRequest};

use super::json;
use crate::access::Permission;
use crate::api::Api;
use crate::error::ApiError;
use crate::region::{Force, RegionDesk};

pub(super) async fn show<J: Journal>(
    State(api): State<Api<J>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    api.allow(&headers, Permission::Read)?;
    Ok(json(&desk(&api)?.status().await?))
}

pub(super) async fn promote<J: Journal>(
    State(api): State<Api<J>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let by = api.allow(&headers, Permission::Administer)?;
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
    Ok(json(&desk(&api)?.promote(force).await?))
}

pub(super) async fn demote<J: Journal>(
    State(api): State<Api<J>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let by = api.allow(&headers, Permission::Administer)?;
    tracing::warn!(by, "a demotion was asked for");
    Ok(json(&desk(&api)?.demote().await?))
}

pub(super) async fn drill<J: Journal>(
    State(api): State<Api<J>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    api.allow(&headers, Permission::Administer)?;
    let DrillRequest { switch } = read(&body)?;
    Ok(json(&desk(&api)?.drill(switch).await?))
}

fn desk<J: Journal>(api: &Api<J>) -> Result<&dyn RegionDesk, ApiError> {
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
