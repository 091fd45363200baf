//! The promises of queues, each by itself and under a random mix of everything.

mod drill;

use types::{Filter, Message, QueueName, QueueSpec, Span, Timestamp, TopicSpec, Uid};

use super::{
    Changes, Left, MessageFact, MessageNo, QueueFact, QueueNo, QueueRef, QueueRejection, Queues, SendResult,
    Settle, SubQueue, Take, Taken,
};

const LOCK: Span = Span::from_secs(60);

/// Queues whose time the test sets.
struct Harness {
    queues: Queues,
    now: Timestamp,
    tokens: u128,
    changes: Changes,
}

impl Harness {
    fn new(spec: QueueSpec) -> Harness {
        let mut harness = Harness {
            queues: Queues::default(),
            now: Timestamp(1_000_000),
            tokens: 0,
            changes: Changes::default(),
        };
        harness.queues.put_queue(harness.now, &name("q"), &spec, &mut harness.changes).unwrap();
        harness
    }

    fn topic(filters: &[(&str, Filter)]) -> Harness {
        let mut harness = Harness::new(QueueSpec::default());
        harness
            .queues
            .put_topic(harness.now, &name("t"), &TopicSpec::default(), &mut harness.changes)
            .unwrap();
        for (subscription, filter) in filters {
            let spec = QueueSpec::default();
            let (topic, own) = (name("t"), name(subscription));
            harness
                .queues
                .put_subscription(harness.now, &topic, &own, &spec, filter, &mut harness.changes)
                .unwrap();
        }
        harness
    }

    fn send_to(&mut self, to: &str, message: Message) -> SendResult {
        let messages = vec![(message, true)];
        self.queues.send(self.now, &name(to), messages, &mut self.changes).unwrap()[0]
    }

    fn send(&mut self, id: &str) -> MessageNo {
        match self.send_to("q", Message::new(id.to_owned(), "body")) {
            SendResult::Taken(no) => no,
            SendResult::Duplicate => panic!("{id} is new"),
        }
    }

    fn send_in_session(&mut self, id: &str, session: &str) -> MessageNo {
        let mut message = Message::new(id.to_owned(), "body");
        message.session = Some(session.to_owned());
        match self.send_to("q", message) {
            SendResult::Taken(no) => no,
            SendResult::Duplicate => panic!("{id} is new"),
        }
    }

    fn lock_from(&mut self, at: &QueueRef, sub_queue: SubQueue, session: Option<&str>) -> Option<Taken> {
        self.tokens += 1;
        let take = Take::Lock { token: Uid(self.tokens.to_be_bytes()), lock: None };
        let queue = self.queues.find(at).unwrap();
        self.queues.receive(self.now, queue, sub_queue, session, &take, &mut self.changes)
    }

    fn lock(&mut self) -> Option<Taken> {
        self.lock_from(&QueueRef::queue(name("q")), SubQueue::Main, None)
    }

    fn settle(&mut self, taken: &Taken, how: Settle) -> Result<Option<Timestamp>, QueueRejection> {
        let (token, _) = taken.lock.expect("it was locked");
        let queue = self.queues.find(&QueueRef::queue(name("q"))).unwrap();
        self.queues.settle(self.now, queue, token, &how, &mut self.changes)
    }

    fn pass(&mut self, span: Span) {
        self.now = self.now + span;
        self.queues.tick(self.now, &mut self.changes);
    }

    fn count(&self) -> super::Counts {
        let queue = self.queues.find(&QueueRef::queue(name("q"))).unwrap();
        self.queues.queue(queue).unwrap().counts()
    }
}

fn name(text: &str) -> QueueName {
    QueueName::new(text).unwrap()
}

// guards: 25
#[test]
fn a_locked_message_is_nobody_elses_until_its_lock_expires() {
    let mut harness = Harness::new(QueueSpec::default());
    let no = harness.send("a");
    let first = harness.lock().unwrap();
    assert_eq!((first.no, first.deliveries), (no, 1));
    assert_eq!(harness.lock(), None);
    harness.pass(Span::from_ms(LOCK.as_ms() - 1));
    assert_eq!(harness.lock(), None, "a millisecond before the lock's end");
    harness.pass(Span::from_ms(1));
    let second = harness.lock().unwrap();
    assert_eq!((second.no, second.deliveries), (no, 2));
    assert_eq!(harness.settle(&first, Settle::Complete), Err(QueueRejection::LockLost));
    assert_eq!(harness.settle(&second, Settle::Complete), Ok(None));
    harness.pass(LOCK);
    assert_eq!(harness.lock(), None, "what was completed does not come back");
    assert_eq!(harness.changes.freed, [no]);
}

#[test]
fn a_consumer_is_late_even_before_the_tick() {
    let mut harness = Harness::new(QueueSpec::default());
    harness.send("a");
    let taken = harness.lock().unwrap();
    harness.now = harness.now + LOCK;
    assert_eq!(harness.settle(&taken, Settle::Complete), Err(QueueRejection::LockLost));
}

#[test]
fn a_renewed_lock_lasts_longer() {
    let mut harness = Harness::new(QueueSpec::default());
    harness.send("a");
    let taken = harness.lock().unwrap();
    harness.pass(Span::from_secs(50));
    assert_eq!(harness.settle(&taken, Settle::Renew), Ok(Some(harness.now + LOCK)));
    harness.pass(Span::from_secs(50));
    assert_eq!(harness.lock(), None);
    assert_eq!(harness.settle(&taken, Settle::Complete), Ok(None));
}

// guards: 28
#[test]
fn a_poison_message_becomes_a_dead_letter_after_its_count() {
    let mut harness = Harness::new(QueueSpec { deliveries_max: 3, ..QueueSpec::default() });
    let no = harness.send("a");
    for delivery in 1..=3 {
        let taken = harness.lock().unwrap();
        assert_eq!(taken.deliveries, delivery);
        if delivery == 2 {
            harness.settle(&taken, Settle::Abandon).unwrap();
        } else {
            harness.pass(LOCK);
        }
    }
    assert_eq!(harness.lock(), None);
    let dead = harness.lock_from(&QueueRef::queue(name("q")), SubQueue::Dead, None).unwrap();
    assert_eq!(dead.no, no);
    assert_eq!(dead.dead.as_ref().unwrap().reason, "MaxDeliveryCountExceeded");
    harness.settle(&dead, Settle::Abandon).unwrap();

    let queue = harness.queues.find(&QueueRef::queue(name("q"))).unwrap();
    assert_eq!(harness.queues.redrive(harness.now, queue, 10, &mut harness.changes), 1);
    let again = harness.lock().unwrap();
    assert_eq!((again.no, again.deliveries, again.dead.is_none()), (no, 1, true));
}

#[test]
fn a_message_that_never_reached_its_consumer_was_not_delivered() {
    let mut harness = Harness::new(QueueSpec { deliveries_max: 1, ..QueueSpec::default() });
    harness.send("a");
    for _ in 0..5 {
        let taken = harness.lock().unwrap();
        assert_eq!(taken.deliveries, 1);
        harness.settle(&taken, Settle::Release).unwrap();
    }
    assert_eq!(harness.count().dead, 0);
}

#[test]
fn an_id_is_taken_once_within_its_window() {
    let mut harness =
        Harness::new(QueueSpec { duplicate_window: Span::from_secs(10), ..QueueSpec::default() });
    harness.send("a");
    assert_eq!(harness.send_to("q", Message::new("a", "other")), SendResult::Duplicate);
    let taken = harness.lock().unwrap();
    harness.settle(&taken, Settle::Complete).unwrap();
    assert_eq!(harness.send_to("q", Message::new("a", "other")), SendResult::Duplicate, "completed or not");
    harness.pass(Span::from_secs(10));
    assert!(matches!(harness.send_to("q", Message::new("a", "other")), SendResult::Taken(_)));
    assert_eq!(harness.send_to("q", Message::new("a", "other")), SendResult::Duplicate);
}

#[test]
fn a_duplicate_is_reported_as_such_even_when_the_queue_is_full() {
    let mut harness = Harness::new(QueueSpec { messages_max: 1, ..QueueSpec::default() });
    harness.send("a");
    assert_eq!(harness.send_to("q", Message::new("a", "body")), SendResult::Duplicate);
    let both = ["a", "b"].map(|id| (Message::new(id, "body"), true)).to_vec();
    let refused = harness.queues.send(harness.now, &name("q"), both.clone(), &mut harness.changes);
    assert!(matches!(refused, Err(QueueRejection::Full { .. })), "{refused:?}");
    let taken = harness.lock().unwrap();
    harness.settle(&taken, Settle::Complete).unwrap();
    let sent = harness.queues.send(harness.now, &name("q"), both, &mut harness.changes).unwrap();
    assert!(matches!(sent[..], [SendResult::Duplicate, SendResult::Taken(_)]), "{sent:?}");
}

#[test]
fn ids_are_forgotten_when_their_window_has_passed_without_another_send() {
    let window = Span::from_secs(600);
    let spec = QueueSpec { duplicate_window: window, ..QueueSpec::default() };
    let mut harness = Harness::new(spec.clone());
    harness.queues.put_topic(harness.now, &name("t"), &TopicSpec::default(), &mut harness.changes).unwrap();
    for n in 0..100 {
        harness.send(&n.to_string());
        harness.send_to("t", Message::new(n.to_string(), ""));
    }
    let remembered =
        |harness: &Harness| ["q", "t"].map(|at| harness.queues.seen_of(&name(at)).unwrap().0.held());
    assert_eq!(remembered(&harness), [100, 100]);
    harness.pass(Span::from_ms(window.as_ms() - 1));
    assert_eq!(harness.send_to("q", Message::new("99", "")), SendResult::Duplicate);
    let woken = harness.queues.wake_at().unwrap();
    assert!(woken.since(harness.now) <= Span::from_secs(120), "{woken:?} is soon after {:?}", harness.now);
    harness.pass(Span::from_secs(120));
    assert_eq!(remembered(&harness), [0, 0]);
    assert_eq!(harness.queues.wake_at(), None, "nothing more is to be done");

    // A shorter window applies at once.
    harness.send("late");
    let shorter = QueueSpec { duplicate_window: Span::ZERO, ..spec };
    harness.queues.put_queue(harness.now, &name("q"), &shorter, &mut harness.changes).unwrap();
    assert_eq!((remembered(&harness), harness.queues.wake_at()), ([0, 0], None));

    let mut replayed = Queues::default();
    for fact in &harness.changes.facts {
        replayed.evolve(fact, &mut Vec::new());
    }
    assert_eq!(replayed, harness.queues, "the same facts make the same queues");
    let bytes = serde_json::to_vec(&harness.queues).unwrap();
    assert_eq!(serde_json::from_slice::<Queues>(&bytes).unwrap().restore(), harness.queues);
}

#[test]
fn a_clock_that_went_back_does_not_keep_ids_awake() {
    let mut harness = Harness::new(QueueSpec::default());
    for (step, id) in [(0, "a"), (3_600_000, "b"), (-3_000_000, "c")] {
        harness.now = Timestamp(harness.now.0 + step);
        harness.send(id);
    }
    let facts = harness.changes.facts.len();
    for _ in 0..200 {
        harness.pass(Span::from_secs(60));
    }
    assert_eq!(harness.queues.wake_at(), None);
    assert!(harness.changes.facts.len() - facts <= 3, "{:?}", &harness.changes.facts[facts..]);
}

#[test]
fn dead_letters_are_received_by_session_too() {
    let mut harness = Harness::new(QueueSpec { sessions: true, ..QueueSpec::default() });
    let (a, b) = (harness.send_in_session("1", "a"), harness.send_in_session("2", "b"));
    let buried = Settle::DeadLetter { reason: String::new(), description: String::new() };
    while let Some(taken) = harness.lock() {
        harness.settle(&taken, buried.clone()).unwrap();
    }
    let queue = QueueRef::queue(name("q"));
    let dead = |harness: &mut Harness, session| {
        harness.lock_from(&queue, SubQueue::Dead, session).map(|taken| taken.no)
    };
    assert_eq!(dead(&mut harness, Some("b")), Some(b));
    assert_eq!(dead(&mut harness, Some("b")), None);
    assert_eq!(dead(&mut harness, Some("c")), None);
    assert_eq!(dead(&mut harness, None), Some(a));
    let held = harness.queues.queue(harness.queues.find(&queue).unwrap()).unwrap();
    let listed = |sub_queue| held.slots(sub_queue, MessageNo(0)).map(|(no, _)| no).collect::<Vec<_>>();
    assert_eq!((listed(SubQueue::Dead), listed(SubQueue::Main)), (vec![a, b], Vec::new()));
}

#[test]
fn what_is_scheduled_comes_at_its_time_and_what_expires_goes() {
    let mut harness = Harness::new(QueueSpec { dead_letter_expired: true, ..QueueSpec::default() });
    let mut message = Message::new("later", "body");
    message.scheduled_at = Some(harness.now + Span::from_secs(5));
    message.time_to_live = Some(Span::from_secs(10));
    harness.send_to("q", message);
    assert_eq!((harness.lock(), harness.count().scheduled), (None, 1));
    harness.pass(Span::from_secs(5));
    let taken = harness.lock().unwrap();
    assert_eq!(taken.enqueued_at, harness.now);
    harness.settle(&taken, Settle::Abandon).unwrap();
    harness.now = harness.now + Span::from_secs(10);
    assert_eq!(harness.lock(), None, "expired, although nobody looked at the clock");
    let dead = harness.lock_from(&QueueRef::queue(name("q")), SubQueue::Dead, None).unwrap();
    assert_eq!(dead.dead.unwrap().reason, "TTLExpiredException");
}

#[test]
fn messages_of_a_session_are_handled_one_after_another() {
    let mut harness = Harness::new(QueueSpec { sessions: true, ..QueueSpec::default() });
    let a1 = harness.send_in_session("a1", "a");
    let a2 = harness.send_in_session("a2", "a");
    let b1 = harness.send_in_session("b1", "b");
    let first = harness.lock().unwrap();
    assert_eq!(first.no, a1);
    let second = harness.lock().unwrap();
    assert_eq!(second.no, b1, "a's next waits for its first");
    assert_eq!(harness.lock(), None);
    harness.settle(&first, Settle::Abandon).unwrap();
    assert_eq!(harness.lock().unwrap().no, a1, "order holds over a failure");
    harness.pass(LOCK);
    let queue = QueueRef::queue(name("q"));
    let again = harness.lock_from(&queue, SubQueue::Main, Some("a")).unwrap();
    harness.settle(&again, Settle::Complete).unwrap();
    assert_eq!(harness.lock_from(&queue, SubQueue::Main, Some("a")).unwrap().no, a2);
    let unnamed = harness.queues.send(
        harness.now,
        &name("q"),
        vec![(Message::new("x", ""), true)],
        &mut harness.changes,
    );
    assert_eq!(unnamed, Err(QueueRejection::SessionNeeded("q".to_owned())));
}

#[test]
fn a_topic_reaches_every_subscription_that_wants_it_and_keeps_one_body() {
    let paid = Filter { label: Some("paid".to_owned()), ..Filter::default() };
    let mut harness = Harness::topic(&[("all", Filter::default()), ("paid", paid)]);
    let mut message = Message::new("1", "body");
    message.label = Some("paid".to_owned());
    let SendResult::Taken(both) = harness.send_to("t", message) else { panic!("it is new") };
    let SendResult::Taken(one) = harness.send_to("t", Message::new("2", "body")) else { panic!("it is new") };
    let at = |own: &str| QueueRef::subscription(name("t"), name(own));
    let take = |harness: &mut Harness, own: &str| {
        let queue = harness.queues.find(&at(own)).unwrap();
        let taken = harness.queues.receive(
            harness.now,
            queue,
            SubQueue::Main,
            None,
            &Take::Delete,
            &mut harness.changes,
        );
        taken.map(|taken| taken.no)
    };
    assert_eq!(take(&mut harness, "paid"), Some(both));
    assert_eq!(take(&mut harness, "paid"), None);
    assert_eq!(harness.changes.freed, []);
    assert_eq!(take(&mut harness, "all"), Some(both));
    assert_eq!(harness.changes.freed, [both]);
    harness.queues.delete(&QueueRef::queue(name("t")), &mut harness.changes).unwrap();
    assert_eq!(harness.changes.freed, [both, one]);
    assert_eq!(harness.queues.wake_at(), None);
}

#[test]
fn a_send_that_does_not_fit_changes_nothing() {
    let mut harness = Harness::new(QueueSpec { messages_max: 2, ..QueueSpec::default() });
    harness.send("a");
    let before = harness.queues.clone();
    let two = ["b", "c"].map(|id| (Message::new(id, ""), true)).to_vec();
    let refused = harness.queues.send(harness.now, &name("q"), two, &mut harness.changes);
    assert!(matches!(refused, Err(QueueRejection::Full { messages: 1, messages_max: 2, .. })), "{refused:?}");
    assert_eq!(harness.queues, before);
    let large = vec![(Message::new("l", vec![0; 320 << 10]), true)];
    let refused = harness.queues.send(harness.now, &name("q"), large, &mut harness.changes);
    assert!(matches!(refused, Err(QueueRejection::TooLarge { .. })), "{refused:?}");
    let many = (0..5).map(|n| (Message::new(n.to_string(), vec![0; 250 << 10]), true)).collect();
    let refused = harness.queues.send(harness.now, &name("q"), many, &mut harness.changes);
    assert!(matches!(refused, Err(QueueRejection::TooMuch { .. })), "{refused:?}");
    assert_eq!(harness.queues, before);
    let nobody = harness.queues.send(harness.now, &name("x"), Vec::new(), &mut harness.changes);
    assert_eq!(nobody, Err(QueueRejection::NotFound(name("x"))));
}

#[test]
fn what_expired_in_great_number_is_passed_over_in_parts() {
    let spec = QueueSpec {
        time_to_live: Some(Span::from_secs(1)),
        dead_letter_expired: true,
        ..QueueSpec::default()
    };
    let mut harness = Harness::new(spec);
    for n in 0..1200 {
        harness.send(&n.to_string());
    }
    harness.now = harness.now + Span::from_secs(2);
    let fresh = harness.send("fresh");
    let facts = harness.changes.facts.len();
    assert_eq!(harness.lock(), None, "the rest is left to the next look");
    assert_eq!(harness.changes.facts.len() - facts, 500);
    assert_eq!(harness.lock(), None);
    let taken = harness.lock().unwrap();
    assert_eq!((taken.no, harness.count().dead), (fresh, 1200));
}

#[test]
fn a_renewal_never_shortens_a_lock() {
    let mut harness = Harness::new(QueueSpec::default());
    harness.send("a");
    let queue = harness.queues.find(&QueueRef::queue(name("q"))).unwrap();
    let take = Take::Lock { token: Uid([7; 16]), lock: Some(Span::from_secs(3600)) };
    let taken = harness
        .queues
        .receive(harness.now, queue, SubQueue::Main, None, &take, &mut harness.changes)
        .unwrap();
    let (_, until) = taken.lock.unwrap();
    harness.pass(Span::from_secs(60));
    assert_eq!(harness.settle(&taken, Settle::Renew), Ok(Some(until)));
}

#[test]
fn a_send_to_very_many_subscriptions_is_refused_before_it_is_too_large() {
    let names: Vec<String> = (0..300).map(|n| format!("s{n}")).collect();
    let filters: Vec<(&str, Filter)> = names.iter().map(|own| (own.as_str(), Filter::default())).collect();
    let mut harness = Harness::topic(&filters);
    let many = (0..400).map(|n| (Message::new(n.to_string(), ""), true)).collect();
    let refused = harness.queues.send(harness.now, &name("t"), many, &mut harness.changes);
    assert!(matches!(refused, Err(QueueRejection::TooMuch { .. })), "{refused:?}");
    let mut wide = Message::new("w", "");
    wide.properties = (0..65).map(|n| (n.to_string(), "x".into())).collect();
    let refused = harness.queues.send(harness.now, &name("t"), vec![(wide, true)], &mut harness.changes);
    assert!(matches!(refused, Err(QueueRejection::TooManyProperties { max: 64 })), "{refused:?}");
}
