//! Queues in a plan: what senders, consumers and an operator do, and how that is drawn.

use serde::{Deserialize, Serialize};
use types::{QueueSpec, Span, TopicSpec};

use super::draw::LENGTH_MS;
use super::{Operation, Timed};
use crate::rng::Rng;

/// Something that is done to queues, or with their messages. Places are numbers, observe [`crate::traffic`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueueOperation {
    /// A queue or a subscription is made or changed.
    Put {
        place: u8,
        spec: Box<QueueSpec>,
    },
    PutTopic {
        spec: TopicSpec,
    },
    /// It goes with all its messages.
    Delete {
        place: u8,
    },
    Send(Send),
    /// The sender who came as number `n` sends the same once more, whatever became of it.
    Again {
        n: u32,
    },
    Consume(Consume),
    Redrive {
        place: u8,
        max: u8,
    },
    Purge {
        place: u8,
        dead: bool,
    },
}

/// One or more messages, sent together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Send {
    pub place: u8,
    pub count: u8,
    pub red: bool,
    pub session: Option<u8>,
    pub time_to_live_ms: Option<u64>,
    pub delay_ms: Option<u64>,
    pub body_bytes: u16,
    /// The sender chooses the ids, and those of a repetition are the same.
    pub own_id: bool,
}

/// A consumer who comes several times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consume {
    pub place: u8,
    pub dead: bool,
    pub visits: u8,
    /// How long until it comes again.
    pub pause_ms: u64,
    pub max: u8,
    pub patience_ms: u64,
    /// It goes away before it is answered.
    pub leave_after_ms: Option<u64>,
    pub session: Option<u8>,
    pub delete: bool,
    pub lock_ms: Option<u64>,
    pub habit: Habit,
    pub think_ms: u64,
}

/// What a consumer does with what it has received, when it has thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Habit {
    Complete,
    Abandon,
    DeadLetter,
    /// It keeps it for longer, and completes it.
    Renew,
    /// It is killed and never comes back to it.
    Forget,
    /// It completes what it has completed already.
    Repeat,
    Mixed,
}

/// A plain queue, one with sessions, two subscriptions of a topic, and the topic.
pub const PLAIN: u8 = 0;
pub const SESSIONS: u8 = 1;
pub const ALL: u8 = 2;
pub const RED: u8 = 3;
pub const TOPIC: u8 = 4;

/// What happens to queues; nothing in half of the plans.
pub fn draw(rng: &mut Rng) -> Vec<Timed> {
    if rng.one_in(2) {
        return Vec::new();
    }
    let mut operations = Vec::new();
    let chosen = rng.pick(&[&[PLAIN][..], &[SESSIONS], &[TOPIC], &[PLAIN, SESSIONS], &[PLAIN, TOPIC]]);
    let mut senders = 0;
    for entity in chosen {
        let places: &[u8] = if *entity == TOPIC { &[ALL, RED] } else { std::slice::from_ref(entity) };
        make(rng, *entity, places, 0, &mut operations);
        send(rng, *entity, &mut senders, &mut operations);
        for place in places {
            consume(rng, *place, &mut operations);
            operate(rng, *place, &mut operations);
        }
        if rng.one_in(4) {
            let at = rng.below(LENGTH_MS);
            operations.push(timed(at, QueueOperation::Delete { place: *entity }));
            let remade_at = at + rng.below(3000);
            make(rng, *entity, places, remade_at, &mut operations);
        }
    }
    operations
}

fn make(rng: &mut Rng, entity: u8, places: &[u8], at: u64, operations: &mut Vec<Timed>) {
    if entity == TOPIC {
        let time_to_live = rng.pick(&[None, None, None, Some(Span::from_secs(8))]);
        let duplicate_window = window(rng);
        operations
            .push(timed(at, QueueOperation::PutTopic { spec: TopicSpec { time_to_live, duplicate_window } }));
    }
    for place in places {
        operations.push(timed(at, put(rng, *place)));
    }
}

fn put(rng: &mut Rng, place: u8) -> QueueOperation {
    let spec = QueueSpec {
        lock: Span::from_ms(rng.pick(&[200, 2000, 15_000])),
        time_to_live: rng.pick(&[None, None, None, Some(Span::from_ms(4000)), Some(Span::from_secs(20))]),
        deliveries_max: rng.pick(&[1, 2, 3, 10]),
        dead_letter_expired: rng.one_in(2),
        duplicate_window: window(rng),
        sessions: place == SESSIONS,
        messages_max: rng.pick(&[5, 1000, 1000]),
        ..QueueSpec::default()
    };
    QueueOperation::Put { place, spec: Box::new(spec) }
}

fn window(rng: &mut Rng) -> Span {
    Span::from_secs(rng.pick(&[0, 5, 600, 600]))
}

fn send(rng: &mut Rng, place: u8, senders: &mut u32, operations: &mut Vec<Timed>) {
    for _ in 0..rng.between(2, 7) {
        let at = rng.below(LENGTH_MS * 3 / 4);
        let send = Send {
            place,
            count: rng.pick(&[1, 1, 1, 2, 4]),
            red: rng.one_in(2),
            session: (place == SESSIONS).then(|| rng.below(2) as u8),
            time_to_live_ms: rng.pick(&[None, None, None, Some(1500), Some(30_000)]),
            delay_ms: rng.pick(&[None, None, None, Some(700), Some(12_000)]),
            body_bytes: rng.pick(&[0, 20, 20, 900]),
            own_id: !rng.one_in(4),
        };
        operations.push(timed(at, QueueOperation::Send(send)));
        if rng.one_in(4) {
            operations.push(timed(at + rng.below(8000), QueueOperation::Again { n: *senders }));
        }
        *senders += 1;
    }
}

fn consume(rng: &mut Rng, place: u8, operations: &mut Vec<Timed>) {
    for _ in 0..rng.between(1, 4) {
        let patience_ms = rng.pick(&[0, 300, 5000, 20_000]);
        let consume = Consume {
            place,
            dead: rng.one_in(6),
            visits: rng.pick(&[1, 2, 5]),
            pause_ms: rng.pick(&[10, 500, 4000]),
            max: rng.pick(&[1, 1, 3]),
            patience_ms,
            leave_after_ms: rng.one_in(5).then(|| rng.pick(&[1, 3, 20, 2000])),
            session: (place == SESSIONS && rng.one_in(3)).then(|| rng.below(2) as u8),
            delete: rng.one_in(6),
            lock_ms: rng.pick(&[None, None, None, Some(1000)]),
            habit: habit(rng),
            // Some come back in the very moment in which their lock expires.
            think_ms: rng.pick(&[0, 0, 150, 200, 1000, 1500, 2000, 3000]),
        };
        operations.push(timed(rng.below(LENGTH_MS), QueueOperation::Consume(consume)));
    }
}

fn habit(rng: &mut Rng) -> Habit {
    rng.pick(&[
        Habit::Complete,
        Habit::Abandon,
        Habit::DeadLetter,
        Habit::Renew,
        Habit::Forget,
        Habit::Repeat,
        Habit::Mixed,
        Habit::Mixed,
    ])
}

fn operate(rng: &mut Rng, place: u8, operations: &mut Vec<Timed>) {
    for _ in 0..rng.below(3) {
        let operation = QueueOperation::Redrive { place, max: rng.pick(&[1, 100]) };
        operations.push(timed(LENGTH_MS / 4 + rng.below(LENGTH_MS * 3 / 4), operation));
    }
    if rng.one_in(3) {
        let operation = put(rng, place);
        operations.push(timed(rng.below(LENGTH_MS), operation));
    }
    if matches!(place, ALL | RED) && rng.one_in(6) {
        let at = rng.below(LENGTH_MS);
        operations.push(timed(at, QueueOperation::Delete { place }));
        let remade = put(rng, place);
        operations.push(timed(at + rng.below(3000), remade));
    }
    if rng.one_in(8) {
        operations.push(timed(rng.below(LENGTH_MS), QueueOperation::Purge { place, dead: rng.one_in(2) }));
    }
}

fn timed(at: u64, operation: QueueOperation) -> Timed {
    Timed { at, operation: Operation::Queues(operation) }
}
