//! Queues, topics and subscriptions: made, changed and deleted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use types::{Filter, QueueName, QueueSpec, Timestamp, TopicSpec};

use super::remembered_ids::RememberedIds;
use super::{Changes, QueueFact, QueueNo, QueueRef, QueueRejection, Queues};

/// Queues and subscriptions of one partition: a send to a topic makes a slot in each of its subscriptions.
const QUEUES_MAX: usize = 10_000;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entity {
    Queue(QueueNo),
    Topic(Box<Topic>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    pub spec: TopicSpec,
    pub version: u32,
    pub created_at: Timestamp,
    pub changed_at: Timestamp,
    pub subscriptions: BTreeMap<QueueName, Subscription>,
    pub(super) seen: RememberedIds,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    pub no: QueueNo,
    pub filter: Filter,
}

impl Entity {
    pub(super) fn restore(&mut self) {
        if let Entity::Topic(topic) = self {
            topic.seen.restore();
        }
    }
}

impl Queues {
    /// Makes a queue or changes it; true when it is new.
    pub fn put_queue(
        &mut self,
        now: Timestamp,
        name: &QueueName,
        spec: &QueueSpec,
        changes: &mut Changes,
    ) -> Result<bool, QueueRejection> {
        let (no, created) = match self.names.get(name) {
            None => (self.new_queue()?, true),
            Some(Entity::Topic(_)) => return Err(QueueRejection::IsTopic(name.clone())),
            Some(Entity::Queue(no)) => (self.may_become(*no, spec)?, false),
        };
        let (name, spec) = (name.clone(), spec.clone());
        self.take(QueueFact::QueuePut { name, no, at: now, spec }, changes);
        Ok(created)
    }

    pub fn put_topic(
        &mut self,
        now: Timestamp,
        name: &QueueName,
        spec: &TopicSpec,
        changes: &mut Changes,
    ) -> Result<bool, QueueRejection> {
        if let Some(Entity::Queue(_)) = self.names.get(name) {
            return Err(QueueRejection::IsQueue(name.clone()));
        }
        let created = !self.names.contains_key(name);
        if created && self.names.len() >= QUEUES_MAX {
            return Err(QueueRejection::TooManyQueues { max: QUEUES_MAX });
        }
        self.take(QueueFact::TopicPut { name: name.clone(), at: now, spec: spec.clone() }, changes);
        Ok(created)
    }

    pub fn put_subscription(
        &mut self,
        now: Timestamp,
        topic: &QueueName,
        name: &QueueName,
        spec: &QueueSpec,
        filter: &Filter,
        changes: &mut Changes,
    ) -> Result<bool, QueueRejection> {
        let existing = match self.names.get(topic) {
            None => return Err(QueueRejection::NotFound(topic.clone())),
            Some(Entity::Queue(_)) => return Err(QueueRejection::IsQueue(topic.clone())),
            Some(Entity::Topic(topic)) => topic.subscriptions.get(name).map(|subscription| subscription.no),
        };
        let no = match existing {
            None => self.new_queue()?,
            Some(no) => self.may_become(no, spec)?,
        };
        self.take(
            QueueFact::SubscriptionPut {
                topic: topic.clone(),
                name: name.clone(),
                no,
                at: now,
                spec: spec.clone(),
                filter: Box::new(filter.clone()),
            },
            changes,
        );
        Ok(existing.is_none())
    }

    /// Deletes a queue, a topic or a subscription, with all its messages.
    pub fn delete(&mut self, at: &QueueRef, changes: &mut Changes) -> Result<(), QueueRejection> {
        let fact = match &at.subscription {
            None if !self.names.contains_key(&at.name) => {
                return Err(QueueRejection::NotFound(at.name.clone()));
            }
            None => QueueFact::Deleted { name: at.name.clone() },
            Some(name) => {
                self.find(at)?;
                QueueFact::SubscriptionDeleted { topic: at.name.clone(), name: name.clone() }
            }
        };
        self.take(fact, changes);
        Ok(())
    }

    fn new_queue(&self) -> Result<QueueNo, QueueRejection> {
        if self.queues.len() >= QUEUES_MAX {
            return Err(QueueRejection::TooManyQueues { max: QUEUES_MAX });
        }
        Ok(QueueNo(self.next_queue))
    }

    fn may_become(&self, no: QueueNo, spec: &QueueSpec) -> Result<QueueNo, QueueRejection> {
        if self.queues[&no].spec.sessions != spec.sessions {
            return Err(QueueRejection::SessionsFixed);
        }
        Ok(no)
    }
}
