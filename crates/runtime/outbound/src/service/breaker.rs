//! The circuit breaker: a service that fails is left alone for a while, then asked with one real call.

use std::time::{Duration, Instant};

/// Failures are counted over this many buckets of one second.
const WINDOW_SECS: usize = 10;
/// Fewer calls than this in the window prove nothing.
const CALLS_MIN: u32 = 20;
/// The share of failed calls that opens the breaker.
const FAILED_PERCENT: u32 = 50;
const OPEN_FIRST: Duration = Duration::from_secs(1);
const OPEN_MAX: Duration = Duration::from_secs(30);
/// A service's own wish is honoured up to this; then one call asks again.
const OPEN_BY_WISH_MAX: Duration = Duration::from_secs(60);

/// Closed lets calls through, open holds them back, half-open has one call out that decides.
pub(super) struct Breaker {
    state: State,
    value: Override,
    window: FailureWindow,
    /// Grows with every change of state: a call that began before the change no longer counts.
    era: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Closed,
    Open { until: Instant, length: Duration },
    HalfOpen { length: Duration, probing: bool },
}

/// A person's word over the breaker's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Override {
    /// The breaker decides.
    Automatic,
    /// No call goes out; calls wait.
    Open,
    /// Calls go out whatever their results.
    Closed,
}

/// Where a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    Closed,
    /// Calls wait; one asks again when `left` has passed.
    Open {
        left: Duration,
    },
    HalfOpen,
    HeldOpen,
    HeldClosed,
}

/// Whether a call may go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    Pass,
    /// One call may, as the probe.
    Probe,
    /// None before the time given; without one, none before the state changes.
    Shut {
        until: Option<Instant>,
    },
}

/// Marks a call with the breaker's state when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    era: u64,
    probe: bool,
}

/// What a call's end means to the breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Good,
    Bad,
    /// The service asked to be left alone for this long.
    Wish(Duration),
}

impl Breaker {
    pub(super) fn new(now: Instant) -> Breaker {
        Breaker { state: State::Closed, value: Override::Automatic, window: FailureWindow::new(now), era: 0 }
    }

    pub(super) fn gate(&self, now: Instant) -> Gate {
        match (self.value, self.state) {
            (Override::Closed, _) => Gate::Pass,
            (Override::Open, _) => Gate::Shut { until: None },
            (Override::Automatic, State::Closed) => Gate::Pass,
            (Override::Automatic, State::Open { until, .. }) if now < until => {
                Gate::Shut { until: Some(until) }
            }
            (Override::Automatic, State::Open { .. } | State::HalfOpen { probing: false, .. }) => Gate::Probe,
            (Override::Automatic, State::HalfOpen { probing: true, .. }) => Gate::Shut { until: None },
        }
    }

    /// A call goes out through a gate that was not shut.
    pub(super) fn begin(&mut self, now: Instant) -> Mark {
        let probe = self.gate(now) == Gate::Probe;
        if probe {
            let length = match self.state {
                State::Open { length, .. } | State::HalfOpen { length, .. } => length,
                State::Closed => OPEN_FIRST,
            };
            self.change(State::HalfOpen { length, probing: true });
        }
        Mark { era: self.era, probe }
    }

    /// Takes in how a call ended. True when this opened the breaker.
    pub(super) fn on_result(&mut self, now: Instant, mark: Mark, health: Health) -> bool {
        if self.value != Override::Automatic {
            self.on_abandon(mark);
            return false;
        }
        let current = mark.era == self.era;
        match (self.state, health) {
            (State::Closed, Health::Wish(wish)) if current => self.open(now, OPEN_FIRST, Some(wish)),
            (State::Closed, health) => {
                if current {
                    self.window.add(now, health == Health::Good);
                }
                if self.window.is_failing(now) { self.open(now, OPEN_FIRST, None) } else { false }
            }
            (State::Open { until, length }, Health::Wish(wish)) => {
                let until = until.max(now + wish.min(OPEN_BY_WISH_MAX));
                self.state = State::Open { until, length };
                false
            }
            (State::Open { .. }, Health::Good | Health::Bad) => false,
            (State::HalfOpen { length, .. }, health) if current && mark.probe => match health {
                Health::Good => {
                    self.window = FailureWindow::new(now);
                    self.change(State::Closed);
                    false
                }
                Health::Bad => self.open(now, (length * 2).min(OPEN_MAX), None),
                Health::Wish(wish) => self.open(now, (length * 2).min(OPEN_MAX), Some(wish)),
            },
            (State::HalfOpen { .. }, _) => false,
        }
    }

    /// A call ended without telling anything; a probe lets the next one try.
    pub(super) fn on_abandon(&mut self, mark: Mark) {
        if let State::HalfOpen { length, probing: true } = self.state
            && mark.probe
            && mark.era == self.era
        {
            self.change(State::HalfOpen { length, probing: false });
        }
    }

    /// What was counted before a person's word no longer counts after it.
    pub(super) fn set_override(&mut self, now: Instant, value: Override) {
        self.value = value;
        self.window = FailureWindow::new(now);
        self.change(State::Closed);
    }

    pub(super) fn state(&self, now: Instant) -> BreakerState {
        match (self.value, self.state) {
            (Override::Open, _) => BreakerState::HeldOpen,
            (Override::Closed, _) => BreakerState::HeldClosed,
            (Override::Automatic, State::Closed) => BreakerState::Closed,
            (Override::Automatic, State::Open { until, .. }) => {
                BreakerState::Open { left: until.saturating_duration_since(now) }
            }
            (Override::Automatic, State::HalfOpen { .. }) => BreakerState::HalfOpen,
        }
    }

    fn open(&mut self, now: Instant, length: Duration, wish: Option<Duration>) -> bool {
        let wish = wish.unwrap_or_default().min(OPEN_BY_WISH_MAX);
        self.change(State::Open { until: now + length.max(wish), length });
        true
    }

    fn change(&mut self, state: State) {
        self.state = state;
        self.era += 1;
    }
}

/// Results by the second, for the last [`WINDOW_SECS`] seconds.
struct FailureWindow {
    start: Instant,
    /// The number of the newest second since `start`.
    newest: u64,
    good: [u32; WINDOW_SECS],
    bad: [u32; WINDOW_SECS],
}

impl FailureWindow {
    fn new(start: Instant) -> FailureWindow {
        FailureWindow { start, newest: 0, good: [0; WINDOW_SECS], bad: [0; WINDOW_SECS] }
    }

    fn add(&mut self, now: Instant, good: bool) {
        self.advance(now);
        let bucket = (self.newest % WINDOW_SECS as u64) as usize;
        let count = if good { &mut self.good[bucket] } else { &mut self.bad[bucket] };
        *count = count.saturating_add(1);
    }

    fn is_failing(&mut self, now: Instant) -> bool {
        self.advance(now);
        let good: u32 = self.good.iter().fold(0, |sum, count| sum.saturating_add(*count));
        let bad: u32 = self.bad.iter().fold(0, |sum, count| sum.saturating_add(*count));
        let calls = u64::from(good) + u64::from(bad);
        calls >= u64::from(CALLS_MIN) && u64::from(bad) * 100 >= calls * u64::from(FAILED_PERCENT)
    }

    fn advance(&mut self, now: Instant) {
        let second = now.saturating_duration_since(self.start).as_secs();
        // As many steps as there are buckets clear all of them.
        for passed in (self.newest + 1..=second).take(WINDOW_SECS) {
            let bucket = (passed % WINDOW_SECS as u64) as usize;
            self.good[bucket] = 0;
            self.bad[bucket] = 0;
        }
        self.newest = self.newest.max(second);
    }
}

#[cfg(test)]
mod tests;
