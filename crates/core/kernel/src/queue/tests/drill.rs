//! A random mix of sends, consumers, ticks and changes, held against what must always be true.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = types::retry::mix(self.0.wrapping_add(1));
        self.0 % sides
    }
}

/// What the drill knows of a message from outside.
#[derive(Default)]
struct Known {
    deliveries: BTreeMap<MessageNo, u32>,
    gone: BTreeSet<MessageNo>,
    /// Who holds what until when.
    held: BTreeMap<MessageNo, (Taken, Timestamp)>,
    sent: BTreeSet<MessageNo>,
    session: BTreeMap<MessageNo, String>,
    completed: BTreeMap<String, Vec<MessageNo>>,
}

const DELIVERIES_MAX: u32 = 4;

fn spec(sessions: bool) -> QueueSpec {
    QueueSpec { sessions, deliveries_max: DELIVERIES_MAX, lock: Span::from_secs(5), ..QueueSpec::default() }
}

/// Plays one seed and checks every step.
fn play(seed: u64) {
    let mut dice = Dice(seed);
    let sessions = seed.is_multiple_of(2);
    let mut harness = Harness::new(spec(sessions));
    let mut known = Known::default();
    for step in 0..300 {
        match dice.roll(10) {
            0..=2 => send(&mut harness, &mut dice, &mut known, step),
            3..=5 => receive(&mut harness, &mut known),
            6..=7 => settle(&mut harness, &mut dice, &mut known),
            8 => harness.pass(Span::from_ms(dice.roll(4000))),
            _ => {
                let queue = harness.queues.find(&QueueRef::queue(name("q"))).unwrap();
                for no in dead(&harness.queues, queue) {
                    known.deliveries.remove(&no);
                }
                harness.queues.redrive(harness.now, queue, usize::MAX, &mut harness.changes);
            }
        }
        check(&harness, &known);
    }
    replay(&harness);
}

fn send(harness: &mut Harness, dice: &mut Dice, known: &mut Known, step: u64) {
    let session = format!("s{}", dice.roll(3));
    let mut message = Message::new(format!("m{step}"), "body");
    message.session = Some(session.clone());
    if dice.roll(4) == 0 {
        message.scheduled_at = Some(harness.now + Span::from_ms(dice.roll(6000)));
    }
    let SendResult::Taken(no) = harness.send_to("q", message) else { panic!("ids are new") };
    assert!(known.sent.insert(no), "a number is used once");
    known.session.insert(no, session);
}

fn receive(harness: &mut Harness, known: &mut Known) {
    let Some(taken) = harness.lock() else { return };
    let (_, until) = taken.lock.unwrap();
    assert!(!known.gone.contains(&taken.no), "{:?} was completed and came back", taken.no);
    if let Some((_, held_until)) = known.held.get(&taken.no) {
        assert!(*held_until <= harness.now, "{:?} is with two consumers", taken.no);
    }
    let deliveries = known.deliveries.entry(taken.no).or_default();
    *deliveries += 1;
    assert_eq!(taken.deliveries, *deliveries);
    assert!(*deliveries <= DELIVERIES_MAX, "{:?} is poison and was delivered again", taken.no);
    known.held.insert(taken.no, (taken, until));
}

fn settle(harness: &mut Harness, dice: &mut Dice, known: &mut Known) {
    let count = known.held.len() as u64;
    if count == 0 {
        return;
    }
    let chosen = usize::try_from(dice.roll(count)).unwrap();
    let no = *known.held.keys().nth(chosen).unwrap();
    let (taken, until) = known.held.remove(&no).unwrap();
    let how = match dice.roll(6) {
        0..=2 => Settle::Complete,
        3 => Settle::Abandon,
        4 => Settle::Renew,
        _ => Settle::DeadLetter { reason: "bad".to_owned(), description: String::new() },
    };
    let settled = harness.settle(&taken, how.clone());
    assert_eq!(settled.is_ok(), until > harness.now, "a lock counts until its end");
    if settled.is_err() {
        return;
    }
    match how {
        Settle::Complete => {
            known.gone.insert(no);
            known.completed.entry(known.session[&no].clone()).or_default().push(no);
        }
        Settle::Renew => drop(known.held.insert(no, (taken, settled.unwrap().unwrap()))),
        _ => {}
    }
}

fn dead(queues: &Queues, queue: QueueNo) -> Vec<MessageNo> {
    queues.queue(queue).unwrap().slots(SubQueue::Dead, MessageNo(0)).map(|(no, _)| no).collect()
}

/// What must be true at every moment.
fn check(harness: &Harness, known: &Known) {
    let queue = harness.queues.find(&QueueRef::queue(name("q"))).unwrap();
    let held = harness.queues.queue(queue).unwrap();
    let there: BTreeSet<MessageNo> = held.slots.keys().copied().collect();
    let expected: BTreeSet<MessageNo> = known.sent.difference(&known.gone).copied().collect();
    assert_eq!(there, expected, "every message is in the queue until it is completed");
    assert_eq!(harness.changes.freed.iter().copied().collect::<BTreeSet<_>>(), known.gone);
    if held.spec.sessions {
        let mut busy = BTreeSet::new();
        for (no, slot) in held.slots(SubQueue::Main, MessageNo(0)) {
            if matches!(slot.state, super::super::MessageState::Locked { .. }) {
                assert!(busy.insert(slot.session.clone()), "session of {no:?} is with two consumers");
            }
        }
    }
    let counts = held.counts();
    assert_eq!(counts.all(), there.len());
}

/// The same facts make the same queues, from the beginning and from a snapshot in between.
fn replay(harness: &Harness) {
    let mut replayed = Queues::default();
    let mut freed = Vec::new();
    let middle = harness.changes.facts.len() / 2;
    for (n, fact) in harness.changes.facts.iter().enumerate() {
        if n == middle {
            let bytes = postcard::to_stdvec(&replayed).unwrap();
            let restored = postcard::from_bytes::<Queues>(&bytes).unwrap().restore();
            assert_eq!(restored, replayed, "a snapshot holds all of it");
            replayed = restored;
        }
        replayed.evolve(fact, &mut freed);
    }
    assert_eq!(replayed, harness.queues);
    assert_eq!(freed, harness.changes.freed);
}

// guards: 25
#[test]
fn no_mix_of_consumers_breaks_a_promise() {
    for seed in 0..300 {
        play(seed);
    }
}

// guards: 27
#[test]
fn a_session_is_completed_in_order_when_nothing_is_set_aside() {
    for seed in 0..50 {
        let mut dice = Dice(seed);
        let mut harness = Harness::new(spec(true));
        let mut order: BTreeMap<String, Vec<MessageNo>> = BTreeMap::new();
        let mut done: BTreeMap<String, Vec<MessageNo>> = BTreeMap::new();
        for step in 0..60 {
            let session = format!("s{}", dice.roll(4));
            let no = harness.send_in_session(&format!("m{step}"), &session);
            order.entry(session).or_default().push(no);
        }
        let session_of: BTreeMap<MessageNo, String> =
            order.iter().flat_map(|(session, nos)| nos.iter().map(|no| (*no, session.clone()))).collect();
        while let Some(taken) = harness.lock() {
            match (taken.deliveries < DELIVERIES_MAX, dice.roll(3)) {
                (true, 0) => drop(harness.settle(&taken, Settle::Abandon).unwrap()),
                (true, 1) => harness.pass(Span::from_secs(5)),
                _ => {
                    harness.settle(&taken, Settle::Complete).unwrap();
                    done.entry(session_of[&taken.no].clone()).or_default().push(taken.no);
                }
            }
        }
        assert_eq!(done, order);
    }
}

#[test]
fn a_replay_notices_a_fact_of_a_message_that_has_left() {
    let mut harness = Harness::new(QueueSpec::default());
    let no = harness.send("a");
    let queue = harness.queues.find(&QueueRef::queue(name("q"))).unwrap();
    let left = MessageFact::Left { how: Left::Completed };
    let fact = QueueFact::Message { queue, no, at: harness.now, fact: left };
    harness.queues.evolve(&fact, &mut Vec::new());
    let twice = std::panic::catch_unwind(move || harness.queues.evolve(&fact, &mut Vec::new()));
    assert!(twice.is_err());
}
