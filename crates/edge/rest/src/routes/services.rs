//! Services: how they are doing, and what people say about them.

use api_types::ServiceRequest;
use axum::extract::{Request, State};
use axum::response::Response;
use http::HeaderMap;

use super::{Items, Named, json};
use crate::api::Api;
use crate::auth::access::Permission;
use crate::body;
use crate::error::ApiError;
use crate::limits::SERVICE_REQUEST_BYTES_MAX;

pub(super) async fn list(State(api): State<Api>, headers: HeaderMap) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    Ok(json(&Items { items: api.services.all() }))
}

pub(super) async fn show(
    State(api): State<Api>,
    headers: HeaderMap,
    Named(name): Named,
) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    Ok(json(&api.services.get(&name)?))
}

pub(super) async fn put(
    State(api): State<Api>,
    Named(name): Named,
    request: Request,
) -> Result<Response, ApiError> {
    let by = api.auth.allow(request.headers(), Permission::Operate)?.to_owned();
    let bytes = body::read(request, SERVICE_REQUEST_BYTES_MAX).await?;
    let said: ServiceRequest = serde_json::from_slice(&bytes).map_err(|error| {
        ApiError::BadRequest(format!("breaker, limit and note are what can be said: {error}"))
    })?;
    Ok(json(&api.services.set_manually(&name, said, &by).await?))
}
