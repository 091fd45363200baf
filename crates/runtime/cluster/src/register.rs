//! The register of a cluster: heartbeats of instances and owners of partitions. NATS in the product, a model in tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use types::{Epoch, PartitionId};

use crate::{InstanceId, Member};

/// Who claims to own a partition. A hint for routing and rebalancing; only the journal decides who may append.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ownership {
    /// `None` after the last owner has released the partition.
    #[serde(rename = "holder")]
    pub owner: Option<InstanceId>,
    pub epoch: Epoch,
    /// The end of the events that are known to be durable. Older versions do not publish it.
    #[serde(rename = "high", default, skip_serializing_if = "Option::is_none")]
    pub durable_end: Option<DurableEnd>,
}

impl Ownership {
    pub fn new(owner: Option<InstanceId>, epoch: Epoch) -> Ownership {
        Ownership { owner, epoch, durable_end: None }
    }

    /// Whether this instance owns it, under this epoch.
    pub fn is_of(&self, owner: &InstanceId, epoch: Epoch) -> bool {
        self.owner.as_ref() == Some(owner) && self.epoch == epoch
    }

    /// This entry as the successor of another one: the known durable end never moves back.
    pub fn replacing(self, published: Option<&Ownership>) -> Ownership {
        Ownership {
            durable_end: self.durable_end.max(published.and_then(|published| published.durable_end)),
            ..self
        }
    }
}

/// The end of the durable events of a partition when it was published. An instance whose events end earlier has lost some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DurableEnd {
    /// The region's epoch in which the partition was claimed, 0 without regions. In a later epoch its events may end
    /// earlier: after a forced switch the new region continues from what was replicated to it.
    pub region: u64,
    /// The stream sequence of the last message that was acknowledged.
    pub last: u64,
}

impl DurableEnd {
    /// The sequence that events must reach to be claimed in this epoch of the region; 0 if none is known.
    pub fn floor(published: Option<DurableEnd>, region: u64) -> u64 {
        published.filter(|published| published.region == region).map_or(0, |published| published.last)
    }
}

/// The cluster as one instance sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterView {
    /// False until the register was read once. Until then nothing is decided.
    pub known: bool,
    pub members: BTreeMap<InstanceId, Member>,
    pub ownerships: BTreeMap<PartitionId, Ownership>,
    /// Whether this region is active; the instances of a standby own nothing.
    pub active: bool,
}

/// The register could not be reached, or refused a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterError(pub String);

impl std::fmt::Display for RegisterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RegisterError {}

/// The register that all instances of an installation share.
pub trait Register: Send + Sync + 'static {
    /// Reports that this instance is alive; the report expires after [`MEMBER_TTL`](crate::MEMBER_TTL).
    fn heartbeat(&self, member: &Member) -> impl Future<Output = Result<(), RegisterError>> + Send;

    /// Removes this instance from the members at once.
    fn deregister(&self, id: &InstanceId) -> impl Future<Output = Result<(), RegisterError>> + Send;

    /// Publishes the owner of a partition. Has no effect if a higher epoch is already published.
    fn publish(
        &self,
        partition: PartitionId,
        ownership: Ownership,
    ) -> impl Future<Output = Result<(), RegisterError>> + Send;

    /// The view of the cluster, updated as the register changes.
    fn watch(&self) -> watch::Receiver<Arc<ClusterView>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_region_had_is_not_expected_of_this_one() {
        let published = Some(DurableEnd { region: 1, last: 90 });
        assert_eq!(DurableEnd::floor(published, 1), 90);
        assert_eq!(DurableEnd::floor(published, 2), 0, "after a forced switch, events may end earlier");
        assert_eq!(DurableEnd::floor(None, 1), 0, "an older version published nothing");
    }
}
