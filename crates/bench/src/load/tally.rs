//! What came of a load: counts, and every latency in a histogram.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::answer::RawResponse;
use crate::comparison::Side;

const LATENCY_MICROS_MAX: u64 = 600_000_000;

/// A histogram of microseconds.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_MICROS_MAX, 3).expect("the bounds are in order")
}

/// The summary of a histogram of microseconds.
pub fn side(latencies: &Histogram<u64>, throughput: f64) -> Side {
    let ms = |quantile| latencies.value_at_quantile(quantile) as f64 / 1000.0;
    Side { throughput, p50_ms: ms(0.5), p99_ms: ms(0.99), p999_ms: ms(0.999) }
}

/// The time that counts: what is due from `from` to `until`, since the beginning of the load.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub from: Duration,
    pub until: Duration,
    /// The length of the intervals that are counted apart.
    pub interval: Duration,
}

/// What came of a load.
#[derive(Debug, Clone)]
pub struct Measured {
    window: Window,
    /// Of what was accepted, from the time that each request was due.
    pub latencies: Histogram<u64>,
    /// When the load began, with its warm-up.
    pub begun: Instant,
    /// Requests that were due.
    pub offered: u64,
    pub accepted: u64,
    pub refused: u64,
    /// Everything else, with what was never sent.
    pub failed: u64,
    /// Requests that were due and found no free connection until the end.
    pub unsent: u64,
    /// Refusals that do not say when to come again.
    pub refused_without_time: u64,
    /// Everything accepted, in the warm-up and after the end, too.
    pub accepted_ever: u64,
    /// Requests that were sent and neither acknowledged nor rejected, including those of the warm-up.
    pub unknown_ever: u64,
    accepted_in_time: u64,
    pub intervals: Vec<Interval>,
    /// What was wrong with the first response that was neither an acknowledgement nor a rejection.
    pub trouble: Option<String>,
}

/// A part of the measured time.
#[derive(Debug, Clone)]
pub struct Interval {
    /// Requests that were due in it, and the latencies of those of them that were accepted.
    pub offered: u64,
    pub latencies: Histogram<u64>,
    /// Answers that came in it, and how long refusals took from the time they were sent.
    pub accepted: u64,
    pub refused: u64,
    pub failed: u64,
    pub refusals: Histogram<u64>,
}

/// When a request was due, sent and answered, since the beginning of the load.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    pub due: Duration,
    pub sent: Duration,
    pub now: Duration,
}

impl Measured {
    pub fn new(window: Window, begun: Instant) -> Measured {
        Measured {
            window,
            latencies: histogram(),
            begun,
            offered: 0,
            accepted: 0,
            refused: 0,
            failed: 0,
            unsent: 0,
            refused_without_time: 0,
            accepted_ever: 0,
            unknown_ever: 0,
            accepted_in_time: 0,
            intervals: Vec::new(),
            trouble: None,
        }
    }

    /// The intervals in which requests were due; later ones have nothing but late answers.
    pub fn intervals_due(&self) -> &[Interval] {
        let length = (self.window.until - self.window.from).as_nanos();
        let count = length.div_ceil(self.window.interval.as_nanos().max(1)) as usize;
        &self.intervals[..count.min(self.intervals.len())]
    }

    pub fn interval_length(&self) -> Duration {
        self.window.interval
    }

    /// Whole intervals of the measured time as one.
    pub fn between(&self, from: Duration, until: Duration) -> Interval {
        let number = |time: Duration| (time.as_nanos() / self.window.interval.as_nanos().max(1)) as usize;
        let mut all = Interval::new();
        for interval in self.intervals.iter().take(number(until)).skip(number(from)) {
            all.add(interval);
        }
        all
    }

    /// Of a load that was none.
    #[cfg(test)]
    pub fn nothing() -> Measured {
        let (from, second) = (Duration::ZERO, Duration::from_secs(1));
        Measured::new(Window { from, until: second, interval: second }, Instant::now())
    }

    /// Accepted requests per second.
    pub fn throughput(&self) -> f64 {
        self.accepted_in_time as f64 / (self.window.until - self.window.from).as_secs_f64()
    }

    pub fn side(&self) -> Side {
        side(&self.latencies, self.throughput())
    }

    /// Counts an answer to `requests` requests, of which it accepts `accepted`.
    pub fn answered(&mut self, answer: &RawResponse, requests: u64, accepted: u64, times: Times) {
        let refused = requests - accepted;
        let overload = matches!(answer.status, 200..300 | 429 | 503);
        self.accepted_ever += accepted;
        self.unknown_ever += if overload { 0 } else { refused };
        if !self.offer(times.due, requests) {
            return;
        }
        let (latency, answer_time) = (micros(times.now - times.due), micros(times.now - times.sent));
        if accepted > 0 {
            self.accepted += accepted;
            self.accepted_in_time += if times.now < self.window.until { accepted } else { 0 };
            self.latencies.saturating_record_n(latency, accepted);
            self.interval(times.due).latencies.saturating_record_n(latency, accepted);
            self.interval(times.now).accepted += accepted;
        }
        if refused > 0 && overload {
            self.refused += refused;
            self.refused_without_time += if answer.retry_after { 0 } else { refused };
            let interval = self.interval(times.now);
            interval.refused += refused;
            interval.refusals.saturating_record_n(answer_time, refused);
        } else if refused > 0 {
            self.fail(times, refused, || format!("a response with status {}", answer.status));
        }
    }

    /// Counts requests without a usable response.
    pub fn broken(&mut self, requests: u64, times: Times, why: impl FnOnce() -> String) {
        self.unknown_ever += requests;
        if self.offer(times.due, requests) {
            self.fail(times, requests, why);
        }
    }

    /// Counts requests that were due and never sent.
    pub fn left_out(&mut self, requests: u64, due: Duration) {
        if self.offer(due, requests) {
            self.unsent += requests;
            let times = Times { due, sent: due, now: due };
            self.fail(times, requests, || "no connection was free when a request was due".to_owned());
        }
    }

    fn fail(&mut self, times: Times, requests: u64, why: impl FnOnce() -> String) {
        self.failed += requests;
        self.interval(times.now).failed += requests;
        self.trouble.get_or_insert_with(why);
    }

    /// Whether it counts at all; if so, it was offered.
    fn offer(&mut self, due: Duration, requests: u64) -> bool {
        let counts = due >= self.window.from && due < self.window.until;
        if counts {
            self.offered += requests;
            self.interval(due).offered += requests;
        }
        counts
    }

    fn interval(&mut self, at: Duration) -> &mut Interval {
        let passed = at.saturating_sub(self.window.from);
        let index = (passed.as_nanos() / self.window.interval.as_nanos().max(1)) as usize;
        if index >= self.intervals.len() {
            self.intervals.resize_with(index + 1, Interval::new);
        }
        &mut self.intervals[index]
    }

    /// Adds what came of another part of the same load.
    pub fn add(&mut self, other: Measured) {
        add(&mut self.latencies, &other.latencies);
        self.offered += other.offered;
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.failed += other.failed;
        self.unsent += other.unsent;
        self.refused_without_time += other.refused_without_time;
        self.accepted_ever += other.accepted_ever;
        self.unknown_ever += other.unknown_ever;
        self.accepted_in_time += other.accepted_in_time;
        self.trouble = self.trouble.take().or(other.trouble);
        let length = self.intervals.len().max(other.intervals.len());
        self.intervals.resize_with(length, Interval::new);
        for (mine, theirs) in self.intervals.iter_mut().zip(&other.intervals) {
            mine.add(theirs);
        }
    }
}

impl Interval {
    fn new() -> Interval {
        Interval {
            offered: 0,
            latencies: histogram(),
            accepted: 0,
            refused: 0,
            failed: 0,
            refusals: histogram(),
        }
    }

    fn add(&mut self, other: &Interval) {
        add(&mut self.latencies, &other.latencies);
        add(&mut self.refusals, &other.refusals);
        self.offered += other.offered;
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.failed += other.failed;
    }
}

fn add(mine: &mut Histogram<u64>, theirs: &Histogram<u64>) {
    mine.add(theirs).expect("all histograms have the same bounds");
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn measured() -> Measured {
        Measured::new(Window { from: ms(1000), until: ms(3000), interval: ms(1000) }, Instant::now())
    }

    fn answer(status: u16, retry_after: bool) -> RawResponse {
        RawResponse { status, body: 0..0, retry_after, close: false }
    }

    fn times(due: u64, now: u64) -> Times {
        Times { due: ms(due), sent: ms(now - 1), now: ms(now) }
    }

    #[test]
    fn the_warm_up_does_not_count_but_its_unfinished_requests_are_known() {
        let mut measured = measured();
        measured.answered(&answer(202, false), 1, 1, times(999, 1500));
        assert_eq!((measured.offered, measured.accepted, measured.accepted_ever), (0, 0, 1));
    }

    #[test]
    fn latencies_belong_to_the_time_due_and_counts_to_the_time_answered() {
        let mut measured = measured();
        measured.answered(&answer(202, false), 1, 1, times(1500, 2100));
        measured.answered(&answer(202, false), 1, 1, times(2900, 3100));
        let seconds: Vec<_> = measured
            .intervals
            .iter()
            .map(|second| (second.offered, second.latencies.len(), second.accepted))
            .collect();
        assert_eq!(seconds, [(1, 1, 0), (1, 1, 1), (0, 0, 1)]);
        assert_eq!(measured.intervals_due().len(), 2);
        assert_eq!(measured.throughput(), 0.5, "what is answered after the end does not count as throughput");
        assert_eq!(measured.accepted, 2);
    }

    #[test]
    fn what_is_not_accepted_is_refused_or_failed() {
        let mut measured = measured();
        measured.answered(&answer(429, true), 1, 0, times(1500, 1510));
        measured.answered(&answer(503, false), 1, 0, times(1500, 1510));
        measured.answered(&answer(400, false), 1, 0, times(1500, 1510));
        measured.answered(&answer(200, false), 10, 7, times(1500, 1510));
        measured.broken(1, times(1500, 1510), || "it broke".to_owned());
        measured.left_out(5, ms(2000));
        assert_eq!((measured.offered, measured.accepted, measured.refused, measured.failed), (19, 7, 5, 7));
        assert_eq!((measured.unsent, measured.refused_without_time, measured.unknown_ever), (5, 4, 2));
        assert_eq!(measured.trouble.as_deref(), Some("a response with status 400"));
        assert_eq!(measured.intervals[0].refusals.max() / 1000, 1, "refusals count from their sending");
    }

    #[test]
    fn parts_add_up() {
        let (mut one, mut two) = (measured(), measured());
        one.answered(&answer(202, false), 1, 1, times(1500, 1510));
        two.answered(&answer(202, false), 1, 1, times(2500, 2520));
        two.left_out(1, ms(2999));
        one.add(two);
        assert_eq!((one.offered, one.accepted, one.failed, one.latencies.len()), (3, 2, 1, 2));
        assert_eq!(one.between(ms(1000), ms(2000)).latencies.len(), 1);
        assert_eq!(one.between(ms(0), ms(2000)).latencies.len(), 2);
        assert_eq!(one.intervals.iter().map(|second| second.offered).collect::<Vec<_>>(), [1, 2]);
        let side = one.side();
        assert!((side.p50_ms - 10.0).abs() < 0.1 && (side.p99_ms - 20.0).abs() < 0.1, "{side:?}");
    }
}
