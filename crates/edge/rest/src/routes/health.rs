//! How the process is doing: the overview, partitions, limits, probes, metrics.

use api_types::PartitionView;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use engine::PartitionInfo;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use journal::Journal;
use serde_json::json as object;

use super::{Items, json};
use crate::api::Api;
use crate::auth::access::Permission;
use crate::error::ApiError;

pub(super) async fn partitions(State(api): State<Api>, headers: HeaderMap) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    let mut items = Vec::new();
    for info in api.cluster.engine.partitions() {
        items.push(partition(&api, info).await);
    }
    Ok(json(&Items { items }))
}

async fn partition(api: &Api, info: PartitionInfo) -> PartitionView {
    let counted = api.cluster.engine.query(info.id, |state| {
        (state.inbox_through().0, state.live_count(), state.parked_count(), state.calls_count())
    });
    let step = api.instance.journal.inbox_step();
    let (inbox_through, live_runs, parked_runs, calls) = counted.await.unwrap_or_default();
    PartitionView {
        partition: info.id.0,
        state: if info.stopped.is_some() { "stopped" } else { "running" }.to_owned(),
        reason: info.stopped,
        inbox_tail: api.instance.journal.inbox_tail(info.id).borrow().0 / step,
        inbox_through: inbox_through / step,
        live_runs,
        parked_runs,
        calls,
    }
}

pub(super) async fn overview(State(api): State<Api>, headers: HeaderMap) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    Ok(json(&api.overview.read().await))
}

pub(super) async fn limits(State(api): State<Api>, headers: HeaderMap) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    Ok(json(&api.instance.limits))
}

/// The settings of this instance. Whoever may see the limits may see what else is set; the names of those who may come in
/// are for those alone who let them in.
pub(super) async fn settings(State(api): State<Api>, headers: HeaderMap) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    let mut settings = api.instance.settings.clone();
    if api.auth.allow(&headers, Permission::Administer).is_err() {
        settings.tokens = None;
    }
    Ok(json(&settings))
}

/// The process answers: its runtime is not stuck.
pub(super) async fn livez() -> &'static str {
    "ok\n"
}

/// The process can answer clients usefully; what it cannot take is told in any case.
pub(super) async fn readyz(State(api): State<Api>) -> Response {
    let stopped = api.cluster.engine.partitions().into_iter().filter(|info| info.stopped.is_some());
    let stopped = stopped.map(|info| object!({ "partition": info.id.0, "reason": info.stopped }));
    let mut body = object!({
        "ready": true,
        "disk_accepts": api.instance.journal.room().accepts,
        "stopped": stopped.collect::<Vec<_>>(),
    });
    let Some(unready) = api.cluster.unready() else { return json(&body) };
    body["ready"] = false.into();
    body["reason"] = unready.code().into();
    body["detail"] = unready.detail().into();
    (StatusCode::SERVICE_UNAVAILABLE, axum::Json(body)).into_response()
}

pub(super) async fn metrics(State(api): State<Api>, headers: HeaderMap) -> Result<Response, ApiError> {
    api.auth.allow(&headers, Permission::Read)?;
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &api.instance.metrics)
        .expect("writing to a string succeeds");
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}
