//! Everything but the entrance: runs, parked runs, workflows, partitions, health.

mod health;
mod runs;
mod workflows;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::Uri;
use journal::Journal;
use serde::Serialize;

use crate::api::Api;
use crate::error::ApiError;
use crate::openapi;

/// The router of all routes that are not matched by hand.
pub(crate) fn router<J: Journal>(api: Api<J>) -> Router {
    Router::new()
        .route("/v1/runs", get(runs::list::<J>))
        .route("/v1/runs/{id}", get(runs::show::<J>))
        .route("/v1/runs/{id}/cancel", post(runs::cancel::<J>))
        .route("/v1/runs/{id}/decide", post(runs::decide::<J>))
        .route("/v1/parked", get(runs::parked::<J>))
        .route("/v1/workflows", get(workflows::list::<J>).post(workflows::apply::<J>))
        .route("/v1/workflows:check", post(workflows::check::<J>))
        .route("/v1/workflows/{name}", get(workflows::show::<J>).delete(workflows::delete::<J>))
        .route("/v1/partitions", get(health::partitions::<J>))
        .route("/v1/services", get(health::services::<J>))
        .route("/v1/limits", get(health::limits::<J>))
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz::<J>))
        .route("/metrics", get(health::metrics::<J>))
        .route("/openapi.json", get(openapi::document))
        .fallback(not_found)
        .method_not_allowed_fallback(|method: http::Method| async move { ApiError::Method(method) })
        .with_state(api)
}

async fn not_found(uri: Uri) -> ApiError {
    ApiError::NotFound(format!("nothing is at {}; /openapi.json lists what is", uri.path()))
}

/// A list of things under `items`.
#[derive(Serialize)]
struct Items<T> {
    items: Vec<T>,
}

fn json<T: Serialize>(value: &T) -> Response {
    axum::Json(value).into_response()
}
