//! Flow control per service: how many calls are in flight, which wait, and when a failing service is left alone.
//!
//! The rules are pure state machines in the modules below; here are the locks, the wake-ups and one timer.

mod breaker;
mod budget;
mod flow;
mod latency;
mod limit;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Instant;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

pub use crate::service::breaker::{BreakerState, Override};
pub use crate::service::flow::{AttemptKind, CallVerdict, Counts, ServiceSettings, Snapshot};

use crate::service::flow::{CallSlot, Flow, QueueTicket};

/// The services that calls go to, by name. Cheap to clone; the clones share the services.
#[derive(Clone)]
pub struct ServicePool {
    defaults: ServiceSettings,
    runtime: Handle,
    services: Arc<RwLock<BTreeMap<String, Arc<ServiceEntry>>>>,
}

/// The right of one call to be in flight. Dropping it without a verdict says that the call was given up.
#[must_use = "dropping a permit gives up the call"]
pub struct Permit {
    service: Arc<ServiceEntry>,
    slot: Option<CallSlot>,
}

/// One service. A lock, not messages: each step is short, and a message would cost a wake-up per call.
struct ServiceEntry {
    runtime: Handle,
    state: Mutex<State>,
}

struct State {
    flow: Flow<oneshot::Sender<CallSlot>>,
    /// When the timer that has been started will look at the queue again.
    timer_at: Option<Instant>,
}

/// A call in the queue. Dropping it leaves the queue, or gives back the slot that was just granted.
struct WaitingCalls {
    service: Arc<ServiceEntry>,
    ticket: Option<QueueTicket>,
    granted: oneshot::Receiver<CallSlot>,
}

impl ServicePool {
    /// A pool without services. Must be called within a tokio runtime, which later wakes paused calls.
    pub fn new(defaults: ServiceSettings) -> ServicePool {
        ServicePool { defaults, runtime: Handle::current(), services: Arc::default() }
    }

    /// Waits until a call to the service may begin. Dropping the future leaves the queue without a trace.
    pub async fn acquire(&self, service: &str, attempt: AttemptKind) -> Permit {
        let service = self.service(service);
        let mut waiting = match service.enter(attempt) {
            Entered::Granted(slot) => return Permit { service, slot: Some(slot) },
            Entered::Waiting(ticket, granted) => WaitingCalls { service, ticket: Some(ticket), granted },
        };
        let slot = (&mut waiting.granted).await.expect("the queue answers every waiter that has not left");
        waiting.ticket = None;
        Permit { service: waiting.service.clone(), slot: Some(slot) }
    }

    /// Sets the service's bounds, now and for calls already waiting.
    pub fn configure(&self, service: &str, settings: ServiceSettings) {
        self.service(service).change(|flow, _| flow.configure(settings));
    }

    /// Holds the service's breaker open or closed, or lets it decide again.
    pub fn set_override(&self, service: &str, value: Override) {
        self.service(service).change(|flow, now| flow.set_override(now, value));
    }

    /// Bounds the calls to the service in the place of its settings, or lets the settings do so again.
    pub fn set_limit(&self, service: &str, limit: Option<u32>) {
        self.service(service).change(|flow, _| flow.set_limit(limit));
    }

    /// Forgets a service that is no longer defined. Calls that wait or run there end as they would have.
    pub fn forget(&self, service: &str) {
        self.services.write().unwrap_or_else(PoisonError::into_inner).remove(service);
    }

    /// Where every service stands, by name.
    pub fn snapshots(&self) -> Vec<(String, Snapshot)> {
        let services = self.services.read().unwrap_or_else(PoisonError::into_inner);
        services.iter().map(|(name, service)| (name.clone(), service.snapshot())).collect()
    }

    /// Where one service stands; `None` when no call has been made to it.
    pub fn snapshot(&self, service: &str) -> Option<Snapshot> {
        let services = self.services.read().unwrap_or_else(PoisonError::into_inner);
        services.get(service).map(|service| service.snapshot())
    }

    fn service(&self, name: &str) -> Arc<ServiceEntry> {
        if let Some(service) = self.services.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return service.clone();
        }
        let mut services = self.services.write().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let state = State { flow: Flow::new(now(), self.defaults), timer_at: None };
            Arc::new(ServiceEntry { runtime: self.runtime.clone(), state: Mutex::new(state) })
        };
        services.entry(name.to_owned()).or_insert_with(new).clone()
    }
}

impl Permit {
    /// Ends the call and tells how it went.
    pub fn finish(mut self, verdict: CallVerdict) {
        if let Some(slot) = self.slot.take() {
            self.service.change(|flow, now| flow.finish(now, slot, verdict));
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.service.change(|flow, _| flow.abandon(slot));
        }
    }
}

impl Drop for WaitingCalls {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket.take() else { return };
        self.service.change(|flow, _| {
            if !flow.leave(ticket)
                && let Ok(slot) = self.granted.try_recv()
            {
                flow.abandon(slot);
            }
        });
    }
}

enum Entered {
    Granted(CallSlot),
    Waiting(QueueTicket, oneshot::Receiver<CallSlot>),
}

impl ServiceEntry {
    fn enter(self: &Arc<ServiceEntry>, attempt: AttemptKind) -> Entered {
        let now = now();
        let mut state = self.lock();
        if let Some(slot) = state.flow.enter_at_once(now, attempt) {
            return Entered::Granted(slot);
        }
        let (tx, rx) = oneshot::channel();
        let ticket = state.flow.enqueue(attempt, tx);
        self.pump(&mut state, now);
        Entered::Waiting(ticket, rx)
    }

    fn change(self: &Arc<ServiceEntry>, change: impl FnOnce(&mut Flow<oneshot::Sender<CallSlot>>, Instant)) {
        let now = now();
        let mut state = self.lock();
        change(&mut state.flow, now);
        self.pump(&mut state, now);
    }

    /// Lets go whoever may go, and sets the timer for the next one. Slots are sent while the lock is held, so that a
    /// call that leaves finds itself either in the queue or with its slot in hand.
    fn pump(self: &Arc<ServiceEntry>, state: &mut State, now: Instant) {
        while let Some((tx, slot)) = state.flow.grant(now) {
            if let Err(slot) = tx.send(slot) {
                state.flow.abandon(slot);
            }
        }
        let Some(at) = state.flow.wake_at(now) else { return };
        if state.timer_at.is_none_or(|timer_at| at < timer_at) {
            state.timer_at = Some(at);
            self.runtime.spawn(pump_at(at, Arc::downgrade(self)));
        }
    }

    fn snapshot(&self) -> Snapshot {
        self.lock().flow.snapshot(now())
    }

    /// Nothing panics while it holds the lock but the assertions on the state itself.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn pump_at(at: Instant, service: Weak<ServiceEntry>) {
    tokio::time::sleep_until(at.into()).await;
    let Some(service) = service.upgrade() else { return };
    let mut state = service.lock();
    if state.timer_at == Some(at) {
        state.timer_at = None;
    }
    service.pump(&mut state, now());
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}
