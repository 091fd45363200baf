//! Stories of limit, breaker, budget and queue together.

use super::*;

struct Story {
    start: Instant,
    flow: Flow<&'static str>,
}

impl Story {
    fn new(concurrency_max: u32) -> Story {
        let start = Instant::now();
        Story { start, flow: Flow::new(start, ServiceSettings { concurrency_max }) }
    }

    fn at(&self, ms: u64) -> Instant {
        self.start + Duration::from_millis(ms)
    }

    fn granted(&mut self, ms: u64) -> Vec<(&'static str, CallSlot)> {
        let now = self.at(ms);
        std::iter::from_fn(|| self.flow.grant(now)).collect()
    }

    fn names(&mut self, ms: u64) -> Vec<&'static str> {
        self.granted(ms).into_iter().map(|(name, _)| name).collect()
    }

    fn fail(&mut self, ms: u64, calls: u32) {
        for _ in 0..calls {
            let slot = self.flow.enter_at_once(self.at(ms), AttemptKind::First).unwrap();
            self.flow.finish(self.at(ms), slot, CallVerdict::Failed);
        }
    }
}

#[test]
fn calls_go_in_the_order_they_came() {
    let mut story = Story::new(1);
    let slot = story.flow.enter_at_once(story.at(0), AttemptKind::First).unwrap();
    assert!(story.flow.enter_at_once(story.at(0), AttemptKind::First).is_none());
    story.flow.enqueue(AttemptKind::First, "a");
    story.flow.enqueue(AttemptKind::Retry, "b");
    story.flow.enqueue(AttemptKind::First, "c");
    assert!(story.granted(0).is_empty());
    story.flow.finish(story.at(1), slot, CallVerdict::Done);
    assert!(
        story.flow.enter_at_once(story.at(1), AttemptKind::First).is_none(),
        "nobody overtakes the queue"
    );
    for expected in ["a", "b", "c"] {
        let granted = story.granted(1);
        assert_eq!(granted.iter().map(|(name, _)| *name).collect::<Vec<_>>(), [expected]);
        story.flow.finish(story.at(2), granted[0].1, CallVerdict::Done);
    }
}

#[test]
fn a_call_that_leaves_is_gone() {
    let mut story = Story::new(1);
    let slot = story.flow.enter_at_once(story.at(0), AttemptKind::First).unwrap();
    let ticket = story.flow.enqueue(AttemptKind::First, "a");
    story.flow.enqueue(AttemptKind::First, "b");
    assert!(story.flow.leave(ticket));
    assert!(!story.flow.leave(ticket));
    story.flow.abandon(slot);
    assert_eq!(story.names(0), ["b"]);
}

#[test]
fn an_open_breaker_pauses_and_wakes_one_probe() {
    let mut story = Story::new(64);
    story.fail(0, 20);
    for name in ["a", "b", "c"] {
        story.flow.enqueue(AttemptKind::First, name);
    }
    assert!(story.granted(0).is_empty());
    assert_eq!(story.flow.wake_at(story.at(0)), Some(story.at(1000)));
    let probe = story.granted(1000);
    assert_eq!(probe.len(), 1);
    assert_eq!(story.flow.wake_at(story.at(1000)), None, "the end of the probe wakes the rest");
    story.flow.finish(story.at(1010), probe[0].1, CallVerdict::Done);
    assert_eq!(story.names(1010), ["b", "c"]);
}

#[test]
fn a_probe_given_up_passes_the_right_on() {
    let mut story = Story::new(64);
    story.fail(0, 20);
    story.flow.enqueue(AttemptKind::First, "a");
    story.flow.enqueue(AttemptKind::First, "b");
    let probe = story.granted(1000);
    story.flow.abandon(probe[0].1);
    assert_eq!(story.names(1000), ["b"]);
}

#[test]
fn a_probe_goes_out_although_old_calls_hang() {
    let mut story = Story::new(64);
    let hanging: Vec<_> =
        (0..10).map(|_| story.flow.enter_at_once(story.at(0), AttemptKind::First).unwrap()).collect();
    let wish = CallVerdict::Overloaded { retry_after: Some(Duration::from_secs(1)) };
    story.flow.finish(story.at(0), hanging[0], wish);
    story.flow.enqueue(AttemptKind::First, "a");
    story.flow.enqueue(AttemptKind::First, "b");
    assert_eq!(story.names(1000), ["a"]);
}

#[test]
fn retries_beyond_the_budget_wait_and_let_first_attempts_pass() {
    let mut story = Story::new(1000);
    let mut retried = 0;
    while let Some(slot) = story.flow.enter_at_once(story.at(0), AttemptKind::Retry) {
        story.flow.finish(story.at(0), slot, CallVerdict::Refused);
        let slot = story.flow.enter_at_once(story.at(0), AttemptKind::Retry).unwrap();
        story.flow.abandon(slot);
        retried += 1;
    }
    assert_eq!(retried, 10);
    story.flow.enqueue(AttemptKind::Retry, "retry");
    story.flow.enqueue(AttemptKind::First, "first");
    assert_eq!(story.names(0), ["first"]);
    let wake_at = story.flow.wake_at(story.at(0)).unwrap();
    assert!(wake_at <= story.at(101), "the floor of ten a second");
    assert_eq!(story.flow.grant(wake_at).unwrap().0, "retry");
}

#[test]
fn opening_the_breaker_makes_the_limit_begin_small() {
    let mut story = Story::new(64);
    story.fail(0, 20);
    assert_eq!(story.flow.snapshot(story.at(0)).limit, 2);
}

#[test]
fn a_call_never_tried_says_nothing() {
    let mut story = Story::new(64);
    for _ in 0..100 {
        let slot = story.flow.enter_at_once(story.at(0), AttemptKind::First).unwrap();
        story.flow.finish(story.at(0), slot, CallVerdict::Untried);
    }
    let snapshot = story.flow.snapshot(story.at(0));
    let counts = Counts { abandoned: 100, ..Counts::default() };
    let expected = Snapshot {
        limit: 16,
        in_flight: 0,
        waiting: 0,
        breaker: BreakerState::Closed,
        latency_p50: None,
        latency_p99: None,
        counts,
    };
    assert_eq!(snapshot, expected);
}

#[test]
fn every_result_has_its_verdict() {
    use bytes::Bytes;
    use http::HeaderMap;
    use http::header::RETRY_AFTER;
    use types::Timestamp;

    let answer = |status| ServiceResponse { status, headers: HeaderMap::new(), body: Bytes::new() };
    let mut wishing = answer(503);
    wishing.headers.insert(RETRY_AFTER, "7".parse().unwrap());
    let reason = String::new;
    let table = [
        (Ok(answer(204)), CallVerdict::Done),
        (Ok(answer(404)), CallVerdict::Refused),
        (Ok(answer(500)), CallVerdict::Failed),
        (Ok(answer(408)), CallVerdict::Failed),
        (Ok(answer(429)), CallVerdict::Overloaded { retry_after: None }),
        (Ok(wishing), CallVerdict::Overloaded { retry_after: Some(Duration::from_secs(7)) }),
        (Err(Fault::Timeout { sent: true }), CallVerdict::TimedOut),
        (Err(Fault::Timeout { sent: false }), CallVerdict::TimedOut),
        (Err(Fault::Lost { reason: reason() }), CallVerdict::Lost),
        (Err(Fault::BadAnswer { reason: reason() }), CallVerdict::Lost),
        (Err(Fault::Unsent { reason: reason() }), CallVerdict::Failed),
        (Err(Fault::Refused { reason: reason() }), CallVerdict::Untried),
        (Err(Fault::TooLarge { answer: Some(Box::new(answer(200))) }), CallVerdict::Done),
        (Err(Fault::TooLarge { answer: Some(Box::new(answer(500))) }), CallVerdict::Failed),
    ];
    for (result, verdict) in table {
        let sorted = crate::sort::sort(&result, Timestamp(0));
        assert_eq!(CallVerdict::of(&result, &sorted), verdict, "{result:?}");
    }
}
