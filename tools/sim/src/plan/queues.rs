//! Queues in a plan: what senders, consumers and an operator do, and how that is drawn.

use serde::{Deserialize, Serialize};
use types::{QueueSpec, Span, TopicSpec};

use super::draw::LENGTH_MS;
use super::{Deed, Timed};
use crate::dice::Dice;

/// Something that is done to queues, or with their messages. Places are numbers, see [`crate::traffic`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueueDeed {
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
pub fn draw(dice: &mut Dice) -> Vec<Timed> {
    if dice.one_in(2) {
        return Vec::new();
    }
    let mut deeds = Vec::new();
    let chosen = dice.pick(&[&[PLAIN][..], &[SESSIONS], &[TOPIC], &[PLAIN, SESSIONS], &[PLAIN, TOPIC]]);
    let mut senders = 0;
    for entity in chosen {
        let places: &[u8] = if *entity == TOPIC { &[ALL, RED] } else { std::slice::from_ref(entity) };
        make(dice, *entity, places, 0, &mut deeds);
        send(dice, *entity, &mut senders, &mut deeds);
        for place in places {
            consume(dice, *place, &mut deeds);
            operate(dice, *place, &mut deeds);
        }
        if dice.one_in(4) {
            let at = dice.below(LENGTH_MS);
            deeds.push(timed(at, QueueDeed::Delete { place: *entity }));
            let remade_at = at + dice.below(3000);
            make(dice, *entity, places, remade_at, &mut deeds);
        }
    }
    deeds
}

fn make(dice: &mut Dice, entity: u8, places: &[u8], at: u64, deeds: &mut Vec<Timed>) {
    if entity == TOPIC {
        let time_to_live = dice.pick(&[None, None, None, Some(Span::from_secs(8))]);
        let duplicate_window = window(dice);
        deeds.push(timed(at, QueueDeed::PutTopic { spec: TopicSpec { time_to_live, duplicate_window } }));
    }
    for place in places {
        deeds.push(timed(at, put(dice, *place)));
    }
}

fn put(dice: &mut Dice, place: u8) -> QueueDeed {
    let spec = QueueSpec {
        lock: Span::from_ms(dice.pick(&[200, 2000, 15_000])),
        time_to_live: dice.pick(&[None, None, None, Some(Span::from_ms(4000)), Some(Span::from_secs(20))]),
        deliveries_max: dice.pick(&[1, 2, 3, 10]),
        dead_letter_expired: dice.one_in(2),
        duplicate_window: window(dice),
        sessions: place == SESSIONS,
        messages_max: dice.pick(&[5, 1000, 1000]),
        ..QueueSpec::default()
    };
    QueueDeed::Put { place, spec: Box::new(spec) }
}

fn window(dice: &mut Dice) -> Span {
    Span::from_secs(dice.pick(&[0, 5, 600, 600]))
}

fn send(dice: &mut Dice, place: u8, senders: &mut u32, deeds: &mut Vec<Timed>) {
    for _ in 0..dice.between(2, 7) {
        let at = dice.below(LENGTH_MS * 3 / 4);
        let send = Send {
            place,
            count: dice.pick(&[1, 1, 1, 2, 4]),
            red: dice.one_in(2),
            session: (place == SESSIONS).then(|| dice.below(2) as u8),
            time_to_live_ms: dice.pick(&[None, None, None, Some(1500), Some(30_000)]),
            delay_ms: dice.pick(&[None, None, None, Some(700), Some(12_000)]),
            body_bytes: dice.pick(&[0, 20, 20, 900]),
            own_id: !dice.one_in(4),
        };
        deeds.push(timed(at, QueueDeed::Send(send)));
        if dice.one_in(4) {
            deeds.push(timed(at + dice.below(8000), QueueDeed::Again { n: *senders }));
        }
        *senders += 1;
    }
}

fn consume(dice: &mut Dice, place: u8, deeds: &mut Vec<Timed>) {
    for _ in 0..dice.between(1, 4) {
        let patience_ms = dice.pick(&[0, 300, 5000, 20_000]);
        let consume = Consume {
            place,
            dead: dice.one_in(6),
            visits: dice.pick(&[1, 2, 5]),
            pause_ms: dice.pick(&[10, 500, 4000]),
            max: dice.pick(&[1, 1, 3]),
            patience_ms,
            leave_after_ms: dice.one_in(5).then(|| dice.pick(&[1, 3, 20, 2000])),
            session: (place == SESSIONS && dice.one_in(3)).then(|| dice.below(2) as u8),
            delete: dice.one_in(6),
            lock_ms: dice.pick(&[None, None, None, Some(1000)]),
            habit: habit(dice),
            // Some come back in the very moment in which their lock expires.
            think_ms: dice.pick(&[0, 0, 150, 200, 1000, 1500, 2000, 3000]),
        };
        deeds.push(timed(dice.below(LENGTH_MS), QueueDeed::Consume(consume)));
    }
}

fn habit(dice: &mut Dice) -> Habit {
    dice.pick(&[
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

fn operate(dice: &mut Dice, place: u8, deeds: &mut Vec<Timed>) {
    for _ in 0..dice.below(3) {
        let deed = QueueDeed::Redrive { place, max: dice.pick(&[1, 100]) };
        deeds.push(timed(LENGTH_MS / 4 + dice.below(LENGTH_MS * 3 / 4), deed));
    }
    if dice.one_in(3) {
        let deed = put(dice, place);
        deeds.push(timed(dice.below(LENGTH_MS), deed));
    }
    if matches!(place, ALL | RED) && dice.one_in(6) {
        let at = dice.below(LENGTH_MS);
        deeds.push(timed(at, QueueDeed::Delete { place }));
        let remade = put(dice, place);
        deeds.push(timed(at + dice.below(3000), remade));
    }
    if dice.one_in(8) {
        deeds.push(timed(dice.below(LENGTH_MS), QueueDeed::Purge { place, dead: dice.one_in(2) }));
    }
}

fn timed(at: u64, deed: QueueDeed) -> Timed {
    Timed { at, deed: Deed::Queues(deed) }
}
