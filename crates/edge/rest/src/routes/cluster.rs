//! The instances of the installation, and the partitions that they own.

use api_types::{ClusterView, HoldingView, InstanceView};
use axum::extract::State;
use axum::response::Response;
use cluster::{Member, Roles};
use http::Method;

use super::json;
use super::table::{OnStandby, Route, RouteAccess, RouteHandler, handle};
use crate::api::Cluster;
use crate::auth::access::Permission;
use crate::error::ApiError;
use crate::forward::scope::RouteScope;
use crate::openapi::operation::{Operation, ReplyDoc};

/// The routes, with their documentation.
pub(super) const ROUTES: &[Route] = &[Route {
    method: Method::GET,
    path: "/v1/cluster",
    access: RouteAccess::Token(Permission::Read),
    scope: RouteScope::Instance,
    standby: OnStandby::Answer,
    handler: RouteHandler::Call(|| handle(show)),
    doc: Operation {
        id: "showCluster",
        summary: "The instances, and which partition each owns",
        description: "",
        parameters: &[],
        body: None,
        replies: &[ReplyDoc::json::<ClusterView>(200, "The instances as this one sees them.")],
    },
}];

pub(super) async fn show(State(cluster): State<Cluster>) -> Result<Response, ApiError> {
    Ok(json(&match cluster.directory.view() {
        Some(view) => seen(cluster.me().0, &view),
        None => alone(&cluster),
    }))
}

fn seen(me: String, view: &cluster::ClusterView) -> ClusterView {
    let living = |id: &cluster::InstanceId| view.members.contains_key(id);
    let holdings = view.ownerships.iter().map(|(partition, ownership)| HoldingView {
        partition: partition.to_string(),
        holder: ownership.owner.as_ref().filter(|id| living(id)).map(|id| id.0.clone()),
        epoch: ownership.epoch.0,
    });
    ClusterView {
        instance: Some(me),
        known: view.known,
        active: view.active,
        instances: view.members.values().map(instance).collect(),
        partitions: holdings.collect(),
    }
}

fn alone(cluster: &Cluster) -> ClusterView {
    let held = cluster.engine.held().into_iter().map(|(partition, epoch)| HoldingView {
        partition: partition.to_string(),
        holder: None,
        epoch: epoch.0,
    });
    let partitions = held.collect();
    ClusterView { instance: None, known: true, active: true, instances: Vec::new(), partitions }
}

fn instance(member: &Member) -> InstanceView {
    let Roles { ingest, engine, rest } = member.roles;
    let roles = [(ingest, "ingest"), (engine, "engine"), (rest, "rest")];
    InstanceView {
        id: member.id.0.clone(),
        address: member.address.clone(),
        roles: roles.into_iter().filter(|(has, _)| *has).map(|(_, name)| name.to_owned()).collect(),
        ordinal: member.ordinal,
        version: member.version.clone(),
    }
}
