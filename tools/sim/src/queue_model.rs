//! The reference model of queues: where each message is, computed from durable events without the engine, the kernel or
//! the view.

use std::collections::BTreeMap;

use kernel::queue::{MessageFact, MessageNo, QueueFact, QueueNo, Queues, Sent};
use types::{Message, PartitionId, QueueName, QueueSpec, Span, Timestamp, Uid};

/// The queues and messages of a simulation.
#[derive(Debug, Default)]
pub struct QueueModel {
    pub partitions: BTreeMap<PartitionId, PartitionQueues>,
    /// Facts so far: a time that no clock can set.
    pub facts: u64,
}

/// Those of a partition.
#[derive(Debug, Default)]
pub struct PartitionQueues {
    pub entities: BTreeMap<QueueName, Entity>,
    pub queues: BTreeMap<QueueNo, ModelQueue>,
    /// Every message that any queue ever took, and what its bytes are compared by.
    pub sent: BTreeMap<MessageNo, u64>,
    /// What the kernel makes of the same facts.
    pub folded: Queues,
}

/// A queue or a topic.
#[derive(Debug, Default)]
pub struct Entity {
    /// Where its messages go: to the queue, or to subscriptions, each with the label that it wants.
    pub to: BTreeMap<QueueNo, (Option<QueueName>, Option<String>)>,
    pub time_to_live: Option<Span>,
    pub window: Span,
    /// The ids of the window, with the time when they came.
    pub ids: BTreeMap<String, Timestamp>,
}

/// A queue or a subscription.
#[derive(Debug)]
pub struct ModelQueue {
    pub spec: QueueSpec,
    /// The most deliveries that it ever allowed.
    pub deliveries_max: u32,
    pub messages: BTreeMap<MessageNo, ModelMessage>,
}

/// A message in one queue.
#[derive(Debug, Clone)]
pub struct ModelMessage {
    pub dead: bool,
    pub status: MessageStatus,
    pub deliveries: u32,
    pub expires_at: Option<Timestamp>,
    pub session: Option<String>,
    /// It was a dead letter and was brought back.
    pub redriven: bool,
    /// The fact since which it has this status.
    pub since: u64,
}

/// The status of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageStatus {
    Scheduled { at: Timestamp },
    Ready,
    Locked { token: Uid, until: Timestamp },
}

/// What messages are compared by: all that they have.
pub fn fingerprint(message: &Message) -> u64 {
    crate::observation::fingerprint(&journal::codec::encode(message))
}

impl QueueModel {
    /// A message in a queue, as it was before.
    pub fn kept(
        &self,
        partition: PartitionId,
        queue: QueueNo,
        no: MessageNo,
    ) -> Option<(&ModelQueue, &ModelMessage)> {
        let held = self.partitions.get(&partition)?.queues.get(&queue)?;
        Some((held, held.messages.get(&no)?))
    }

    /// The queue or subscription that has a name at the moment.
    pub fn held(&self, name: &QueueName, subscription: Option<&QueueName>) -> Option<&ModelQueue> {
        self.partitions.values().find_map(|in_partition| {
            let mut to = in_partition.entities.get(name)?.to.iter();
            let (no, _) = to.find(|(_, (own, _))| own.as_ref() == subscription)?;
            in_partition.queues.get(no)
        })
    }

    pub fn fold(&mut self, partition: PartitionId, fact: &QueueFact) {
        self.facts += 1;
        let since = self.facts;
        let in_partition = self.partitions.entry(partition).or_default();
        in_partition.folded.evolve(fact, &mut Vec::new());
        in_partition.fold(fact, since);
    }
}

impl PartitionQueues {
    fn fold(&mut self, fact: &QueueFact, since: u64) {
        match fact {
            QueueFact::QueuePut { name, no, spec, .. } => {
                self.put(*no, spec);
                let entity = self.entities.entry(name.clone()).or_default();
                entity.to.insert(*no, (None, None));
                entity.set_window(spec.duplicate_window);
            }
            QueueFact::TopicPut { name, spec, .. } => {
                let entity = self.entities.entry(name.clone()).or_default();
                entity.time_to_live = spec.time_to_live;
                entity.set_window(spec.duplicate_window);
            }
            QueueFact::SubscriptionPut { topic, name, no, spec, filter, .. } => {
                self.put(*no, spec);
                let entity = self.entities.entry(topic.clone()).or_default();
                entity.to.insert(*no, (Some(name.clone()), filter.label.clone()));
            }
            QueueFact::Deleted { name } => {
                for no in self.entities.remove(name).unwrap_or_default().to.keys() {
                    self.queues.remove(no);
                }
            }
            QueueFact::SubscriptionDeleted { topic, name } => {
                let entity = self.entities.entry(topic.clone()).or_default();
                let gone = entity.to.iter().find(|(_, (own, _))| own.as_ref() == Some(name));
                if let Some(no) = gone.map(|(no, _)| *no) {
                    entity.to.remove(&no);
                    self.queues.remove(&no);
                }
            }
            QueueFact::Sent(sent) => self.fold_sent(sent, since),
            QueueFact::Message { queue, no, at, fact } => {
                if let Some(held) = self.queues.get_mut(queue) {
                    held.fold(*no, *at, fact, since);
                }
            }
            // What is out of its window by then stays forgotten, also when the clock is set back later.
            QueueFact::IdsForgotten { name, at } => {
                if let Some(entity) = self.entities.get_mut(name) {
                    entity.ids.retain(|_, seen| at.since(*seen) < entity.window);
                }
            }
        }
    }

    fn put(&mut self, no: QueueNo, spec: &QueueSpec) {
        let new = || ModelQueue { spec: spec.clone(), deliveries_max: 0, messages: BTreeMap::new() };
        let held = self.queues.entry(no).or_insert_with(new);
        held.spec = spec.clone();
        held.deliveries_max = held.deliveries_max.max(spec.deliveries_max);
    }

    fn fold_sent(&mut self, sent: &Sent, since: u64) {
        let Some(entity) = self.entities.get_mut(&sent.name) else { return };
        entity.ids.retain(|_, at| sent.at.since(*at) < entity.window);
        entity.ids.insert(sent.message.id.clone(), sent.at);
        if !sent.to.is_empty() {
            self.sent.insert(sent.no, fingerprint(&sent.message));
        }
        let later = sent.message.scheduled_at.filter(|at| *at > sent.at);
        for no in &sent.to {
            let Some(held) = self.queues.get_mut(no) else { continue };
            let spans = [sent.message.time_to_live, entity.time_to_live, held.spec.time_to_live];
            let kept = ModelMessage {
                dead: false,
                status: later.map_or(MessageStatus::Ready, |at| MessageStatus::Scheduled { at }),
                deliveries: 0,
                expires_at: spans.into_iter().flatten().min().map(|span| later.unwrap_or(sent.at) + span),
                session: sent.message.session.clone(),
                redriven: false,
                since,
            };
            held.messages.insert(sent.no, kept);
        }
    }
}

impl Entity {
    fn set_window(&mut self, window: Span) {
        if self.window != window {
            // Which ids a window still has that was another before is not promised.
            self.ids.clear();
            self.window = window;
        }
    }
}

impl ModelQueue {
    fn fold(&mut self, no: MessageNo, at: Timestamp, fact: &MessageFact, since: u64) {
        if let MessageFact::Left { .. } = fact {
            self.messages.remove(&no);
            return;
        }
        let time_to_live = self.spec.time_to_live;
        let Some(kept) = self.messages.get_mut(&no) else { return };
        kept.since = since;
        match fact {
            MessageFact::Left { .. } => {}
            MessageFact::Due => kept.status = MessageStatus::Ready,
            MessageFact::Locked { token, until } => {
                kept.status = MessageStatus::Locked { token: *token, until: *until };
                kept.deliveries += 1;
            }
            MessageFact::Renewed { until: longer } => {
                if let MessageStatus::Locked { until, .. } = &mut kept.status {
                    *until = *longer;
                }
            }
            MessageFact::Returned { deliveries } => {
                kept.status = MessageStatus::Ready;
                kept.deliveries = *deliveries;
            }
            MessageFact::DeadLettered { .. } => {
                kept.status = MessageStatus::Ready;
                kept.dead = true;
            }
            MessageFact::Redriven => {
                kept.status = MessageStatus::Ready;
                kept.dead = false;
                kept.deliveries = 0;
                kept.redriven = true;
                kept.expires_at = time_to_live.map(|span| at + span);
            }
        }
    }
}
