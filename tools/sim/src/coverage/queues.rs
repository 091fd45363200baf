//! Situations that durable events of queues show.

use kernel::Event;
use kernel::queue::{Left, MessageFact, QueueFact, QueueNo};

use crate::coverage::{Coverage, Situation};
use crate::observation::DurableEvent;
use crate::queue_model::{MessageStatus, ModelMessage, ModelQueue, PartitionQueues};

pub fn note(coverage: &mut Coverage, durable: &DurableEvent<'_>) {
    let Event::Queue(fact) = durable.event else { return };
    let Some(in_partition) = durable.queue_model.partitions.get(&durable.partition) else { return };
    match &**fact {
        QueueFact::Message { queue, no, at, fact } => {
            if let Some((held, kept)) = durable.queue_model.kept(durable.partition, *queue, *no) {
                let expired = matches!(kept.status, MessageStatus::Locked { until, .. } if until <= *at);
                if let Some(case) = of_message(kept, fact, expired) {
                    coverage.note(case);
                }
                if let MessageFact::Locked { .. } = fact
                    && waits_in_session(held, kept)
                {
                    coverage.note(Situation::SessionWaited);
                }
            }
        }
        QueueFact::Sent(sent) => {
            if in_partition.entities.get(&sent.name).is_some_and(|entity| entity.to.len() > sent.to.len()) {
                coverage.note(Situation::FilterLeftOut);
            }
        }
        QueueFact::Deleted { name } => {
            let to = in_partition.entities.get(name).into_iter().flat_map(|entity| entity.to.keys());
            if to.filter_map(|no| in_partition.queues.get(no)).any(|held| !held.messages.is_empty()) {
                coverage.note(Situation::QueueDeleted);
            }
        }
        QueueFact::QueuePut { no, .. } | QueueFact::SubscriptionPut { no, .. } => {
            note_put(coverage, in_partition, *no);
        }
        QueueFact::SubscriptionDeleted { topic, name } => {
            let to = in_partition.entities.get(topic).into_iter().flat_map(|entity| &entity.to);
            let no = to.filter(|(_, (own, _))| own.as_ref() == Some(name)).map(|(no, _)| *no).next();
            if no.is_some_and(|no| shares(in_partition, no)) {
                coverage.note(Situation::SubscriptionDeleted);
            }
        }
        QueueFact::TopicPut { .. } | QueueFact::IdsForgotten { .. } => {}
    }
}

/// Whether another queue holds a message that this one holds.
fn shares(in_partition: &PartitionQueues, no: QueueNo) -> bool {
    let Some(held) = in_partition.queues.get(&no) else { return false };
    let mut others = in_partition.queues.iter().filter(|(other, _)| **other != no);
    others.any(|(_, other)| held.messages.keys().any(|message| other.messages.contains_key(message)))
}

fn note_put(coverage: &mut Coverage, in_partition: &PartitionQueues, no: QueueNo) {
    match in_partition.queues.get(&no) {
        Some(held) if !held.messages.is_empty() => coverage.note(Situation::QueueChanged),
        Some(_) => {}
        // Numbers go on, and none is left of those that were there.
        None if no.0 > 0 && in_partition.entities.is_empty() => coverage.note(Situation::QueueRemade),
        None => {}
    }
}

fn of_message(kept: &ModelMessage, fact: &MessageFact, expired: bool) -> Option<Situation> {
    let case = match fact {
        MessageFact::Due => Situation::ScheduledDue,
        MessageFact::Renewed { .. } => Situation::LockRenewed,
        MessageFact::Returned { .. } if expired => Situation::LockExpired,
        MessageFact::Returned { deliveries } if *deliveries < kept.deliveries => Situation::DeliveryReleased,
        MessageFact::DeadLettered { reason, .. } => match reason.as_str() {
            "MaxDeliveryCountExceeded" => Situation::PoisonSetAside,
            "TTLExpiredException" => Situation::ExpiredDead,
            _ => Situation::DeadByConsumer,
        },
        MessageFact::Redriven => Situation::Redriven,
        MessageFact::Left { how: Left::Completed } if kept.redriven => Situation::RedrivenCompleted,
        MessageFact::Left { how: Left::Taken } => Situation::TakenAtOnce,
        MessageFact::Left { how: Left::Expired } => Situation::MessageExpired,
        MessageFact::Left { how: Left::Purged } => Situation::Purged,
        MessageFact::Locked { .. } | MessageFact::Returned { .. } | MessageFact::Left { .. } => return None,
    };
    Some(case)
}

/// Whether another message of its session waits while this one is with a consumer.
fn waits_in_session(held: &ModelQueue, kept: &ModelMessage) -> bool {
    let waits = |other: &&ModelMessage| {
        !other.dead && other.session == kept.session && other.status == MessageStatus::Ready
    };
    held.spec.sessions && held.messages.values().filter(waits).count() > 1
}
