//! Queues, topics and messages as people see them.

use api_types::{CountsView, DeadView, FilterView, MessageView, QueueView, Time, TopicView};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use engine::queues::Peeked;
use kernel::queue::{Entity, MessageState, Queue, QueueRef, QueueRejection, Queues, Topic};
use types::{Filter, QueueName};

use super::properties;

/// A queue or subscription that was looked up.
pub(super) fn queue(queues: &Queues, at: &QueueRef) -> Result<QueueView, QueueRejection> {
    let no = queues.find(at)?;
    let filter = match (queues.entity(&at.name), &at.subscription) {
        (Some(Entity::Topic(topic)), Some(name)) => topic.subscriptions.get(name).map(|one| &one.filter),
        _ => None,
    };
    let held = queues.queue(no).ok_or_else(|| QueueRejection::NotFound(at.name.clone()))?;
    Ok(queue_view(at, held, filter))
}

fn queue_view(at: &QueueRef, held: &Queue, filter: Option<&Filter>) -> QueueView {
    let (spec, counts) = (&held.spec, held.counts());
    QueueView {
        name: at.subscription.as_ref().unwrap_or(&at.name).to_string(),
        topic: at.subscription.as_ref().map(|_| at.name.to_string()),
        lock: spec.lock,
        time_to_live: spec.time_to_live,
        deliveries_max: spec.deliveries_max,
        dead_letter_expired: spec.dead_letter_expired,
        duplicate_window: at.subscription.is_none().then_some(spec.duplicate_window),
        sessions: spec.sessions,
        messages_max: spec.messages_max,
        bytes_max: spec.bytes_max,
        filter: filter.map(filter_view),
        counts: CountsView {
            ready: counts.ready,
            locked: counts.locked,
            scheduled: counts.scheduled,
            dead: counts.dead,
            bytes: counts.bytes,
        },
        version: held.version,
        created_at: Time(held.created_at),
        changed_at: Time(held.changed_at),
    }
}

fn filter_view(filter: &Filter) -> FilterView {
    FilterView {
        message_id: filter.id.clone(),
        content_type: filter.content_type.clone(),
        correlation_id: filter.correlation_id.clone(),
        label: filter.label.clone(),
        reply_to: filter.reply_to.clone(),
        reply_to_session: filter.reply_to_session.clone(),
        session: filter.session.clone(),
        to: filter.to.clone(),
        properties: properties::to_json(&filter.properties),
    }
}

pub(super) fn topic(name: &QueueName, topic: &Topic) -> TopicView {
    TopicView {
        name: name.to_string(),
        time_to_live: topic.spec.time_to_live,
        duplicate_window: topic.spec.duplicate_window,
        subscriptions: topic.subscriptions.len(),
        version: topic.version,
        created_at: Time(topic.created_at),
        changed_at: Time(topic.changed_at),
    }
}

/// A message without its lock token: who looks at it must not be able to settle it.
pub(super) fn message(peeked: Peeked) -> MessageView {
    let Peeked { no, slot, dead, message } = peeked;
    let (state, scheduled_at, locked_until) = match slot.state {
        MessageState::Ready => ("ready", None, None),
        MessageState::Scheduled { at } => ("scheduled", Some(Time(at)), None),
        MessageState::Locked { until, .. } => ("locked", None, Some(Time(until))),
    };
    let text = std::str::from_utf8(&message.body).ok();
    MessageView {
        sequence_number: no.0,
        state: state.to_owned(),
        body: text.map(str::to_owned),
        body_base64: text.is_none().then(|| STANDARD.encode(&message.body)),
        properties: properties::to_json(&message.properties),
        message_id: message.id,
        content_type: message.content_type,
        correlation_id: message.correlation_id,
        label: message.label,
        partition_key: message.partition_key,
        reply_to: message.reply_to,
        reply_to_session: message.reply_to_session,
        session: message.session,
        to: message.to,
        deliveries: slot.deliveries,
        enqueued_at: Time(slot.enqueued_at),
        expires_at: slot.expires_at.map(Time),
        scheduled_at,
        locked_until,
        dead: dead.map(|dead| DeadView {
            at: Time(dead.at),
            reason: dead.reason,
            description: dead.description,
        }),
    }
}
