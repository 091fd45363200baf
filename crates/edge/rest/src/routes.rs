//! The routes of the REST API: one table, and the handlers beside their entries.

mod adapters;
mod bulk;
mod call;
mod cluster;
mod collections;
mod health;
mod jobs;
mod messages;
mod params;
mod queues;
mod region;
mod runs;
mod services;
pub(crate) mod table;
mod topics;
mod workflows;

use axum::response::{IntoResponse, Response};
use serde::Serialize;

pub(crate) use adapters::{azure_access, classic_access, own_route_access};
pub(crate) use collections::{path_of as collection_path, short_name_of as short_collection_name};
pub(crate) use messages::access as service_bus_access;
pub(crate) use params::{Caller, PathParams};
pub(crate) use queues::name_limit;
pub(crate) use runs::run_query;
pub(crate) use table::{BoxedHandler, FoundRoute, OnStandby, Route, RouteAccess, RouteTable};

/// A list of things under `items`.
#[derive(Serialize)]
struct Items<T> {
    items: Vec<T>,
}

fn json<T: Serialize>(value: &T) -> Response {
    axum::Json(value).into_response()
}
