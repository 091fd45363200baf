//! Which situations of queues durable events tell of.

use kernel::Event;
use kernel::queue::{Left, MessageFact, QueueFact, QueueNo};

use crate::coverage::{Coverage, Sometimes};
use crate::depot::{Held, Kept, Stands, Stock};
use crate::sighting::Durable;

pub fn note(coverage: &mut Coverage, durable: &Durable<'_>) {
    let Event::Queue(fact) = durable.event else { return };
    let Some(stock) = durable.depot.stocks.get(&durable.partition) else { return };
    match &**fact {
        QueueFact::Message { queue, no, at, fact } => {
            if let Some((held, kept)) = durable.depot.kept(durable.partition, *queue, *no) {
                let expired = matches!(kept.stands, Stands::With { until, .. } if until <= *at);
                if let Some(case) = of_message(kept, fact, expired) {
                    coverage.note(case);
                }
                if let MessageFact::Locked { .. } = fact
                    && waits_in_session(held, kept)
                {
                    coverage.note(Sometimes::SessionWaited);
                }
            }
        }
        QueueFact::Sent(sent) => {
            if stock.named.get(&sent.name).is_some_and(|named| named.to.len() > sent.to.len()) {
                coverage.note(Sometimes::FilterLeftOut);
            }
        }
        QueueFact::Deleted { name } => {
            let to = stock.named.get(name).into_iter().flat_map(|named| named.to.keys());
            if to.filter_map(|no| stock.queues.get(no)).any(|held| !held.messages.is_empty()) {
                coverage.note(Sometimes::QueueDeleted);
            }
        }
        QueueFact::QueuePut { no, .. } | QueueFact::SubscriptionPut { no, .. } => {
            note_put(coverage, stock, *no);
        }
        QueueFact::SubscriptionDeleted { topic, name } => {
            let to = stock.named.get(topic).into_iter().flat_map(|named| &named.to);
            let no = to.filter(|(_, (own, _))| own.as_ref() == Some(name)).map(|(no, _)| *no).next();
            if no.is_some_and(|no| shares(stock, no)) {
                coverage.note(Sometimes::SubscriptionDeleted);
            }
        }
        QueueFact::TopicPut { .. } | QueueFact::IdsForgotten { .. } => {}
    }
}

/// Whether another queue holds a message that this one holds.
fn shares(stock: &Stock, no: QueueNo) -> bool {
    let Some(held) = stock.queues.get(&no) else { return false };
    let mut others = stock.queues.iter().filter(|(other, _)| **other != no);
    others.any(|(_, other)| held.messages.keys().any(|message| other.messages.contains_key(message)))
}

fn note_put(coverage: &mut Coverage, stock: &Stock, no: QueueNo) {
    match stock.queues.get(&no) {
        Some(held) if !held.messages.is_empty() => coverage.note(Sometimes::QueueChanged),
        Some(_) => {}
        // Numbers go on, and none is left of those that were there.
        None if no.0 > 0 && stock.named.is_empty() => coverage.note(Sometimes::QueueRemade),
        None => {}
    }
}

fn of_message(kept: &Kept, fact: &MessageFact, expired: bool) -> Option<Sometimes> {
    let case = match fact {
        MessageFact::Due => Sometimes::ScheduledDue,
        MessageFact::Renewed { .. } => Sometimes::LockRenewed,
        MessageFact::Returned { .. } if expired => Sometimes::LockExpired,
        MessageFact::Returned { deliveries } if *deliveries < kept.deliveries => Sometimes::DeliveryReleased,
        MessageFact::DeadLettered { reason, .. } => match reason.as_str() {
            "MaxDeliveryCountExceeded" => Sometimes::PoisonSetAside,
            "TTLExpiredException" => Sometimes::ExpiredDead,
            _ => Sometimes::DeadByConsumer,
        },
        MessageFact::Redriven => Sometimes::Redriven,
        MessageFact::Left { how: Left::Completed } if kept.redriven => Sometimes::RedrivenCompleted,
        MessageFact::Left { how: Left::Taken } => Sometimes::TakenAtOnce,
        MessageFact::Left { how: Left::Expired } => Sometimes::MessageExpired,
        MessageFact::Left { how: Left::Purged } => Sometimes::Purged,
        MessageFact::Locked { .. } | MessageFact::Returned { .. } | MessageFact::Left { .. } => return None,
    };
    Some(case)
}

/// Whether another message of its session waits while this one is with a consumer.
fn waits_in_session(held: &Held, kept: &Kept) -> bool {
    let waits = |other: &&Kept| !other.dead && other.session == kept.session && other.stands == Stands::Ready;
    held.spec.sessions && held.messages.values().filter(waits).count() > 1
}
