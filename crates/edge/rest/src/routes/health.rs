//! How the process is doing: the overview, partitions, limits, probes, metrics.

use std::sync::Arc;

use api_types::{Limits, OverviewView, PartitionView, SettingsView};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use engine::PartitionInfo;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, StatusCode};
use journal::{DynJournal, Journal};
use serde_json::json as object;
use serde_json::json;

use super::table::{OnStandby, Route, RouteAccess, RouteHandler, handle};
use super::{Items, json};
use crate::api::{Auth, Cluster, Instance};
use crate::auth::access::Permission;
use crate::error::ApiError;
use crate::forward::scope::{Merge, RouteScope};
use crate::openapi;
use crate::openapi::drafts::{PartitionList, Readiness};
use crate::openapi::operation::{Media, Operation, ReplyDoc};
use crate::overview::Overview;

/// The routes, with their documentation.
pub(super) const PARTITION_ROUTES: &[Route] = &[Route {
    method: Method::GET,
    path: "/v1/partitions",
    access: RouteAccess::Token(Permission::Read),
    scope: RouteScope::Merged(Merge::Partitions),
    standby: OnStandby::Refuse,
    handler: RouteHandler::Call(|| handle(partitions)),
    doc: Operation {
        id: "listPartitions",
        summary: "The state of each partition",
        description: "",
        parameters: &[],
        body: None,
        replies: &[ReplyDoc::json::<PartitionList>(200, "The partitions.")],
    },
}];

pub(super) const OVERVIEW_ROUTES: &[Route] = &[
    Route {
        method: Method::GET,
        path: "/v1/overview",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Merged(Merge::Overview),
        standby: OnStandby::Answer,
        handler: RouteHandler::Call(|| handle(overview)),
        doc: Operation {
            id: "showOverview",
            summary: "How everything is doing, and how it was in the last fifteen minutes",
            description: "Among several instances, of all of them together: rates, counts and series \
                add up; of latencies, the slowest instance's.",
            parameters: &[],
            body: None,
            replies: &[ReplyDoc::json::<OverviewView>(200, "How it is.")],
        },
    },
    Route {
        method: Method::GET,
        path: "/v1/settings",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Instance,
        standby: OnStandby::Answer,
        handler: RouteHandler::Call(|| handle(settings)),
        doc: Operation {
            id: "showSettings",
            summary: "The settings of the instance that answers",
            description: "Secrets are never shown, and the names of tokens only to administrators.",
            parameters: &[],
            body: None,
            replies: &[ReplyDoc::json::<SettingsView>(200, "The settings.")],
        },
    },
];

pub(super) const SERVER_ROUTES: &[Route] = &[
    Route {
        method: Method::GET,
        path: "/v1/limits",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Replicated,
        standby: OnStandby::Refuse,
        handler: RouteHandler::Call(|| handle(limits)),
        doc: Operation {
            id: "showLimits",
            summary: "The active limits",
            description: "",
            parameters: &[],
            body: None,
            replies: &[ReplyDoc::json::<Limits>(200, "The limits.")],
        },
    },
    Route {
        method: Method::GET,
        path: "/livez",
        access: RouteAccess::Open,
        scope: RouteScope::Probe,
        standby: OnStandby::Answer,
        handler: RouteHandler::Call(|| handle(livez)),
        doc: Operation {
            id: "livez",
            summary: "The process answers",
            description: "",
            parameters: &[],
            body: None,
            replies: &[ReplyDoc::media(
                200,
                "ok",
                &[Media::new("text/plain", |_| json!({ "type": "string" }))],
            )],
        },
    },
    Route {
        method: Method::GET,
        path: "/readyz",
        access: RouteAccess::Open,
        scope: RouteScope::Probe,
        standby: OnStandby::Answer,
        handler: RouteHandler::Call(|| handle(readyz)),
        doc: Operation {
            id: "readyz",
            summary: "The process can answer clients",
            description: "",
            parameters: &[],
            body: None,
            replies: &[
                ReplyDoc::json::<Readiness>(200, "Ready."),
                ReplyDoc::json::<Readiness>(503, "Not ready, and why."),
            ],
        },
    },
    Route {
        method: Method::GET,
        path: "/metrics",
        access: RouteAccess::Token(Permission::Read),
        scope: RouteScope::Probe,
        standby: OnStandby::Answer,
        handler: RouteHandler::Call(|| handle(metrics)),
        doc: Operation {
            id: "metrics",
            summary: "Metrics for Prometheus",
            description: "",
            parameters: &[],
            body: None,
            replies: &[ReplyDoc::media(
                200,
                "The metrics.",
                &[Media::new("application/openmetrics-text", |_| json!({ "type": "string" }))],
            )],
        },
    },
    Route {
        method: Method::GET,
        path: "/openapi.json",
        access: RouteAccess::Open,
        scope: RouteScope::Replicated,
        standby: OnStandby::Answer,
        handler: RouteHandler::Call(|| handle(openapi::document)),
        doc: Operation {
            id: "openapi",
            summary: "This document",
            description: "",
            parameters: &[],
            body: None,
            replies: &[ReplyDoc::media(
                200,
                "This document.",
                &[Media::new("application/json", |_| json!({ "type": "object" }))],
            )],
        },
    },
];

pub(super) async fn partitions(
    State(cluster): State<Cluster>,
    State(instance): State<Arc<Instance>>,
) -> Result<Response, ApiError> {
    let mut items = Vec::new();
    for info in cluster.engine.partitions() {
        items.push(partition(&cluster, &instance.journal, info).await);
    }
    Ok(json(&Items { items }))
}

async fn partition(cluster: &Cluster, journal: &DynJournal, info: PartitionInfo) -> PartitionView {
    let counted = cluster.engine.query(info.id, |state| {
        (state.inbox_through().0, state.live_count(), state.parked_count(), state.calls_count())
    });
    let step = journal.inbox_step();
    let (inbox_through, live_runs, parked_runs, calls) = counted.await.unwrap_or_default();
    PartitionView {
        partition: info.id.0,
        state: if info.stopped.is_some() { "stopped" } else { "running" }.to_owned(),
        reason: info.stopped,
        inbox_tail: journal.inbox_tail(info.id).borrow().0 / step,
        inbox_through: inbox_through / step,
        live_runs,
        parked_runs,
        calls,
    }
}

pub(super) async fn overview(State(overview): State<Overview>) -> Result<Response, ApiError> {
    Ok(json(&overview.read().await))
}

pub(super) async fn limits(State(instance): State<Arc<Instance>>) -> Result<Response, ApiError> {
    Ok(json(&instance.limits))
}

/// The settings of this instance. Whoever may see the limits may see what else is set; the names of those who may come in
/// are for those alone who let them in.
pub(super) async fn settings(
    State(instance): State<Arc<Instance>>,
    State(auth): State<Auth>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let mut settings = instance.settings.clone();
    if auth.allow(&headers, Permission::Administer).is_err() {
        settings.tokens = None;
    }
    Ok(json(&settings))
}

/// The process answers: its runtime is not stuck.
pub(super) async fn livez() -> &'static str {
    "ok\n"
}

/// The process can answer clients usefully; what it cannot accept is reported in any case.
pub(super) async fn readyz(
    State(cluster): State<Cluster>,
    State(instance): State<Arc<Instance>>,
) -> Response {
    let stopped = cluster.engine.partitions().into_iter().filter(|info| info.stopped.is_some());
    let stopped = stopped.map(|info| object!({ "partition": info.id.0, "reason": info.stopped }));
    let mut body = object!({
        "ready": true,
        "disk_accepts": instance.journal.room().accepts,
        "stopped": stopped.collect::<Vec<_>>(),
    });
    let Some(unready) = cluster.unready() else { return json(&body) };
    body["ready"] = false.into();
    body["reason"] = unready.code().into();
    body["detail"] = unready.detail().into();
    (StatusCode::SERVICE_UNAVAILABLE, axum::Json(body)).into_response()
}

pub(super) async fn metrics(State(instance): State<Arc<Instance>>) -> Result<Response, ApiError> {
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &instance.metrics)
        .expect("writing to a string succeeds");
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}
