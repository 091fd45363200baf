//! The connections that are kept between calls, and the bounds on how many there are.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{MissedTickBehavior, interval};

use crate::client::Settings;
use crate::client::connect::{IdentityTls, Resolved};
use crate::client::connection::Live;
use crate::client::identity::{ClientIdentity, IdentityId};
use crate::limits;
use crate::url::Origin;

/// All lanes. A call holds a lease while it is in flight; open connections never outnumber `total`, because a call
/// that opens one while all are taken closes the longest idle first.
pub(super) struct Pool {
    total: Semaphore,
    total_max: usize,
    per_origin: usize,
    idle_timeout: Duration,
    open: Arc<AtomicUsize>,
    /// A lock, not messages: held for a lookup or a push, and a call needs it twice.
    lanes: Mutex<HashMap<LaneKey, Arc<Lane>>>,
}

/// What calls must have in common to share connections.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct LaneKey {
    origin: Origin,
    identity: Option<IdentityId>,
}

/// What is kept for one origin, as one identity or as none.
pub(super) struct Lane {
    pub(super) origin: Origin,
    pub(super) identity: Option<ClientIdentity>,
    pub(super) identity_tls: IdentityTls,
    pub(super) resolved: Resolved,
    places: Semaphore,
    dials: Semaphore,
    /// The newest at the back: reusing it first lets the rest grow old and be closed.
    idle: Mutex<VecDeque<Box<Live>>>,
}

/// The right of one call to be in flight.
pub(super) struct Lease<'a> {
    _place: SemaphorePermit<'a>,
    _total: SemaphorePermit<'a>,
}

/// Counts an open connection for as long as it lives.
pub(super) struct OpenSlot(Arc<AtomicUsize>);

impl Pool {
    pub(super) fn new(settings: &Settings) -> Pool {
        let total_max = settings.connections_total.clamp(1, Semaphore::MAX_PERMITS);
        Pool {
            total: Semaphore::new(total_max),
            total_max,
            per_origin: settings.connections_per_origin.clamp(1, total_max),
            idle_timeout: settings.idle_timeout,
            open: Arc::default(),
            lanes: Mutex::default(),
        }
    }

    pub(super) fn lane(&self, origin: &Origin, identity: Option<&ClientIdentity>) -> Arc<Lane> {
        let key = LaneKey { origin: origin.clone(), identity: identity.map(ClientIdentity::id) };
        let mut lanes = locked(&self.lanes);
        if let Some(lane) = lanes.get(&key) {
            return lane.clone();
        }
        let lane = Arc::new(Lane {
            origin: origin.clone(),
            identity: identity.cloned(),
            identity_tls: IdentityTls::default(),
            resolved: Resolved::default(),
            places: Semaphore::new(self.per_origin),
            dials: Semaphore::new(limits::DIALS_PER_ORIGIN),
            idle: Mutex::default(),
        });
        lanes.insert(key, lane.clone());
        lane
    }

    /// Waits, first come first served, until the call may be in flight.
    pub(super) async fn lease<'a>(&'a self, lane: &'a Lane) -> Lease<'a> {
        // The origin's place first: calls that wait for a busy origin do not hold places of the others.
        let place = lane.places.acquire().await.expect("the semaphore is never closed");
        let total = self.total.acquire().await.expect("the semaphore is never closed");
        Lease { _place: place, _total: total }
    }

    /// The most recently used idle connection that is still usable.
    pub(super) fn take_idle(&self, lane: &Lane) -> Option<Box<Live>> {
        loop {
            let mut live = locked(&lane.idle).pop_back()?;
            if live.idle_for() < self.idle_timeout && live.is_usable() {
                return Some(live);
            }
        }
    }

    /// Keeps a connection for later calls, unless its last one has ended it.
    pub(super) fn keep(&self, lane: &Lane, mut live: Box<Live>) {
        if live.is_usable() {
            live.mark_idle();
            locked(&lane.idle).push_back(live);
        }
    }

    /// A slot for one more connection, at the cost of the longest idle one when all are taken.
    pub(super) fn open_slot(&self) -> OpenSlot {
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.total_max {
            drop(self.take_longest_idle());
        }
        OpenSlot(self.open.clone())
    }

    pub(super) fn open_count(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    fn take_longest_idle(&self) -> Option<Box<Live>> {
        let lanes = locked(&self.lanes);
        let oldest_in = |lane: &Lane| locked(&lane.idle).front().map(|live| live.idle_for());
        let lane =
            lanes.values().filter(|lane| oldest_in(lane).is_some()).max_by_key(|lane| oldest_in(lane))?;
        locked(&lane.idle).pop_front()
    }

    /// Closes what has been idle for too long or was closed by its server, and forgets lanes without use.
    fn sweep(&self) {
        locked(&self.lanes).retain(|_, lane| {
            let mut idle = locked(&lane.idle);
            idle.retain_mut(|live| live.idle_for() < self.idle_timeout && live.is_usable());
            // New users of a lane come through this map, whose lock is held: a count of one means none.
            !idle.is_empty() || Arc::strong_count(lane) > 1
        });
    }
}

/// Sweeps from time to time, until the pool is gone.
pub(super) async fn sweep_until_dropped(pool: Weak<Pool>) {
    let Some(period) = pool.upgrade().map(|pool| pool.idle_timeout / 3) else { return };
    let mut ticks = interval(period.max(Duration::from_millis(10)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(pool) = pool.upgrade() else { return };
        pool.sweep();
    }
}

impl Lane {
    /// A turn to open a connection. A burst of calls opens its connections in turns: more at once overflow the
    /// server's backlog, and a dropped SYN costs a second.
    pub(super) async fn dial_turn(&self) -> SemaphorePermit<'_> {
        self.dials.acquire().await.expect("the semaphore is never closed")
    }
}

impl Drop for OpenSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Nothing panics while it holds one of these locks, and each is left consistent at every step.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
