//! The queue of the writer: a vector that the writer takes whole, bounded by the bytes in it.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use journal::{AppendError, RECORD_BYTES_MAX};
use tokio::sync::{Notify, Semaphore, oneshot};

use crate::limits::{WAITING_BYTES_MAX, WAITING_COST_BYTES};
use crate::log::{LogRequest, LogResult};

const PERMITS_MAX: usize = WAITING_BYTES_MAX / WAITING_COST_BYTES;

/// Many producers, one consumer.
pub struct RequestQueue {
    /// Locked to push one request or to take all.
    state: Mutex<State>,
    arrived: Condvar,
    /// The same for an async task.
    arrival: Notify,
    /// Waiting bytes, in units of the cost of a request.
    permits: Semaphore,
}

#[derive(Default)]
struct State {
    waiting: QueuedRequests,
    /// The writer sleeps and must be woken.
    is_idle: bool,
    closed: bool,
}

/// Requests, the channels of their answers, and their cost.
#[derive(Default)]
pub struct QueuedRequests {
    pub requests: Vec<LogRequest>,
    pub waiters: Vec<oneshot::Sender<LogResult>>,
    permits: usize,
}

/// Why the writer woke up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakeup {
    Requests,
    /// Nothing arrived in time.
    Idle,
    /// Closed and empty.
    Closed,
}

impl RequestQueue {
    pub fn new() -> RequestQueue {
        RequestQueue {
            state: Mutex::default(),
            arrived: Condvar::new(),
            arrival: Notify::new(),
            permits: Semaphore::new(PERMITS_MAX),
        }
    }

    /// Refuses what is larger than a record may be. Waits for room, then for the answer.
    pub async fn ask(&self, request: LogRequest, bytes: usize) -> LogResult {
        if bytes > RECORD_BYTES_MAX {
            return Err(AppendError::TooLarge { bytes, bytes_max: RECORD_BYTES_MAX });
        }
        let permits = 1 + bytes / WAITING_COST_BYTES;
        let Ok(permit) = self.permits.acquire_many(permits as u32).await else {
            return Err(AppendError::Closed);
        };
        let (waiter, answer) = oneshot::channel();
        {
            let mut state = self.lock();
            if state.closed {
                return Err(AppendError::Closed);
            }
            permit.forget();
            state.waiting.requests.push(request);
            state.waiting.waiters.push(waiter);
            state.waiting.permits += permits;
            if std::mem::take(&mut state.is_idle) {
                self.arrived.notify_one();
                self.arrival.notify_one();
            }
        }
        answer.await.unwrap_or(Err(AppendError::Closed))
    }

    /// Sleeps until a request waits, the queue is closed, or `patience` is over.
    pub fn wait(&self, patience: Option<Duration>) -> Wakeup {
        let mut state = self.lock();
        loop {
            if !state.waiting.requests.is_empty() {
                return Wakeup::Requests;
            }
            if state.closed {
                return Wakeup::Closed;
            }
            state.is_idle = true;
            let Some(patience) = patience else {
                state = self.arrived.wait(state).expect("no holder of the lock panics");
                continue;
            };
            let (woken, timeout) =
                self.arrived.wait_timeout(state, patience).expect("no holder of the lock panics");
            state = woken;
            if timeout.timed_out() && state.waiting.requests.is_empty() && !state.closed {
                state.is_idle = false;
                return Wakeup::Idle;
            }
        }
    }

    /// Returns when a request waits or the queue is closed.
    pub async fn arrival(&self) {
        loop {
            {
                let mut state = self.lock();
                if state.closed || !state.waiting.requests.is_empty() {
                    return;
                }
                state.is_idle = true;
            }
            self.arrival.notified().await;
        }
    }

    /// Closed and empty.
    pub fn is_closed(&self) -> bool {
        let state = self.lock();
        state.closed && state.waiting.requests.is_empty()
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.lock().waiting.requests.len()
    }

    /// Exchanges the waiting requests for `waiting`, which must be empty.
    pub fn take(&self, waiting: &mut QueuedRequests) {
        assert!(waiting.requests.is_empty(), "what was taken before is served");
        std::mem::swap(&mut self.lock().waiting, waiting);
    }

    /// The requests of `waiting` are answered: releases their cost.
    pub fn release(&self, waiting: &mut QueuedRequests) {
        self.permits.add_permits(std::mem::take(&mut waiting.permits));
    }

    /// Accepts no further requests; waiting ones are still served.
    pub fn close(&self) {
        self.lock().closed = true;
        self.permits.close();
        self.arrived.notify_one();
        self.arrival.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the lock panics")
    }
}
