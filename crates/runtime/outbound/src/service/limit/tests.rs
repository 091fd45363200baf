//! The limit against a model of a service, with time as a number.

use super::*;

/// Calls in rounds: as many as the limit allows begin together and end when the model says.
struct Rounds {
    now: Instant,
    limit: Limit,
}

impl Rounds {
    fn new(max: u32) -> Rounds {
        let now = Instant::now();
        Rounds { now, limit: Limit::new(now, max) }
    }

    fn run(&mut self, rounds: u32, mut model: impl FnMut(u32) -> (u64, LoadSample)) -> u32 {
        for _ in 0..rounds {
            let in_flight = self.limit.current();
            let began = self.now;
            let (latency_ms, load) = model(in_flight);
            self.now += Duration::from_millis(latency_ms);
            (0..in_flight).for_each(|_| self.limit.on_result(self.now, began, in_flight, load));
        }
        self.limit.current()
    }
}

#[test]
fn a_healthy_service_is_soon_used_to_the_full() {
    let mut rounds = Rounds::new(512);
    assert_eq!(rounds.limit.current(), 16);
    assert_eq!(rounds.run(6, |_| (5, LoadSample::Answered)), 512);
    assert_eq!(rounds.run(100, |_| (5, LoadSample::Answered)), 512);
}

#[test]
fn a_limit_that_is_not_used_does_not_grow() {
    let mut rounds = Rounds::new(512);
    for _ in 0..10_000 {
        rounds.limit.on_result(rounds.now, rounds.now, 7, LoadSample::Answered);
    }
    assert_eq!(rounds.limit.current(), 16);
}

#[test]
fn refusals_lower_it_once_per_round_and_never_below_one() {
    let mut rounds = Rounds::new(100);
    rounds.run(10, |_| (5, LoadSample::Answered));
    assert_eq!(rounds.run(1, |_| (5, LoadSample::Overloaded)), 70);
    assert_eq!(rounds.run(1, |_| (5, LoadSample::Overloaded)), 49);
    assert_eq!(rounds.run(100, |_| (5, LoadSample::Overloaded)), 1);
}

#[test]
fn after_a_decrease_it_grows_by_one_per_round() {
    let mut rounds = Rounds::new(100);
    rounds.run(10, |_| (5, LoadSample::Answered));
    assert_eq!(rounds.run(1, |_| (5, LoadSample::Overloaded)), 70);
    let after = rounds.run(10, |_| (5, LoadSample::Answered));
    assert!((79..=80).contains(&after), "{after}");
}

#[test]
fn it_settles_near_what_a_service_can_take() {
    // Above 40 in flight the service refuses.
    let mut rounds = Rounds::new(512);
    let mut seen = Vec::new();
    rounds.run(1000, |in_flight| {
        seen.push(in_flight);
        (5, if in_flight > 40 { LoadSample::Overloaded } else { LoadSample::Answered })
    });
    let settled = &seen[200..];
    assert!(settled.iter().all(|in_flight| (27..=41).contains(in_flight)), "{settled:?}");
}

#[test]
fn a_queue_building_up_at_the_service_lowers_it() {
    // 50 side by side take 20 ms; beyond that calls queue, and latency grows with their number.
    let mut rounds = Rounds::new(2000);
    rounds.run(20, |_| (20, LoadSample::Answered));
    assert_eq!(rounds.limit.current(), 2000);
    let settled = rounds.run(40, |in_flight| (20.max(u64::from(in_flight) * 20 / 50), LoadSample::Answered));
    assert!((50..=300).contains(&settled), "{settled}");
}

#[test]
fn a_service_that_became_slower_for_good_is_not_strangled() {
    let mut rounds = Rounds::new(64);
    rounds.run(100, |_| (10, LoadSample::Answered));
    let mut lowest = u32::MAX;
    rounds.run(2000, |in_flight| {
        lowest = lowest.min(in_flight);
        (100, LoadSample::Answered)
    });
    assert_eq!(lowest, 8);
    assert_eq!(rounds.limit.current(), 64);
}

#[test]
fn after_the_breaker_it_begins_small_and_returns_quickly_to_half() {
    let mut rounds = Rounds::new(256);
    rounds.run(10, |_| (5, LoadSample::Answered));
    rounds.limit.restart(rounds.now);
    assert_eq!(rounds.limit.current(), 2);
    assert_eq!(rounds.run(6, |_| (5, LoadSample::Answered)), 128);
    assert_eq!(rounds.run(10, |_| (5, LoadSample::Answered)), 137);
}

#[test]
fn a_new_maximum_holds_at_once() {
    let mut rounds = Rounds::new(256);
    rounds.run(10, |_| (5, LoadSample::Answered));
    rounds.limit.set_max(10);
    assert_eq!(rounds.limit.current(), 10);
    rounds.limit.set_max(100);
    assert_eq!(rounds.run(10, |_| (5, LoadSample::Answered)), 100);
    rounds.limit.set_max(0);
    assert_eq!(rounds.limit.current(), 1);
}
