//! The concurrency limit that adapts: up by one while calls go well, down by a share when the service slows or refuses.

use std::time::{Duration, Instant};

/// Where a limit begins, and begins again after the breaker was open.
const START: f64 = 16.0;
const RESTART: f64 = 2.0;
/// The factor for a refusal (429, 503) or a timeout.
const DOWN_ON_OVERLOAD: f64 = 0.7;
/// The factor for a rise of latency: a weaker sign, a smaller step.
const DOWN_ON_LATENCY: f64 = 0.9;
/// Latency alone never takes the limit below this: noise must not make calls go one after another.
const LATENCY_FLOOR: f64 = 8.0;
/// Latency has risen when a window's mean is above twice the usual plus this.
const RISE_SLACK_SECS: f64 = 0.010;
const RISE_FACTOR: f64 = 2.0;
/// A window ends after this time and this many calls.
const WINDOW: Duration = Duration::from_millis(100);
const WINDOW_CALLS: u32 = 10;
/// The share by which the usual latency follows a higher mean per window; it follows a lower one at once.
/// So a spike lowers the limit for some ten seconds, but a service that became slower for good gets its calls back:
/// rather too many calls than a service starved for a latency it no longer has. Refusals and timeouts still count.
const USUAL_FOLLOWS: f64 = 1.0 / 256.0;

/// The number of calls that may be in flight, between 1 and a maximum.
pub(super) struct Limit {
    value: f64,
    max: f64,
    /// Below this the limit grows by one per call, above by one per round of calls.
    quick_below: f64,
    /// Calls that began before this belong to a round that has already been answered by a decrease.
    lowered_at: Instant,
    usual_secs: Option<f64>,
    window: LatencyWindow,
    rising: bool,
}

struct LatencyWindow {
    start: Instant,
    calls: u32,
    sum_secs: f64,
}

/// What a call's end means to the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadSample {
    /// An answer, whatever it says.
    Answered,
    /// A refusal for load, or no answer in time.
    Overloaded,
    /// Nothing about load.
    Silent,
}

impl Limit {
    pub(super) fn new(now: Instant, max: u32) -> Limit {
        let max = f64::from(max.max(1));
        Limit {
            value: START.min(max),
            max,
            quick_below: max,
            lowered_at: now,
            usual_secs: None,
            window: LatencyWindow { start: now, calls: 0, sum_secs: 0.0 },
            rising: false,
        }
    }

    pub(super) fn current(&self) -> u32 {
        self.value as u32
    }

    pub(super) fn set_max(&mut self, max: u32) {
        let max = f64::from(max.max(1));
        if self.quick_below >= self.max {
            self.quick_below = max;
        }
        self.max = max;
        self.value = self.value.min(max);
    }

    /// Takes in the end of a call that began at `began`, when `in_flight` calls, itself included, were in flight.
    pub(super) fn on_result(&mut self, now: Instant, began: Instant, in_flight: u32, load: LoadSample) {
        match load {
            LoadSample::Answered => {
                self.measure(now, now.saturating_duration_since(began));
                let quick = self.value < self.quick_below;
                // Only a limit that holds calls back may grow. While it doubles per round, in flight lags behind.
                let in_use = f64::from(in_flight) >= self.value.floor() * if quick { 0.5 } else { 0.8 };
                if in_use && !self.rising {
                    let step = if quick { 1.0 } else { 1.0 / self.value };
                    self.value = (self.value + step).min(self.max);
                }
            }
            LoadSample::Overloaded if began >= self.lowered_at => self.lower(now, DOWN_ON_OVERLOAD, 1.0),
            LoadSample::Overloaded | LoadSample::Silent => {}
        }
    }

    /// The breaker has opened: begin small, and grow quickly to half of what was.
    pub(super) fn restart(&mut self, now: Instant) {
        self.quick_below = (self.value / 2.0).max(RESTART);
        self.value = RESTART.min(self.max);
        self.lowered_at = now;
        self.rising = false;
    }

    fn lower(&mut self, now: Instant, factor: f64, floor: f64) {
        self.value = (self.value * factor).max(floor.min(self.value)).max(1.0);
        self.quick_below = self.value;
        self.lowered_at = now;
    }

    fn measure(&mut self, now: Instant, latency: Duration) {
        self.window.calls += 1;
        self.window.sum_secs += latency.as_secs_f64();
        let length = now.saturating_duration_since(self.window.start);
        if length < WINDOW || self.window.calls < WINDOW_CALLS {
            return;
        }
        let mean = self.window.sum_secs / f64::from(self.window.calls);
        self.window = LatencyWindow { start: now, calls: 0, sum_secs: 0.0 };
        let usual = *self.usual_secs.get_or_insert(mean);
        self.usual_secs = Some(if mean < usual { mean } else { usual + (mean - usual) * USUAL_FOLLOWS });
        self.rising = mean > usual * RISE_FACTOR + RISE_SLACK_SECS;
        if self.rising {
            self.lower(now, DOWN_ON_LATENCY, LATENCY_FLOOR);
        }
    }
}

#[cfg(test)]
mod tests;
