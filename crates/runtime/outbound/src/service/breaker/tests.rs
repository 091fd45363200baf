//! Stories of the breaker, with time as a number.

use super::*;

fn secs(secs: f64) -> Duration {
    Duration::from_secs_f64(secs)
}

struct Story {
    start: Instant,
    breaker: Breaker,
}

impl Story {
    fn new() -> Story {
        let start = Instant::now();
        Story { start, breaker: Breaker::new(start) }
    }

    fn at(&self, time: f64) -> Instant {
        self.start + secs(time)
    }

    /// One call at `time` that ends at once.
    fn call(&mut self, time: f64, health: Health) {
        let now = self.at(time);
        assert!(!matches!(self.breaker.gate(now), Gate::Shut { .. }), "the gate is shut at {time}");
        let mark = self.breaker.begin(now);
        self.breaker.on_result(now, mark, health);
    }

    fn gate(&self, time: f64) -> Gate {
        self.breaker.gate(self.at(time))
    }

    fn shut_until(&self, time: f64) -> Gate {
        Gate::Shut { until: Some(self.at(time)) }
    }

    /// A story that has just opened at second 0.
    fn open() -> Story {
        let mut story = Story::new();
        (0..20).for_each(|_| story.call(0.0, Health::Bad));
        story
    }
}

#[test]
fn few_calls_prove_nothing() {
    let mut story = Story::new();
    (0..19).for_each(|_| story.call(0.0, Health::Bad));
    assert_eq!(story.gate(0.0), Gate::Pass);
    story.call(0.0, Health::Bad);
    assert_eq!(story.gate(0.0), story.shut_until(1.0));
}

#[test]
fn half_of_the_calls_must_fail() {
    let mut story = Story::new();
    (0..100).for_each(|_| story.call(0.0, Health::Good));
    (0..99).for_each(|_| story.call(1.0, Health::Bad));
    assert_eq!(story.gate(1.0), Gate::Pass);
    story.call(1.0, Health::Bad);
    assert_eq!(story.gate(1.0), story.shut_until(2.0));
}

#[test]
fn what_is_older_than_the_window_no_longer_counts() {
    for later in [10.0, 12.5, 1000.0] {
        let mut story = Story::new();
        (0..19).for_each(|_| story.call(0.0, Health::Bad));
        story.call(later, Health::Bad);
        assert_eq!(story.gate(later), Gate::Pass, "{later}");
    }
    let mut story = Story::new();
    (0..19).for_each(|_| story.call(0.0, Health::Bad));
    story.call(9.9, Health::Bad);
    assert_eq!(story.gate(9.9), story.shut_until(10.9));
}

#[test]
fn one_probe_at_a_time_and_its_success_closes() {
    let mut story = Story::open();
    assert_eq!(story.gate(1.0), Gate::Probe);
    let probe = story.breaker.begin(story.at(1.0));
    assert_eq!(story.gate(1.0), Gate::Shut { until: None });
    assert_eq!(story.breaker.state(story.at(1.0)), BreakerState::HalfOpen);
    story.breaker.on_result(story.at(1.5), probe, Health::Good);
    assert_eq!(story.gate(1.5), Gate::Pass);
    story.call(1.5, Health::Bad);
    assert_eq!(story.gate(1.5), Gate::Pass, "the failures of before are forgotten");
}

#[test]
fn failed_probes_double_the_wait_up_to_its_maximum() {
    let mut story = Story::open();
    let mut time = 1.0;
    for wait in [2.0, 4.0, 8.0, 16.0, 30.0, 30.0] {
        story.call(time, Health::Bad);
        assert_eq!(story.gate(time), story.shut_until(time + wait));
        time += wait;
    }
    story.call(time, Health::Good);
    (0..20).for_each(|_| story.call(time, Health::Bad));
    assert_eq!(story.gate(time), story.shut_until(time + 1.0), "a success resets the count");
}

#[test]
fn a_probe_that_is_given_up_lets_the_next_one_try() {
    let mut story = Story::open();
    let probe = story.breaker.begin(story.at(1.0));
    story.breaker.on_abandon(probe);
    assert_eq!(story.gate(1.0), Gate::Probe);
    let second = story.breaker.begin(story.at(1.0));
    story.breaker.on_abandon(probe);
    story.breaker.on_result(story.at(1.0), probe, Health::Good);
    assert_eq!(story.gate(1.0), Gate::Shut { until: None }, "the first probe has no say any more");
    story.breaker.on_result(story.at(1.0), second, Health::Good);
    assert_eq!(story.gate(1.0), Gate::Pass);
}

#[test]
fn a_wish_opens_at_once_for_its_time_up_to_a_minute() {
    for (wish, wait) in [(0.5, 1.0), (7.0, 7.0), (3600.0, 60.0)] {
        let mut story = Story::new();
        story.call(0.0, Health::Wish(secs(wish)));
        assert_eq!(story.gate(0.0), story.shut_until(wait), "{wish}");
    }
}

#[test]
fn a_wish_that_arrives_late_prolongs() {
    let mut story = Story::new();
    let late = story.breaker.begin(story.at(0.0));
    story.call(0.0, Health::Wish(secs(2.0)));
    story.breaker.on_result(story.at(1.0), late, Health::Wish(secs(5.0)));
    assert_eq!(story.gate(1.0), story.shut_until(6.0));
}

#[test]
fn calls_from_before_do_not_decide_after_a_change() {
    let mut story = Story::new();
    let early: Vec<_> = (0..50).map(|_| story.breaker.begin(story.at(0.0))).collect();
    (0..20).for_each(|_| story.call(0.0, Health::Bad));
    story.breaker.on_result(story.at(0.5), early[0], Health::Good);
    assert_eq!(story.gate(0.5), story.shut_until(1.0), "a late success does not close");
    story.call(1.0, Health::Good);
    early.iter().for_each(|mark| {
        story.breaker.on_result(story.at(1.1), *mark, Health::Bad);
    });
    assert_eq!(story.gate(1.1), Gate::Pass, "late failures do not open again");
}

#[test]
fn a_persons_word_stands_until_taken_back() {
    let mut story = Story::new();
    story.breaker.set_override(story.at(0.0), Override::Open);
    assert_eq!(story.gate(1e6), Gate::Shut { until: None });
    story.breaker.set_override(story.at(0.0), Override::Closed);
    (0..1000).for_each(|_| story.call(0.0, Health::Bad));
    assert_eq!(story.gate(0.0), Gate::Pass);
    assert_eq!(story.breaker.state(story.at(0.0)), BreakerState::HeldClosed);
    story.breaker.set_override(story.at(0.0), Override::Automatic);
    (0..20).for_each(|_| story.call(0.0, Health::Bad));
    assert_eq!(story.gate(0.0), story.shut_until(1.0));
    story.breaker.set_override(story.at(0.0), Override::Closed);
    story.breaker.set_override(story.at(0.0), Override::Automatic);
    assert_eq!(story.gate(0.0), Gate::Pass);
}
