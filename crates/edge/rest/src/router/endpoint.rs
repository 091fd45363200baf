//! What a method and a path lead to: a route of the table, a workflow's own route, or an adapter for another API.

use axum::body::Body;
use axum::response::IntoResponse;
use engine::{Catalog, CatalogEntry, queues};
use http::{Method, Response};
use percent_encoding::percent_decode_str;

use crate::auth::queue_path;
use crate::azure;
use crate::error::ApiError;
use crate::forward::scope::{Merge, ResolvedScope};
use crate::ingest_routes::{self, IngestRoute};
use crate::own_route;
use crate::routes::{self, BoxedHandler, FoundRoute, OnStandby, PathParams, Route, RouteAccess, RouteTable};
use crate::servicebus::ServiceBusPath;

/// What answers a request.
pub(crate) enum Endpoint<'p> {
    Ingest(IngestRoute<'p>),
    Route {
        route: &'static Route,
        handler: &'static BoxedHandler,
        params: PathParams,
    },
    /// The path exists; these are its methods.
    WrongMethod {
        allow: &'static str,
    },
    Azure(azure::AzurePath),
    Classic(azure::ClassicPath),
    OwnRoute(CatalogEntry, Option<&'p str>),
    ServiceBus(Result<ServiceBusPath, ApiError>),
    Nothing,
}

impl<'p> Endpoint<'p> {
    /// The ingest path comes first because it carries the load. The others do not overlap with the table: its paths are
    /// reserved.
    pub(crate) fn find(method: &Method, path: &'p str, catalog: &Catalog) -> Endpoint<'p> {
        if let Some(route) = ingest_routes::find(method, path) {
            return Endpoint::Ingest(route);
        }
        match RouteTable::get().find(method, path) {
            FoundRoute::Route { route, handler, params } => {
                return Endpoint::Route { route, handler, params };
            }
            FoundRoute::WrongMethod { allow } => return Endpoint::WrongMethod { allow },
            FoundRoute::Nothing => {}
        }
        if let Some(place) = azure::AzurePath::of(path) {
            return Endpoint::Azure(place);
        }
        if let Some(place) = azure::ClassicPath::of(path) {
            return Endpoint::Classic(place);
        }
        if let Some((entry, id)) = own_route::find(catalog, path) {
            return Endpoint::OwnRoute(entry, id);
        }
        ServiceBusPath::of(path).map_or(Endpoint::Nothing, Endpoint::ServiceBus)
    }

    /// The route of the table, if it is one.
    pub(crate) fn route(&self) -> Option<&'static Route> {
        match self {
            Endpoint::Route { route, .. } => Some(route),
            Endpoint::Ingest(route) => Some(route.route()),
            Endpoint::WrongMethod { .. }
            | Endpoint::Azure(_)
            | Endpoint::Classic(_)
            | Endpoint::OwnRoute(..)
            | Endpoint::ServiceBus(_)
            | Endpoint::Nothing => None,
        }
    }

    /// Who may call it. What answers everybody alike, that nothing is there for example, is open.
    pub(crate) fn access(&self, method: &Method) -> RouteAccess {
        match self {
            Endpoint::Ingest(route) => route.route().access,
            Endpoint::Route { route, .. } => route.access,
            Endpoint::Azure(path) => routes::azure_access(method, path),
            Endpoint::Classic(_) => routes::classic_access(method),
            Endpoint::OwnRoute(_, id) => routes::own_route_access(method, *id),
            Endpoint::ServiceBus(Ok(path)) => routes::service_bus_access(path),
            Endpoint::ServiceBus(Err(_)) | Endpoint::WrongMethod { .. } | Endpoint::Nothing => {
                RouteAccess::Open
            }
        }
    }

    /// The path of the queue, topic or subscription that it is about: what a signature must be for.
    pub(crate) fn queue_path(&self) -> String {
        match self {
            Endpoint::Route { params, .. } => queue_path(params),
            Endpoint::ServiceBus(Ok(path)) => path.resource(),
            Endpoint::Ingest(_)
            | Endpoint::WrongMethod { .. }
            | Endpoint::Azure(_)
            | Endpoint::Classic(_)
            | Endpoint::OwnRoute(..)
            | Endpoint::ServiceBus(Err(_))
            | Endpoint::Nothing => "/".to_owned(),
        }
    }

    /// An error in the shape that its clients read.
    pub(crate) fn refuse(&self, error: ApiError) -> Response<Body> {
        match self {
            Endpoint::Azure(_) | Endpoint::Classic(_) => azure::refuse(error),
            Endpoint::Ingest(_)
            | Endpoint::Route { .. }
            | Endpoint::WrongMethod { .. }
            | Endpoint::OwnRoute(..)
            | Endpoint::ServiceBus(_)
            | Endpoint::Nothing => error.into_response(),
        }
    }

    /// What the table does not name may be there in the active region.
    pub(crate) fn on_standby(&self) -> OnStandby {
        self.route().map_or(OnStandby::Refuse, |route| route.standby)
    }

    /// Who answers in a cluster. What cannot be read has no owner: the instance that receives it says what is wrong.
    pub(crate) fn scope(&self, method: &Method, partitions: u16) -> ResolvedScope {
        match self {
            Endpoint::Ingest(_) => ResolvedScope::Ingest,
            Endpoint::Route { route, params, .. } => route.scope.resolve(params, partitions),
            Endpoint::Azure(azure::AzurePath::Collections { .. }) => {
                ResolvedScope::Merged(Merge::AzureCollections)
            }
            Endpoint::Azure(place) => place
                .collection()
                .map_or(ResolvedScope::Here, |at| ResolvedScope::of_collection(at, partitions)),
            Endpoint::Classic(place) => ResolvedScope::of_collection(place.collection(), partitions),
            Endpoint::OwnRoute(_, id) => own_route_scope(method, *id),
            Endpoint::ServiceBus(Ok(place)) => {
                ResolvedScope::Partition(queues::partition_of(&place.at.name, partitions))
            }
            Endpoint::ServiceBus(Err(_)) | Endpoint::WrongMethod { .. } | Endpoint::Nothing => {
                ResolvedScope::Here
            }
        }
    }
}

fn own_route_scope(method: &Method, id: Option<&str>) -> ResolvedScope {
    match (method, id) {
        (&Method::POST, None) | (&Method::PUT, Some(_)) => ResolvedScope::Ingest,
        (&Method::GET | &Method::DELETE | &Method::PATCH, Some(id)) => {
            let id = percent_decode_str(id).decode_utf8().ok();
            id.and_then(|id| ResolvedScope::of_run(&id)).unwrap_or(ResolvedScope::Here)
        }
        // Another method is refused by whoever receives it.
        _ => ResolvedScope::Here,
    }
}

#[cfg(test)]
mod tests {
    use engine::jobs;
    use types::{PartitionId, RunId};

    use super::*;

    fn scope(method: Method, path: &str) -> ResolvedScope {
        Endpoint::find(&method, path, &Catalog::default()).scope(&method, 64)
    }

    #[test]
    fn every_way_to_a_collection_leads_to_its_partition() {
        let at = |id: &str| ResolvedScope::Partition(jobs::partition_of(id, 64));
        let native = at("00000000-0000-0000-0000-000000000000/default/nightly");
        for path in ["/v1/collections/nightly", "/v1/collections/%4Eightly"] {
            assert_eq!(scope(Method::GET, path), native, "{path}");
        }
        assert_eq!(scope(Method::POST, "/v1/collections/Nightly/jobs/x/run"), native);
        let azure = at("s/g/c");
        assert_eq!(scope(Method::GET, "/v1/collections/s~g~c/jobs"), azure);
        for path in [
            "/subscriptions/S/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/j/history",
            "/s/cloudservices/g/resources/scheduler/~/jobCollections/C/jobs/j",
        ] {
            assert_eq!(scope(Method::PUT, path), azure, "{path}");
        }
    }

    #[test]
    fn every_way_to_a_queue_leads_to_its_partition() {
        let name = types::QueueName::new("orders").unwrap();
        let orders = ResolvedScope::Partition(queues::partition_of(&name, 64));
        for (method, path) in [
            (Method::PUT, "/v1/queues/Orders"),
            (Method::GET, "/v1/queues/orders/messages"),
            (Method::POST, "/v1/topics/orders/subscriptions/s/redrive"),
            (Method::POST, "/ORDERS/messages/head"),
            (Method::POST, "/orders/subscriptions/s/messages"),
        ] {
            assert_eq!(scope(method, path), orders, "{path}");
        }
    }

    #[test]
    fn what_is_of_no_partition_is_distinguished() {
        let id = RunId::new("r-1").unwrap();
        assert_eq!(scope(Method::GET, "/v1/runs/r-1"), ResolvedScope::Run(id.clone()));
        assert_eq!(scope(Method::POST, "/v1/runs/r-1/cancel"), ResolvedScope::Run(id.clone()));
        assert_eq!(scope(Method::GET, "/v1/runs/r-1/steps/s/call"), ResolvedScope::Run(id));
        assert_eq!(scope(Method::GET, "/v1/runs"), ResolvedScope::Merged(Merge::Runs));
        let control = ResolvedScope::Partition(PartitionId::CONTROL);
        assert_eq!(scope(Method::POST, "/v1/workflows"), control);
        assert_eq!(scope(Method::POST, "/v1/bulk/b-1/stop"), control);
        let service = "/v1/services/http%3A%2F%2Fa.test";
        assert_eq!(scope(Method::PUT, service), control);
        assert_eq!(scope(Method::GET, service), ResolvedScope::Merged(Merge::Service));
        assert_eq!(scope(Method::POST, "/v1/workflows/w/runs:batch"), ResolvedScope::Ingest);
        let all = "/subscriptions/s/providers/Microsoft.Scheduler/jobCollections";
        assert_eq!(scope(Method::GET, all), ResolvedScope::Merged(Merge::AzureCollections));
        for path in ["/v1/workflows", "/metrics", "/livez", "/v1/preview", "/v1/cluster", "/", "/v1/runs/%ff"]
        {
            assert_eq!(scope(Method::GET, path), ResolvedScope::Here, "{path}");
        }
    }
}
