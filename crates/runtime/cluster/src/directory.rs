//! Where each partition runs at this moment, according to the register.

use std::sync::Arc;

use tokio::sync::watch;
use types::PartitionId;

use crate::{ClusterView, InstanceId, Member};

/// Where a partition runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionLocation {
    Local,
    Remote(Member),
    /// Its owner is dead or unknown, and no other instance has acquired it yet.
    Unowned,
}

/// Finds the owners of partitions and the other instances. Cheap to clone.
#[derive(Clone)]
pub struct Directory {
    /// `None` for a single instance, which owns everything.
    shared: Option<SharedView>,
}

#[derive(Clone)]
struct SharedView {
    me: InstanceId,
    view: watch::Receiver<Arc<ClusterView>>,
}

impl Directory {
    /// For an instance outside any cluster.
    pub fn alone() -> Directory {
        Directory { shared: None }
    }

    pub fn new(me: InstanceId, view: watch::Receiver<Arc<ClusterView>>) -> Directory {
        Directory { shared: Some(SharedView { me, view }) }
    }

    /// Whether this instance is outside any cluster.
    pub fn is_alone(&self) -> bool {
        self.shared.is_none()
    }

    /// This instance, if it is a member of a cluster.
    pub fn me(&self) -> Option<&InstanceId> {
        self.shared.as_ref().map(|shared| &shared.me)
    }

    /// The latest view of the cluster, if this instance is a member of one.
    pub fn view(&self) -> Option<Arc<ClusterView>> {
        self.shared.as_ref().map(|shared| shared.view.borrow().clone())
    }

    pub fn location_of(&self, partition: PartitionId) -> PartitionLocation {
        let Some(SharedView { me, view }) = &self.shared else { return PartitionLocation::Local };
        let view = view.borrow();
        let owner = view.ownerships.get(&partition).and_then(|ownership| ownership.owner.as_ref());
        match owner.and_then(|owner| view.members.get(owner)) {
            Some(member) if member.id == *me => PartitionLocation::Local,
            Some(member) => PartitionLocation::Remote(member.clone()),
            None => PartitionLocation::Unowned,
        }
    }

    /// All other instances that are alive.
    pub fn others(&self) -> Vec<Member> {
        let Some(SharedView { me, view }) = &self.shared else { return Vec::new() };
        view.borrow().members.values().filter(|member| member.id != *me).cloned().collect()
    }

    /// Waits until the view changes; for ever if it cannot.
    pub async fn changed(&mut self) {
        if let Some(shared) = &mut self.shared
            && shared.view.changed().await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }
}
