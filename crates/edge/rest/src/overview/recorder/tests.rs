//! A recorder with a clock of its own.

use host::Histogram;

use super::*;

/// What a process counts, and its recorder.
struct World {
    now: i64,
    reading: CounterReading,
    runs: Histogram,
    recorder: Recorder,
}

impl World {
    /// Begins in the middle of a stretch.
    fn start() -> World {
        let runs = Histogram::new(0.001, 22);
        let reading = CounterReading {
            accepted: 1000,
            refused: 0,
            ended: 1000,
            attempts: 0,
            unfinished: 0,
            accept_times: runs.read(),
            run_times: runs.read(),
            lateness: runs.read(),
        };
        let world = World { now: 1_000_003_000, reading, runs, recorder: Recorder::default() };
        world.look();
        world
    }

    fn look(&self) {
        let reading = CounterReading { run_times: self.runs.read(), ..self.reading.clone() };
        self.recorder.note(Timestamp(self.now), reading);
    }

    /// Seconds in each of which so many are accepted and end, each after a time.
    fn pass(&mut self, seconds: usize, accepted: u64, ended: u64, took_ms: u64) {
        for _ in 0..seconds {
            self.now += 1000;
            self.reading.accepted += accepted;
            self.reading.ended += ended;
            self.reading.unfinished = self.reading.unfinished + accepted - ended;
            for _ in 0..ended {
                self.runs.observe(Duration::from_millis(took_ms));
            }
            self.look();
        }
    }
}

#[test]
fn rates_are_those_of_the_last_ten_seconds() {
    let mut world = World::start();
    world.pass(30, 100, 90, 5);
    world.pass(5, 20, 10, 5);
    let rates = world.recorder.read().rates;
    assert_eq!((rates.accepted, rates.ended, rates.refused), (60.0, 50.0, 0.0));
    world.pass(10, 0, 0, 0);
    assert_eq!(world.recorder.read().rates, RatesView::default());
}

#[test]
fn quantiles_are_those_of_the_last_minute_and_absent_when_nothing_happened() {
    let mut world = World::start();
    assert_eq!(world.recorder.read().latency, LatencyView::default());
    world.pass(30, 10, 10, 5000);
    world.pass(30, 1, 1, 100);
    // The slow ones are still within the minute.
    let slow = world.recorder.read().latency.run_p50_ms.unwrap();
    assert!((5000.0..5700.0).contains(&slow), "{slow}");
    world.pass(45, 1, 1, 100);
    let latency = world.recorder.read().latency;
    for quantile in [latency.run_p50_ms.unwrap(), latency.run_p99_ms.unwrap()] {
        assert!((100.0..115.0).contains(&quantile), "{quantile}");
    }
    assert_eq!(latency.accept_p50_ms, None);
    world.pass(70, 0, 0, 0);
    assert_eq!(world.recorder.read().latency, LatencyView::default());
}

#[test]
fn the_series_has_one_value_for_each_stretch_and_no_more_than_fifteen_minutes() {
    let mut world = World::start();
    world.pass(6, 10, 5, 5);
    assert!(world.recorder.read().series.accepted.is_empty());
    world.pass(1, 10, 5, 5);
    world.pass(10, 40, 40, 100);
    world.pass(10, 0, 0, 0);
    let series = world.recorder.read().series;
    assert_eq!((series.every_seconds, &series.accepted), (10, &vec![10.0, 40.0, 0.0]));
    assert_eq!((&series.ended, &series.unfinished), (&vec![5.0, 40.0, 0.0], &vec![35, 35, 35]));
    assert!(series.run_p99_ms[1].unwrap() >= 100.0 && series.run_p99_ms[2].is_none());
    world.pass(3600, 1, 1, 1);
    let series = world.recorder.read().series;
    assert_eq!(series.accepted, vec![1.0; STRETCHES]);
    assert_eq!((series.ended.len(), series.unfinished.len()), (STRETCHES, STRETCHES));
}

#[test]
fn a_process_that_slept_has_a_value_for_each_stretch_all_the_same() {
    let mut world = World::start();
    world.pass(7, 0, 0, 0);
    world.now += 29_000;
    world.pass(1, 60, 60, 5);
    let series = world.recorder.read().series;
    assert_eq!(series.accepted, [0.0, 2.0, 2.0, 2.0]);
    world.now += 24 * 3600 * 1000;
    world.pass(1, 0, 0, 5);
    assert_eq!(world.recorder.read().series.accepted.len(), STRETCHES);
}
