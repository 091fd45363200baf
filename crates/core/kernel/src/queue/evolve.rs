//! What queues become by a fact.

use std::collections::BTreeMap;

use types::{QueueName, QueueSpec, Span, Timestamp, TopicSpec};

use super::contents::{MessageState, Queue, Slot};
use super::remembered_ids::RememberedIds;
use super::{
    Dead, Entity, MessageFact, MessageNo, QueueFact, QueueNo, Queues, Sent, SubQueue, Subscription, Topic,
};

impl Queues {
    /// What the queues become. Messages that no queue holds any more are added to `freed`.
    pub fn evolve(&mut self, fact: &QueueFact, freed: &mut Vec<MessageNo>) {
        match fact {
            QueueFact::QueuePut { name, no, at, spec } => {
                let idle = self.idle_at(name);
                self.put(*no, *at, spec);
                self.names.entry(name.clone()).or_insert(Entity::Queue(*no));
                self.forget_ids(name, *at, idle);
            }
            QueueFact::TopicPut { name, at, spec } => {
                let idle = self.idle_at(name);
                self.evolve_topic(name, *at, spec);
                self.forget_ids(name, *at, idle);
            }
            QueueFact::SubscriptionPut { topic, name, no, at, spec, filter } => {
                self.put(*no, *at, spec);
                let subscription = Subscription { no: *no, filter: (**filter).clone() };
                self.topic_mut(topic).subscriptions.insert(name.clone(), subscription);
            }
            QueueFact::Deleted { name } => self.evolve_deleted(name, freed),
            QueueFact::SubscriptionDeleted { topic, name } => {
                let removed = self.topic_mut(topic).subscriptions.remove(name);
                self.drop_queue(removed.expect("a fact is about a subscription that is there").no, freed);
            }
            QueueFact::Sent(sent) => self.evolve_sent(sent),
            QueueFact::Message { queue, no, at, fact } => self.evolve_message(*queue, *no, *at, fact, freed),
            QueueFact::IdsForgotten { name, at } => self.forget_ids(name, *at, self.idle_at(name)),
        }
    }

    /// Forgets ids whose time is over; `idle` is what was noted before, under the settings of before.
    fn forget_ids(&mut self, name: &QueueName, at: Timestamp, idle: Option<Timestamp>) {
        let (seen, window) = self.seen_mut(name);
        seen.forget(at, window);
        self.note_idle(name, idle);
    }

    /// Keeps in step when ids can be forgotten.
    fn note_idle(&mut self, name: &QueueName, before: Option<Timestamp>) {
        let after = self.idle_at(name);
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.idle.remove(&(before, name.clone()));
        }
        self.idle.extend(after.map(|after| (after, name.clone())));
    }

    fn put(&mut self, no: QueueNo, at: Timestamp, spec: &QueueSpec) {
        self.next_queue = self.next_queue.max(no.0 + 1);
        match self.queues.get_mut(&no) {
            None => drop(self.queues.insert(no, Queue::new(spec.clone(), at))),
            Some(queue) => {
                queue.spec = spec.clone();
                queue.version += 1;
                queue.changed_at = at;
            }
        }
    }

    fn evolve_topic(&mut self, name: &QueueName, at: Timestamp, spec: &TopicSpec) {
        match self.names.get_mut(name) {
            Some(Entity::Topic(topic)) => {
                topic.spec = spec.clone();
                topic.version += 1;
                topic.changed_at = at;
            }
            _ => {
                let topic = Topic {
                    spec: spec.clone(),
                    version: 1,
                    created_at: at,
                    changed_at: at,
                    subscriptions: BTreeMap::new(),
                    seen: RememberedIds::default(),
                };
                self.names.insert(name.clone(), Entity::Topic(Box::new(topic)));
            }
        }
    }

    fn topic_mut(&mut self, name: &QueueName) -> &mut Topic {
        match self.names.get_mut(name) {
            Some(Entity::Topic(topic)) => topic,
            _ => panic!("a fact is about topic {name}, which is not there"),
        }
    }

    fn evolve_deleted(&mut self, name: &QueueName, freed: &mut Vec<MessageNo>) {
        if let Some(idle) = self.idle_at(name) {
            self.idle.remove(&(idle, name.clone()));
        }
        match self.names.remove(name) {
            Some(Entity::Queue(no)) => self.drop_queue(no, freed),
            Some(Entity::Topic(topic)) => {
                for subscription in topic.subscriptions.values() {
                    self.drop_queue(subscription.no, freed);
                }
            }
            None => panic!("a fact is about {name}, which is not there"),
        }
    }

    fn drop_queue(&mut self, no: QueueNo, freed: &mut Vec<MessageNo>) {
        let queue = self.queues.remove(&no).expect("a fact is about a queue that is there");
        for (message, slot) in &queue.slots {
            if let Some(at) = slot.wake_at() {
                self.wakes.remove(&(at, no, *message));
            }
            self.let_go(*message, freed);
        }
    }

    fn evolve_sent(&mut self, sent: &Sent) {
        self.next_message = self.next_message.max(sent.no.0 + 1);
        if sent.remembered {
            let (seen, window) = self.seen_mut(&sent.name);
            let idle = seen.idle_at(window);
            seen.note(&sent.message.id, sent.at, window);
            if seen.idle_at(window) != idle {
                self.note_idle(&sent.name, idle);
            }
        }
        if sent.to.len() > 1 {
            let holders = u32::try_from(sent.to.len()).expect("a topic has at most 10,000 subscriptions");
            self.holders.insert(sent.no, holders);
        }
        let of_topic = match self.names.get(&sent.name) {
            Some(Entity::Topic(topic)) => topic.spec.time_to_live,
            _ => None,
        };
        for no in &sent.to {
            let queue = self.queues.get_mut(no).expect("a message is sent to a queue that is there");
            let slot = new_slot(sent, of_topic, queue.spec.time_to_live);
            if let Some(at) = slot.wake_at() {
                self.wakes.insert((at, *no, sent.no));
            }
            queue.insert(sent.no, slot);
        }
    }

    fn seen_mut(&mut self, name: &QueueName) -> (&mut RememberedIds, Span) {
        match self.names.get_mut(name).expect("a message is sent to what is there") {
            Entity::Topic(topic) => (&mut topic.seen, topic.spec.duplicate_window),
            Entity::Queue(no) => {
                let queue = self.queues.get_mut(no).expect("a name leads to a queue that is there");
                (&mut queue.seen, queue.spec.duplicate_window)
            }
        }
    }

    fn evolve_message(
        &mut self,
        queue: QueueNo,
        no: MessageNo,
        at: Timestamp,
        fact: &MessageFact,
        freed: &mut Vec<MessageNo>,
    ) {
        let held = self.queues.get_mut(&queue).expect("a fact is about a queue that is there");
        if let Some(wake) = held.slots.get(&no).and_then(Slot::wake_at) {
            self.wakes.remove(&(wake, queue, no));
        }
        match fact {
            MessageFact::Left { .. } => {
                held.remove(no);
                return self.let_go(no, freed);
            }
            MessageFact::Due => held.change(no, |slot| {
                slot.state = MessageState::Ready;
                slot.enqueued_at = at;
            }),
            MessageFact::Locked { token, until } => held.change(no, |slot| {
                slot.state = MessageState::Locked { token: *token, until: *until };
                slot.deliveries += 1;
            }),
            MessageFact::Renewed { until } => held.change(no, |slot| {
                if let MessageState::Locked { token, .. } = slot.state {
                    slot.state = MessageState::Locked { token, until: *until };
                }
            }),
            MessageFact::Returned { deliveries } => held.change(no, |slot| {
                slot.state = MessageState::Ready;
                slot.deliveries = *deliveries;
            }),
            MessageFact::DeadLettered { reason, description } => {
                held.change(no, |slot| {
                    slot.state = MessageState::Ready;
                    slot.sub_queue = SubQueue::Dead;
                });
                let dead = Dead { at, reason: reason.clone(), description: description.clone() };
                held.dead.insert(no, dead);
            }
            MessageFact::Redriven => {
                let time_to_live = held.spec.time_to_live;
                held.change(no, |slot| {
                    slot.state = MessageState::Ready;
                    slot.sub_queue = SubQueue::Main;
                    slot.deliveries = 0;
                    // Its own time has passed; what the queue allows begins again.
                    slot.expires_at = time_to_live.map(|span| at + span);
                });
                held.dead.remove(&no);
            }
        }
        if let Some(wake) = held.slots.get(&no).and_then(Slot::wake_at) {
            self.wakes.insert((wake, queue, no));
        }
    }

    /// One queue fewer holds a message.
    fn let_go(&mut self, no: MessageNo, freed: &mut Vec<MessageNo>) {
        match self.holders.get_mut(&no) {
            Some(holders) if *holders > 2 => *holders -= 1,
            // One is left, and one is what a message without an entry has.
            Some(_) => drop(self.holders.remove(&no)),
            None => freed.push(no),
        }
    }
}

fn new_slot(sent: &Sent, of_topic: Option<Span>, of_queue: Option<Span>) -> Slot {
    let scheduled = sent.message.scheduled_at.filter(|at| *at > sent.at);
    let enqueued_at = scheduled.unwrap_or(sent.at);
    let time_to_live = [sent.message.time_to_live, of_topic, of_queue].into_iter().flatten().min();
    Slot {
        sub_queue: SubQueue::Main,
        state: scheduled.map_or(MessageState::Ready, |at| MessageState::Scheduled { at }),
        deliveries: 0,
        enqueued_at,
        expires_at: time_to_live.map(|span| enqueued_at + span),
        session: sent.message.session.as_deref().map(Into::into),
        bytes: u32::try_from(sent.message.weight()).unwrap_or(u32::MAX),
    }
}
