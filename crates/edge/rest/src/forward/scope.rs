//! What a request concerns, told from its method and path before anybody answers it.

use engine::{Catalog, jobs, queues};
use http::Method;
use percent_encoding::percent_decode_str;
use types::{Key, PartitionId, RunId};

use crate::azure::{self, CollectionPath};
use crate::bus;
use crate::ingest_routes;
use crate::own_route;
use crate::routes::collection_path;

/// What a request is about, and with it who can answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResolvedScope {
    /// Nothing that is held: whoever is asked answers.
    Here,
    /// Requests for workflows; their bodies say where they belong.
    Ingest,
    /// One partition, or the control partition.
    Partition(PartitionId),
    /// A run, which is in the partition of its id unless its workflow gave it a key.
    Run(RunId),
    /// Everything there is of a kind.
    Merged(Merge),
}

/// What there are lists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Merge {
    Runs,
    Parked,
    Collections,
    AzureCollections,
    Queues,
    Topics,
    Overview,
    Partitions,
    Services,
    /// One service, as every instance sees it.
    Service,
}

impl Merge {
    /// Whether what some instances know is worth telling when a partition is nowhere: how things are, then, is itself the
    /// answer.
    pub(crate) fn tells_what_is_missing(self) -> bool {
        matches!(self, Merge::Overview | Merge::Partitions | Merge::Services | Merge::Service)
    }
}

impl ResolvedScope {
    /// What cannot be read concerns whoever is asked: the answer says what is wrong with it.
    pub(crate) fn of(method: &Method, path: &str, catalog: &Catalog, partitions: u16) -> ResolvedScope {
        if ingest_routes::door(method, path).is_some() {
            return ResolvedScope::Ingest;
        }
        let collection =
            |at: &CollectionPath| ResolvedScope::Partition(jobs::partition_of(&at.id(), partitions));
        if let Some(place) = azure::Place::of(path) {
            return match (&place, place.collection()) {
                (azure::Place::Collections { .. }, _) => ResolvedScope::Merged(Merge::AzureCollections),
                (_, Some(at)) => collection(at),
                (_, None) => ResolvedScope::Here,
            };
        }
        if let Some(place) = azure::ClassicPlace::of(path) {
            return collection(place.collection());
        }
        if let Some((_, id)) = own_route::find(catalog, path) {
            return match (method, id) {
                (&Method::POST, None) | (&Method::PUT, Some(_)) => ResolvedScope::Ingest,
                (&Method::GET | &Method::DELETE | &Method::PATCH, Some(id)) => run(id),
                _ => ResolvedScope::Here,
            };
        }
        match bus::Place::of(path) {
            Some(Ok(place)) => ResolvedScope::Partition(queues::partition_of(&place.at.name, partitions)),
            Some(Err(_)) => ResolvedScope::Here,
            None => routed(method, path, partitions),
        }
    }
}

/// What a path of the router concerns.
fn routed(method: &Method, path: &str, partitions: u16) -> ResolvedScope {
    let Some(rest) = path.strip_prefix("/v1/") else { return ResolvedScope::Here };
    let parts: Vec<&str> = rest.split('/').collect();
    let decoded = |part: &str| percent_decode_str(part).decode_utf8().ok().map(|text| text.into_owned());
    match (method, parts.as_slice()) {
        (&Method::GET, ["runs"]) => ResolvedScope::Merged(Merge::Runs),
        (&Method::GET, ["parked"]) => ResolvedScope::Merged(Merge::Parked),
        (&Method::GET, ["collections"]) => ResolvedScope::Merged(Merge::Collections),
        (&Method::GET, ["queues"]) => ResolvedScope::Merged(Merge::Queues),
        (&Method::GET, ["topics"]) => ResolvedScope::Merged(Merge::Topics),
        (&Method::GET, ["overview"]) => ResolvedScope::Merged(Merge::Overview),
        (&Method::GET, ["partitions"]) => ResolvedScope::Merged(Merge::Partitions),
        (_, ["bulk", ..]) => ResolvedScope::Partition(PartitionId::CONTROL),
        (&Method::GET, ["services"]) => ResolvedScope::Merged(Merge::Services),
        (&Method::GET, ["services", _]) => ResolvedScope::Merged(Merge::Service),
        (&Method::PUT, ["services", _]) => ResolvedScope::Partition(PartitionId::CONTROL),
        (&Method::POST, ["workflows"]) | (&Method::DELETE, ["workflows", _]) => {
            ResolvedScope::Partition(PartitionId::CONTROL)
        }
        (_, ["runs", id, ..]) => run(id),
        (_, ["collections", name, ..]) => {
            let at = decoded(name).and_then(|name| collection_path(&name).ok());
            let partition = at.map(|at| jobs::partition_of(&at.id(), partitions));
            partition.map_or(ResolvedScope::Here, ResolvedScope::Partition)
        }
        (_, ["queues" | "topics", name, ..]) => {
            let at = decoded(name).and_then(|name| bus::queue_ref(&name, None).ok());
            let partition = at.map(|at| queues::partition_of(&at.name, partitions));
            partition.map_or(ResolvedScope::Here, ResolvedScope::Partition)
        }
        _ => ResolvedScope::Here,
    }
}

fn run(id: &str) -> ResolvedScope {
    let id = percent_decode_str(id).decode_utf8().ok().and_then(|id| RunId::new(&id).ok());
    id.map_or(ResolvedScope::Here, ResolvedScope::Run)
}

/// The partition that the id of a run leads to.
pub(crate) fn likeliest(id: &RunId, partitions: u16) -> PartitionId {
    PartitionId::of(&Key::from(id.clone()), partitions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(method: Method, path: &str) -> ResolvedScope {
        ResolvedScope::of(&method, path, &Catalog::default(), 64)
    }

    #[test]
    fn every_way_to_a_collection_leads_to_its_partition() {
        let at = |id: &str| ResolvedScope::Partition(jobs::partition_of(id, 64));
        let native = at("00000000-0000-0000-0000-000000000000/default/nightly");
        for path in
            ["/v1/collections/nightly", "/v1/collections/Nightly/jobs/x/run", "/v1/collections/%4Eightly"]
        {
            assert_eq!(scope(Method::GET, path), native, "{path}");
        }
        let azure = at("s/g/c");
        for path in [
            "/v1/collections/s~g~c/jobs",
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
        for path in [
            "/v1/queues/Orders",
            "/v1/queues/orders/messages",
            "/v1/topics/orders/subscriptions/s/redrive",
            "/ORDERS/messages/head",
            "/orders/subscriptions/s/messages",
        ] {
            assert_eq!(scope(Method::POST, path), orders, "{path}");
        }
    }

    #[test]
    fn what_is_of_no_partition_is_told_apart() {
        let id = RunId::new("r-1").unwrap();
        assert_eq!(scope(Method::GET, "/v1/runs/r-1"), ResolvedScope::Run(id.clone()));
        assert_eq!(scope(Method::POST, "/v1/runs/r-1/cancel"), ResolvedScope::Run(id.clone()));
        assert_eq!(scope(Method::GET, "/v1/runs/r-1/steps/s/call"), ResolvedScope::Run(id));
        assert_eq!(scope(Method::GET, "/v1/runs"), ResolvedScope::Merged(Merge::Runs));
        assert_eq!(scope(Method::POST, "/v1/workflows"), ResolvedScope::Partition(PartitionId::CONTROL));
        assert_eq!(scope(Method::POST, "/v1/bulk/b-1/stop"), ResolvedScope::Partition(PartitionId::CONTROL));
        let service = "/v1/services/http%3A%2F%2Fa.test";
        assert_eq!(scope(Method::PUT, service), ResolvedScope::Partition(PartitionId::CONTROL));
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
