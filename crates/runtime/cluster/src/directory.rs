//! Where a partition is found at this moment, as far as anybody can tell.

use std::sync::Arc;

use tokio::sync::watch;
use types::PartitionId;

use crate::{InstanceId, Member, Sight};

/// Where a partition is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Here,
    There(Member),
    /// Its holder is dead or unknown, and its next has not taken it yet.
    Nowhere,
}

/// The others, as this instance sees them. Cheap to clone.
#[derive(Clone)]
pub struct Directory {
    /// `None` for an instance that is alone and holds everything.
    shared: Option<Shared>,
}

#[derive(Clone)]
struct Shared {
    me: InstanceId,
    sight: watch::Receiver<Arc<Sight>>,
}

impl Directory {
    /// For an instance that has no others.
    pub fn alone() -> Directory {
        Directory { shared: None }
    }

    pub fn new(me: InstanceId, sight: watch::Receiver<Arc<Sight>>) -> Directory {
        Directory { shared: Some(Shared { me, sight }) }
    }

    /// Whether there may be others.
    pub fn is_alone(&self) -> bool {
        self.shared.is_none()
    }

    /// This instance, when it is not alone.
    pub fn me(&self) -> Option<&InstanceId> {
        self.shared.as_ref().map(|shared| &shared.me)
    }

    /// All that is seen, when this instance is not alone.
    pub fn sight(&self) -> Option<Arc<Sight>> {
        self.shared.as_ref().map(|shared| shared.sight.borrow().clone())
    }

    pub fn place_of(&self, partition: PartitionId) -> Place {
        let Some(Shared { me, sight }) = &self.shared else { return Place::Here };
        let sight = sight.borrow();
        let holder = sight.holdings.get(&partition).and_then(|holding| holding.holder.as_ref());
        match holder.and_then(|holder| sight.members.get(holder)) {
            Some(member) if member.id == *me => Place::Here,
            Some(member) => Place::There(member.clone()),
            None => Place::Nowhere,
        }
    }

    /// All other instances that live.
    pub fn others(&self) -> Vec<Member> {
        let Some(Shared { me, sight }) = &self.shared else { return Vec::new() };
        sight.borrow().members.values().filter(|member| member.id != *me).cloned().collect()
    }

    /// Waits until something has changed, or for ever.
    pub async fn changed(&mut self) {
        if let Some(shared) = &mut self.shared
            && shared.sight.changed().await.is_ok()
        {
            return;
        }
        std::future::pending().await
    }
}
