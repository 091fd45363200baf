//! What has been going on in the last fifteen minutes, in memory of a fixed size: one look a second at what is counted
//! anyway.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use api_types::{LatencyView, RatesView, SeriesView};
use host::Counted;
use types::Timestamp;

/// A stretch of the series, and how many are kept: fifteen minutes.
pub(super) const STRETCH_SECONDS: u32 = 10;
const STRETCHES: usize = 90;
/// Looks that rates are taken from: over ten seconds, from the first to the last.
const LOOKS: usize = 11;
/// Ends of stretches that quantiles are taken from: the last minute, and what has passed of the stretch.
const MARKS: usize = 7;

/// What is counted, at one moment: since the start of the process, but for `unfinished`.
#[derive(Debug, Clone)]
pub(crate) struct CounterReading {
    /// Requests that were accepted, and occurrences of jobs that fired.
    pub accepted: u64,
    pub refused: u64,
    pub ended: u64,
    pub attempts: u64,
    /// Accepted and not ended, now.
    pub unfinished: u64,
    pub accept_times: Counted,
    pub run_times: Counted,
    pub lateness: Counted,
}

/// Keeps what was read. One writes, once a second; whoever asks reads.
#[derive(Default)]
pub(crate) struct Recorder(Mutex<Record>);

#[derive(Default)]
struct Record {
    /// One look a second, the newest last.
    looks: VecDeque<Look>,
    /// The first look of each stretch, the newest last.
    marks: VecDeque<Look>,
    stretches: VecDeque<Stretch>,
}

#[derive(Clone)]
struct Look {
    at: Timestamp,
    reading: CounterReading,
}

#[derive(Clone, Copy)]
struct Stretch {
    accepted: f64,
    ended: f64,
    run_p99_ms: Option<f64>,
    unfinished: u64,
}

/// What a recorder has to say.
pub(crate) struct Recorded {
    pub rates: RatesView,
    pub latency: LatencyView,
    pub lateness_p99_ms: Option<f64>,
    pub series: SeriesView,
}

impl Recorder {
    /// Takes in a look. Times only go forward.
    pub(crate) fn note(&self, at: Timestamp, reading: CounterReading) {
        self.0.lock().expect("nobody panics while holding it").note(Look { at, reading });
    }

    pub(crate) fn read(&self) -> Recorded {
        self.0.lock().expect("nobody panics while holding it").read()
    }
}

impl Record {
    fn note(&mut self, look: Look) {
        match self.marks.back() {
            None => self.marks.push_back(look.clone()),
            Some(mark) => {
                let passed = look.stretch() - mark.stretch();
                if passed > 0 {
                    let stretch = mark.until(&look);
                    // A process that slept through some has done in each what it did on average.
                    let passed = usize::try_from(passed).unwrap_or(STRETCHES).min(STRETCHES);
                    self.stretches.extend(std::iter::repeat_n(stretch, passed));
                    self.marks.push_back(look.clone());
                }
            }
        }
        self.looks.push_back(look);
        keep_newest(&mut self.looks, LOOKS);
        keep_newest(&mut self.marks, MARKS);
        keep_newest(&mut self.stretches, STRETCHES);
    }

    fn read(&self) -> Recorded {
        let series = self.series();
        let (Some(first), Some(mark), Some(now)) =
            (self.looks.front(), self.marks.front(), self.looks.back())
        else {
            let (rates, latency) = (RatesView::default(), LatencyView::default());
            return Recorded { rates, latency, lateness_p99_ms: None, series };
        };
        let rate = |count: fn(&CounterReading) -> u64| first.rate_until(now, count);
        let (before, reading) = (&mark.reading, &now.reading);
        let accept = |percent| ms(reading.accept_times.quantile_since(&before.accept_times, percent));
        let run = |percent| ms(reading.run_times.quantile_since(&before.run_times, percent));
        Recorded {
            rates: RatesView {
                accepted: rate(|reading| reading.accepted),
                refused: rate(|reading| reading.refused),
                ended: rate(|reading| reading.ended),
                attempts: rate(|reading| reading.attempts),
            },
            latency: LatencyView {
                accept_p50_ms: accept(50),
                accept_p99_ms: accept(99),
                run_p50_ms: run(50),
                run_p99_ms: run(99),
            },
            lateness_p99_ms: ms(reading.lateness.quantile_since(&before.lateness, 99)),
            series,
        }
    }

    fn series(&self) -> SeriesView {
        let stretches = || self.stretches.iter();
        SeriesView {
            every_seconds: STRETCH_SECONDS,
            accepted: stretches().map(|stretch| stretch.accepted).collect(),
            ended: stretches().map(|stretch| stretch.ended).collect(),
            run_p99_ms: stretches().map(|stretch| stretch.run_p99_ms).collect(),
            unfinished: stretches().map(|stretch| stretch.unfinished).collect(),
        }
    }
}

impl Look {
    /// The number of its stretch. Stretches begin at full tens of seconds, so that those of several instances agree.
    fn stretch(&self) -> i64 {
        self.at.0.div_euclid(i64::from(STRETCH_SECONDS) * 1000)
    }

    /// What happened from here on until another look.
    fn until(&self, later: &Look) -> Stretch {
        let times = &later.reading.run_times;
        Stretch {
            accepted: self.rate_until(later, |reading| reading.accepted),
            ended: self.rate_until(later, |reading| reading.ended),
            run_p99_ms: ms(times.quantile_since(&self.reading.run_times, 99)),
            unfinished: later.reading.unfinished,
        }
    }

    fn rate_until(&self, later: &Look, count: fn(&CounterReading) -> u64) -> f64 {
        let passed_ms = later.at.since(self.at).as_ms();
        if passed_ms == 0 {
            return 0.0;
        }
        let counted = count(&later.reading).saturating_sub(count(&self.reading));
        rounded(counted as f64 * 1000.0 / passed_ms as f64)
    }
}

fn keep_newest<T>(all: &mut VecDeque<T>, count: usize) {
    while all.len() > count {
        all.pop_front();
    }
}

fn ms(time: Option<Duration>) -> Option<f64> {
    time.map(|time| rounded(time.as_secs_f64() * 1000.0))
}

/// To hundredths: more is noise.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests;
