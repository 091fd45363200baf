//! Connections that are kept and shared: one per place and login, as long as it is used.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::{Login, SendError, limits};

/// A connection that many sends share.
pub(crate) trait PooledConnection: Send + Sync + 'static {
    /// Whether it still can be used, as far as is known.
    fn alive(&self) -> bool;
}

/// What distinguishes connections: where to, and as whom.
pub(crate) type ConnectionKey = (String, Option<Login>);

pub(crate) struct Pool<C> {
    slots: Mutex<BTreeMap<ConnectionKey, Arc<PoolSlot<C>>>>,
}

struct PoolSlot<C> {
    used: Mutex<Instant>,
    /// Held across a connect, so that a burst of sends makes one connection, not one each.
    held: tokio::sync::Mutex<PoolEntry<C>>,
}

struct PoolEntry<C> {
    connection: Option<Arc<C>>,
    /// Those who waited for an attempt that failed have their answer too.
    failed: Option<(Instant, SendError)>,
}

impl<C: PooledConnection> Pool<C> {
    pub(crate) fn new() -> Pool<C> {
        Pool { slots: Mutex::default() }
    }

    /// The connection under this key, made by `connect` where there is none that lives.
    pub(crate) async fn get(
        &self,
        key: &ConnectionKey,
        connect: impl AsyncFnOnce() -> Result<C, SendError>,
    ) -> Result<Arc<C>, SendError> {
        let asked = Instant::now();
        let slot = self.slot(key, asked)?;
        let mut held = slot.held.lock().await;
        if let Some(connection) = held.connection.as_ref().filter(|connection| connection.alive()) {
            return Ok(connection.clone());
        }
        held.connection = None;
        if let Some((at, error)) = &held.failed
            && *at > asked
        {
            return Err(error.clone());
        }
        match connect().await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                held.connection = Some(connection.clone());
                held.failed = None;
                Ok(connection)
            }
            Err(error) => {
                held.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// Nobody gets this connection any more; those who have it finish with it.
    pub(crate) fn retire(&self, key: &ConnectionKey, connection: &Arc<C>) {
        let slot = self.lock().get(key).cloned();
        let Some(slot) = slot else { return };
        // A held lock means that somebody has seen it dead and connects again.
        if let Ok(mut held) = slot.held.try_lock() {
            held.connection.take_if(|current| Arc::ptr_eq(current, connection));
        }
    }

    /// Closes what nobody has used for a while.
    pub(crate) fn sweep(&self, now: Instant) {
        let Some(then) = now.checked_sub(limits::IDLE) else { return };
        self.lock().retain(|_, slot| !slot.idle_since(then));
    }

    fn slot(&self, key: &ConnectionKey, now: Instant) -> Result<Arc<PoolSlot<C>>, SendError> {
        let mut slots = self.lock();
        if let Some(slot) = slots.get(key) {
            *slot.used.lock().unwrap_or_else(PoisonError::into_inner) = now;
            return Ok(slot.clone());
        }
        if slots.len() >= limits::CONNECTIONS_MAX {
            let idle = slots.iter().filter(|(_, slot)| slot.idle_since(now));
            let oldest = idle.min_by_key(|(_, slot)| slot.used()).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else {
                return Err(SendError::NotSent(format!(
                    "{} connections to brokers are in use, which is the most",
                    limits::CONNECTIONS_MAX
                )));
            };
            slots.remove(&oldest);
        }
        let held = tokio::sync::Mutex::new(PoolEntry { connection: None, failed: None });
        let slot = Arc::new(PoolSlot { used: Mutex::new(now), held });
        slots.insert(key.clone(), slot.clone());
        Ok(slot)
    }

    // A lock of our own: the map is small, and it is never held across a wait.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ConnectionKey, Arc<PoolSlot<C>>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> PoolSlot<C> {
    fn used(&self) -> Instant {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Not asked for since then, and nobody holds the connection.
    fn idle_since(&self, then: Instant) -> bool {
        let unused =
            |held: &PoolEntry<C>| held.connection.as_ref().is_none_or(|one| Arc::strong_count(one) == 1);
        self.used() <= then && self.held.try_lock().is_ok_and(|held| unused(&held))
    }
}
