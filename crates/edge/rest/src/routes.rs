//! Everything but the entrance: runs, parked runs, workflows, partitions, health.

mod bulk;
mod call;
mod cluster;
mod collections;
mod health;
mod jobs;
mod queues;
mod region;
mod runs;
mod services;
mod topics;
mod workflows;

use axum::Router as AxumRouter;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use axum::handler::Handler;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};
use http::Uri;
use http::request::Parts;
use serde::Serialize;

use crate::api::Api;
use crate::error::ApiError;
use crate::openapi;

pub(crate) use collections::{path_of as collection_path, short_name_of as short_collection_name};
pub(crate) use queues::name_limit;
pub(crate) use runs::run_query;

/// The router of all routes that are not matched by hand.
pub(crate) fn router(api: Api) -> AxumRouter {
    AxumRouter::new()
        .route("/v1/runs", get(runs::list))
        .route("/v1/runs/{id}", get(runs::show))
        .route("/v1/runs/{id}/cancel", post(runs::cancel))
        .route("/v1/runs/{id}/decide", post(runs::decide))
        .route("/v1/runs/{id}/steps/{step}/call", get(call::show))
        .route("/v1/parked", get(runs::parked))
        .route("/v1/workflows", get(workflows::list).post(workflows::apply))
        .route("/v1/workflows:check", post(workflows::check))
        .route("/v1/workflows/{name}", get(workflows::show).delete(workflows::delete))
        .route("/v1/workflows/{name}/versions", get(workflows::versions))
        .route("/v1/workflows/{name}/runs", post(wrong_method))
        .route("/v1/workflows/{name}/runs/{id}", put(wrong_method))
        .route("/v1/workflows/{name}/runs:batch", post(wrong_method))
        .route("/v1/collections", get(collections::list))
        .route("/v1/collections/{c}", whole(collections::one))
        .route("/v1/collections/{c}/enable", post(collections::enable))
        .route("/v1/collections/{c}/disable", post(collections::disable))
        .route("/v1/collections/{c}/export", get(collections::export))
        .route("/v1/collections/{c}/import", post(collections::import))
        .route("/v1/collections/{c}/jobs", get(jobs::list))
        .route("/v1/collections/{c}/jobs/{j}", whole(jobs::one))
        .route("/v1/collections/{c}/jobs/{j}/run", post(jobs::run))
        .route("/v1/collections/{c}/jobs/{j}/history", get(jobs::history))
        .route("/v1/collections/{c}/jobs/{j}/preview", get(jobs::preview))
        .route("/v1/preview", post(jobs::preview_of))
        .route("/v1/queues", get(queues::list))
        .route("/v1/queues/{q}", kept(queues::one))
        .route("/v1/queues/{q}/messages", get(queues::messages))
        .route("/v1/queues/{q}/redrive", post(queues::redrive))
        .route("/v1/queues/{q}/purge", post(queues::purge))
        .route("/v1/topics", get(topics::list))
        .route("/v1/topics/{t}", kept(topics::one))
        .route("/v1/topics/{t}/subscriptions", get(topics::subscriptions))
        .route("/v1/topics/{t}/subscriptions/{s}", kept(queues::one))
        .route("/v1/topics/{t}/subscriptions/{s}/messages", get(queues::messages))
        .route("/v1/topics/{t}/subscriptions/{s}/redrive", post(queues::redrive))
        .route("/v1/topics/{t}/subscriptions/{s}/purge", post(queues::purge))
        .route("/v1/bulk", get(bulk::list).post(wrong_method))
        .route("/v1/bulk/{id}", get(bulk::show))
        .route("/v1/bulk/{id}/stop", post(bulk::stop))
        .route("/v1/cluster", get(cluster::show))
        .route("/v1/overview", get(health::overview))
        .route("/v1/partitions", get(health::partitions))
        .route("/v1/region", get(region::show))
        .route("/v1/region:promote", post(region::promote))
        .route("/v1/region:demote", post(region::demote))
        .route("/v1/region:drill", post(region::drill))
        .route("/v1/region:requests", get(region::tail_requests))
        .route("/v1/services", get(services::list))
        .route("/v1/services/{name}", get(services::show).put(services::put))
        .route("/v1/limits", get(health::limits))
        .route("/v1/settings", get(health::settings))
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(openapi::document))
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .with_state(api)
}

/// The methods of something that can be read, written, changed and deleted.
fn whole<H, T, S>(handler: H) -> MethodRouter<S>
where
    H: Handler<T, S>,
    T: 'static,
    S: Clone + Send + Sync + 'static,
{
    get(handler.clone()).put(handler.clone()).patch(handler.clone()).delete(handler)
}

/// The methods of something that can be read, written and deleted.
fn kept<H, T, S>(handler: H) -> MethodRouter<S>
where
    H: Handler<T, S>,
    T: 'static,
    S: Clone + Send + Sync + 'static,
{
    get(handler.clone()).put(handler.clone()).delete(handler)
}

/// The entrance takes what it knows before the router sees it: what is left is a method that nobody takes.
async fn wrong_method(method: http::Method) -> ApiError {
    ApiError::Method { method, allow: "" }
}

/// The one name or id in a path.
struct Named(String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named, ApiError> {
        let Path(name) = Path::from_request_parts(parts, state)
            .await
            .map_err(|error: PathRejection| ApiError::BadRequest(error.body_text()))?;
        Ok(Named(name))
    }
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
