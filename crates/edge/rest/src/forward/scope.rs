//! Who answers a request in a cluster.

use engine::{jobs, queues};
use types::{Key, PartitionId, RunId};

use crate::jobs::CollectionPath;
use crate::queues::queue_ref;
use crate::routes::{PathParams, collection_path};

/// Who answers a route in a cluster, as the table of routes declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RouteScope {
    /// Every instance, whatever its roles: it is about this process.
    Probe,
    /// The instance that receives the request: it is about that instance.
    Instance,
    /// The instance that receives the request: every instance knows the same.
    Replicated,
    /// The owner of the control partition.
    Control,
    /// The owner of the partition of the collection that this parameter of the path names.
    Collection(&'static str),
    /// The owner of the partition of the queue or topic that this parameter of the path names.
    Queue(&'static str),
    /// The owner of the run that this parameter of the path names.
    Run(&'static str),
    /// All instances; their replies are merged.
    Merged(Merge),
    /// The owner of the partition that the body of the request leads to.
    Ingest,
}

/// How the replies of all instances become one.
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
    /// Whether an incomplete reply is better than none when a partition has no owner: the state of the installation is
    /// asked for most when it is not well.
    pub(crate) fn allows_missing_partitions(self) -> bool {
        matches!(self, Merge::Overview | Merge::Partitions | Merge::Services | Merge::Service)
    }
}

/// Who answers one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResolvedScope {
    /// The instance that receives it.
    Here,
    /// The owner of the partition that the body leads to.
    Ingest,
    /// The owner of this partition.
    Partition(PartitionId),
    /// The owner of this run, which is in the partition of its id unless its workflow gave it a key.
    Run(RunId),
    /// All instances.
    Merged(Merge),
}

impl RouteScope {
    /// A name in the path that is not valid has no owner: the instance that receives the request says what is wrong with it.
    pub(crate) fn resolve(self, params: &PathParams, partitions: u16) -> ResolvedScope {
        let or_here = |scope: Option<ResolvedScope>| scope.unwrap_or(ResolvedScope::Here);
        match self {
            RouteScope::Probe | RouteScope::Instance | RouteScope::Replicated => ResolvedScope::Here,
            RouteScope::Control => ResolvedScope::Partition(PartitionId::CONTROL),
            RouteScope::Collection(name) => {
                let at = params.get(name).and_then(|name| collection_path(name).ok());
                or_here(at.map(|at| ResolvedScope::of_collection(&at, partitions)))
            }
            RouteScope::Queue(name) => {
                let at = params.get(name).and_then(|name| queue_ref(name, None).ok());
                or_here(at.map(|at| ResolvedScope::Partition(queues::partition_of(&at.name, partitions))))
            }
            RouteScope::Run(name) => or_here(params.get(name).and_then(ResolvedScope::of_run)),
            RouteScope::Merged(merge) => ResolvedScope::Merged(merge),
            RouteScope::Ingest => ResolvedScope::Ingest,
        }
    }
}

impl ResolvedScope {
    pub(crate) fn of_collection(at: &CollectionPath, partitions: u16) -> ResolvedScope {
        ResolvedScope::Partition(jobs::partition_of(&at.id(), partitions))
    }

    /// None when it is not a valid id.
    pub(crate) fn of_run(id: &str) -> Option<ResolvedScope> {
        RunId::new(id).ok().map(ResolvedScope::Run)
    }
}

/// The partition that the id of a run leads to.
pub(crate) fn likeliest(id: &RunId, partitions: u16) -> PartitionId {
    PartitionId::of(&Key::from(id.clone()), partitions)
}
