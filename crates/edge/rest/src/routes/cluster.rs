//! The instances of the installation, and what they hold.

use api_types::{ClusterView, HoldingView, InstanceView};
use axum::extract::State;
use axum::response::Response;
use cluster::{Member, Roles, Sight};
use http::HeaderMap;

use super::json;
use crate::api::Api;
use crate::auth::access::Permission;
use crate::error::ApiError;

pub(super) async fn show(State(api): State<Api>, headers: HeaderMap) -> Result<Response, ApiError> {
    api.allow(&headers, Permission::Read)?;
    Ok(json(&match api.directory.sight() {
        Some(sight) => seen(api.me().0, &sight),
        None => alone(&api),
    }))
}

fn seen(me: String, sight: &Sight) -> ClusterView {
    let living = |id: &cluster::InstanceId| sight.members.contains_key(id);
    let holdings = sight.holdings.iter().map(|(partition, holding)| HoldingView {
        partition: partition.to_string(),
        holder: holding.holder.as_ref().filter(|id| living(id)).map(|id| id.0.clone()),
        epoch: holding.epoch.0,
    });
    ClusterView {
        instance: Some(me),
        known: sight.known,
        active: sight.active,
        instances: sight.members.values().map(instance).collect(),
        partitions: holdings.collect(),
    }
}

fn alone(api: &Api) -> ClusterView {
    let held = api.engine.held().into_iter().map(|(partition, epoch)| HoldingView {
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
