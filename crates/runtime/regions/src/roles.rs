//! What this instance has last read about both regions, and what it publishes from that: whether the region is active, and
//! its epoch.

use tokio::sync::{Mutex, MutexGuard, watch};

use crate::decide::role::Role;
use crate::record::Record;

/// The state of both regions as it was last read. Every instance keeps its own.
#[derive(Default)]
pub(crate) struct RoleState {
    pub(crate) active: watch::Sender<bool>,
    pub(crate) epoch: watch::Sender<u64>,
    observed: watch::Sender<Observed>,
    /// Held from reading the records until their content is published.
    reading: Mutex<()>,
}

/// What was read last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Observed {
    pub(crate) here: Option<Record>,
    pub(crate) pair: Option<Record>,
    pub(crate) pair_reachable: bool,
    /// The pair has a higher epoch, whatever the record of this region still says.
    pub(crate) overtaken: bool,
}

impl Observed {
    /// Whether the record of this region says that it is active.
    pub(crate) fn is_active_by_record(&self) -> bool {
        self.here.as_ref().is_some_and(|here| here.role == Role::Active)
    }
}

impl RoleState {
    /// One reading at a time: an older one must not be published after a newer one.
    pub(crate) async fn begin_reading(&self) -> MutexGuard<'_, ()> {
        self.reading.lock().await
    }

    pub(crate) fn observed(&self) -> Observed {
        self.observed.borrow().clone()
    }

    pub(crate) fn is_pair_reachable(&self) -> bool {
        self.observed.borrow().pair_reachable
    }

    /// Publishes what was read. `leased`: whether this region has a lease, or needs none.
    pub(crate) fn publish(&self, observed: Observed, leased: bool) {
        if let Some(here) = &observed.here {
            let next = here.epoch;
            self.epoch.send_if_modified(|epoch| std::mem::replace(epoch, next) != next);
        }
        self.observed.send_replace(observed);
        self.publish_active(leased);
    }

    /// Publishes whether this region is active, by what was read last and by its leases.
    pub(crate) fn publish_active(&self, leased: bool) {
        let observed = self.observed.borrow();
        let active = observed.is_active_by_record() && !observed.overtaken && leased;
        self.active.send_if_modified(|known| std::mem::replace(known, active) != active);
    }
}
