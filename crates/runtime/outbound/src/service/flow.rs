//! One service's flow: limit, breaker, budget and the queue before them, as one state machine without a clock.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::client::ServiceResponse;
use crate::fault::Fault;
use crate::service::breaker::{Breaker, BreakerState, Gate, Health, Mark, Override};
use crate::service::budget::Budget;
use crate::service::latency::Latency;
use crate::service::limit::{Limit, LoadSample};
use crate::sort::Sorted;

/// The bounds of one service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceSettings {
    /// The most calls in flight; the adapting limit stays between 1 and this.
    pub concurrency_max: u32,
}

/// Whether a call is made for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptKind {
    First,
    Retry,
}

/// How a call went, as far as its service is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallVerdict {
    Done,
    /// The service answered, with a no.
    Refused,
    /// A fault of the service or of the way to it.
    Failed,
    /// 429 or 503, with its wish when it had one.
    Overloaded {
        retry_after: Option<Duration>,
    },
    TimedOut,
    /// The connection broke while the answer was awaited, or what came was no answer.
    Lost,
    /// The call never went out for a reason of our own: says nothing about the service.
    Untried,
}

/// How many calls ended how, since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub done: u64,
    pub refused: u64,
    pub failed: u64,
    pub overloaded: u64,
    pub timed_out: u64,
    pub lost: u64,
    /// Given up by the caller, or never tried.
    pub abandoned: u64,
}

/// Where a service stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    pub limit: u32,
    pub in_flight: u32,
    /// Calls in the queue, first attempts and retries.
    pub waiting: usize,
    pub breaker: BreakerState,
    /// Over the last half to one minute; `None` without calls.
    pub latency_p50: Option<Duration>,
    pub latency_p99: Option<Duration>,
    pub counts: Counts,
}

/// A place in the queue; the lower came earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueueTicket(u64);

/// A call in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallSlot {
    began: Instant,
    attempt: AttemptKind,
    mark: Mark,
}

/// The state machine. `W` is whoever waits in the queue.
pub(super) struct Flow<W> {
    limit: Limit,
    settings: ServiceSettings,
    /// A person's word over the settings.
    limit_by_hand: Option<u32>,
    breaker: Breaker,
    budget: Budget,
    latency: Latency,
    counts: Counts,
    in_flight: u32,
    next_ticket: u64,
    /// Two queues, because a retry without budget must not hold up the first attempts queued after it.
    first_attempts: BTreeMap<QueueTicket, W>,
    retries: BTreeMap<QueueTicket, W>,
}

impl Default for ServiceSettings {
    fn default() -> ServiceSettings {
        ServiceSettings { concurrency_max: crate::limits::CONCURRENCY_MAX }
    }
}

impl CallVerdict {
    /// What a call's result says about its service.
    pub fn of(result: &Result<ServiceResponse, Fault>, sorted: &Sorted) -> CallVerdict {
        match (result, sorted) {
            (Err(Fault::Refused { .. }), _) => CallVerdict::Untried,
            (Err(Fault::Timeout { .. }), _) => CallVerdict::TimedOut,
            (_, Sorted::Done { .. }) => CallVerdict::Done,
            (_, Sorted::Refused { .. }) => CallVerdict::Refused,
            (_, Sorted::Transient { status: Some(429 | 503), retry_after, .. }) => {
                CallVerdict::Overloaded { retry_after: retry_after.map(|wish| wish.as_std()) }
            }
            (_, Sorted::Transient { .. }) => CallVerdict::Failed,
            // An answer too large to read is still the answer of a service in good health.
            (Err(Fault::TooLarge { .. }), Sorted::Unknown { .. }) => CallVerdict::Done,
            (_, Sorted::Unknown { .. }) => CallVerdict::Lost,
        }
    }

    fn health(self) -> Option<Health> {
        match self {
            CallVerdict::Done | CallVerdict::Refused => Some(Health::Good),
            CallVerdict::Overloaded { retry_after: Some(wish) } if !wish.is_zero() => {
                Some(Health::Wish(wish))
            }
            CallVerdict::Overloaded { .. }
            | CallVerdict::Failed
            | CallVerdict::TimedOut
            | CallVerdict::Lost => Some(Health::Bad),
            CallVerdict::Untried => None,
        }
    }

    fn load(self) -> LoadSample {
        match self {
            CallVerdict::Done | CallVerdict::Refused => LoadSample::Answered,
            CallVerdict::Overloaded { .. } | CallVerdict::TimedOut => LoadSample::Overloaded,
            CallVerdict::Failed | CallVerdict::Lost | CallVerdict::Untried => LoadSample::Silent,
        }
    }
}

impl<W> Flow<W> {
    pub(super) fn new(now: Instant, settings: ServiceSettings) -> Flow<W> {
        Flow {
            limit: Limit::new(now, settings.concurrency_max),
            settings,
            limit_by_hand: None,
            breaker: Breaker::new(now),
            budget: Budget::new(now),
            latency: Latency::new(now),
            counts: Counts::default(),
            in_flight: 0,
            next_ticket: 0,
            first_attempts: BTreeMap::new(),
            retries: BTreeMap::new(),
        }
    }

    pub(super) fn configure(&mut self, settings: ServiceSettings) {
        self.settings = settings;
        self.bound();
    }

    pub(super) fn set_limit(&mut self, limit: Option<u32>) {
        self.limit_by_hand = limit;
        self.bound();
    }

    pub(super) fn set_override(&mut self, now: Instant, value: Override) {
        self.breaker.set_override(now, value);
    }

    /// A slot without queueing, when nobody waits and nothing holds the call back.
    pub(super) fn enter_at_once(&mut self, now: Instant, attempt: AttemptKind) -> Option<CallSlot> {
        let nobody_waits = self.first_attempts.is_empty() && self.retries.is_empty();
        let funded = attempt == AttemptKind::First || self.budget.has_retry(now);
        (nobody_waits && funded && self.has_room(now)).then(|| self.begin(now, attempt))
    }

    pub(super) fn enqueue(&mut self, attempt: AttemptKind, waiter: W) -> QueueTicket {
        let ticket = QueueTicket(self.next_ticket);
        self.next_ticket += 1;
        self.queue(attempt).insert(ticket, waiter);
        ticket
    }

    /// Takes a call out of the queue; false when it is no longer there.
    pub(super) fn leave(&mut self, ticket: QueueTicket) -> bool {
        self.first_attempts.remove(&ticket).is_some() || self.retries.remove(&ticket).is_some()
    }

    /// Lets the next call go, if one may: the longest waiting, but no retry without budget.
    pub(super) fn grant(&mut self, now: Instant) -> Option<(W, CallSlot)> {
        if !self.has_room(now) {
            return None;
        }
        let first = self.first_attempts.keys().next().copied();
        let retry = self.retries.keys().next().copied();
        let retry = retry.filter(|_| self.budget.has_retry(now));
        let attempt = match (first, retry) {
            (Some(first), Some(retry)) if retry < first => AttemptKind::Retry,
            (Some(_), _) => AttemptKind::First,
            (None, Some(_)) => AttemptKind::Retry,
            (None, None) => return None,
        };
        let (_, waiter) = self.queue(attempt).pop_first()?;
        Some((waiter, self.begin(now, attempt)))
    }

    /// When to ask [`Flow::grant`] again although no call has ended; `None` when that would help nobody.
    pub(super) fn wake_at(&mut self, now: Instant) -> Option<Instant> {
        if self.first_attempts.is_empty() && self.retries.is_empty() {
            return None;
        }
        match self.breaker.gate(now) {
            Gate::Shut { until } => until,
            Gate::Pass | Gate::Probe if !self.has_room(now) || self.retries.is_empty() => None,
            Gate::Pass | Gate::Probe => Some(self.budget.retry_at(now)),
        }
    }

    /// A call has ended with a verdict.
    pub(super) fn finish(&mut self, now: Instant, slot: CallSlot, verdict: CallVerdict) {
        let Some(health) = verdict.health() else { return self.abandon(slot) };
        self.count(verdict);
        self.latency.add(now, now.saturating_duration_since(slot.began));
        self.limit.on_result(now, slot.began, self.in_flight, verdict.load());
        if slot.attempt == AttemptKind::Retry && health == Health::Good {
            self.budget.on_good_retry();
        }
        if self.breaker.on_result(now, slot.mark, health) {
            self.limit.restart(now);
        }
        self.end();
    }

    /// A call has ended and tells nothing.
    pub(super) fn abandon(&mut self, slot: CallSlot) {
        self.counts.abandoned += 1;
        self.breaker.on_abandon(slot.mark);
        self.end();
    }

    pub(super) fn snapshot(&mut self, now: Instant) -> Snapshot {
        Snapshot {
            limit: self.limit.current(),
            in_flight: self.in_flight,
            waiting: self.first_attempts.len() + self.retries.len(),
            breaker: self.breaker.state(now),
            latency_p50: self.latency.quantile(now, 50),
            latency_p99: self.latency.quantile(now, 99),
            counts: self.counts,
        }
    }

    fn bound(&mut self) {
        self.limit.set_max(self.limit_by_hand.unwrap_or(self.settings.concurrency_max));
    }

    fn has_room(&self, now: Instant) -> bool {
        match self.breaker.gate(now) {
            Gate::Pass => self.in_flight < self.limit.current(),
            // The probe goes out even when calls from before are still in flight.
            Gate::Probe => true,
            Gate::Shut { .. } => false,
        }
    }

    fn begin(&mut self, now: Instant, attempt: AttemptKind) -> CallSlot {
        match attempt {
            AttemptKind::First => self.budget.on_first_attempt(),
            AttemptKind::Retry => self.budget.spend(),
        }
        self.in_flight += 1;
        CallSlot { began: now, attempt, mark: self.breaker.begin(now) }
    }

    fn end(&mut self) {
        assert!(self.in_flight > 0, "a call ended that never began");
        self.in_flight -= 1;
    }

    fn queue(&mut self, attempt: AttemptKind) -> &mut BTreeMap<QueueTicket, W> {
        match attempt {
            AttemptKind::First => &mut self.first_attempts,
            AttemptKind::Retry => &mut self.retries,
        }
    }

    fn count(&mut self, verdict: CallVerdict) {
        let count = match verdict {
            CallVerdict::Done => &mut self.counts.done,
            CallVerdict::Refused => &mut self.counts.refused,
            CallVerdict::Failed => &mut self.counts.failed,
            CallVerdict::Overloaded { .. } => &mut self.counts.overloaded,
            CallVerdict::TimedOut => &mut self.counts.timed_out,
            CallVerdict::Lost => &mut self.counts.lost,
            CallVerdict::Untried => &mut self.counts.abandoned,
        };
        *count += 1;
    }
}

#[cfg(test)]
mod tests;
