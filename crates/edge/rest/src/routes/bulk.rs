//! Bulks: shown and stopped. They begin at the router, which reaches runs wherever they are.

use api_types::BulkList;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;

use super::{Named, json};
use crate::api::Api;
use crate::auth::access::Permission;
use crate::error::ApiError;

pub(super) async fn list(State(api): State<Api>, headers: HeaderMap) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    Ok(json(&BulkList { items: api.bulks.all() }))
}

pub(super) async fn show(
    State(api): State<Api>,
    headers: HeaderMap,
    Named(id): Named,
) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    Ok(json(&api.bulks.get(&id)?))
}

pub(super) async fn stop(
    State(api): State<Api>,
    headers: HeaderMap,
    Named(id): Named,
) -> Result<Response, ApiError> {
    let by = api.auth.allow(&headers, Permission::Operate)?;
    Ok(json(&api.bulks.stop(&id, by).await?))
}
