//! What can be asked about queues, topics and subscriptions by those who look after them.

pub(crate) mod document;
mod name;
pub(crate) mod properties;
mod show;

use std::sync::Arc;

use api_types::{MessagePage, NamePage, QueueView, TopicView};
use engine::Engine;
use engine::limits::{RECEIVED_BYTES_MAX, RECEIVED_MAX, REDRIVEN_MAX};
use engine::queues::{QueueAnswer, QueueCommand, QueueError, partition_of};
use kernel::job::Expect;
use kernel::queue::{Entity, MessageNo, QueueRef, QueueRejection, Queues as QueueState, SubQueue};
use serde_json::Value;
use types::QueueName;

use self::document::{bad, fields, number, short};
use crate::api::Cluster;
use crate::error::ApiError;

pub(crate) use name::{is_reserved, new_queue_name, queue_ref};

/// Which part of a list is wanted.
pub(crate) struct Part {
    pub after: Option<String>,
    pub limit: usize,
}

/// Which messages are looked at.
pub(crate) struct Look {
    pub sub_queue: SubQueue,
    pub from: u64,
    pub limit: usize,
}

impl From<QueueRejection> for ApiError {
    fn from(rejection: QueueRejection) -> ApiError {
        QueueError::Rejected(rejection).into()
    }
}

/// Queues, topics and subscriptions of the partitions that this instance owns. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Queues {
    pub engine: Engine,
    pub cluster: Cluster,
    /// Held while a queue or topic is created, changed or deleted: what `If-Match` demands must still be true then. Only
    /// the API changes them.
    pub changing: Arc<tokio::sync::Mutex<()>>,
}

impl Queues {
    pub(crate) async fn list_queues(&self, part: Part) -> Result<NamePage<QueueView>, ApiError> {
        let all = self.gather(&part, |queues, name, entity| match entity {
            Entity::Queue(_) => show::queue(queues, &QueueRef::queue(name.clone())).ok(),
            Entity::Topic(_) => None,
        });
        Ok(page(all.await?, part.limit, |queue| &queue.name))
    }

    pub(crate) async fn list_topics(&self, part: Part) -> Result<NamePage<TopicView>, ApiError> {
        let all = self.gather(&part, |_, name, entity| match entity {
            Entity::Queue(_) => None,
            Entity::Topic(topic) => Some(show::topic(name, topic)),
        });
        Ok(page(all.await?, part.limit, |topic| &topic.name))
    }

    /// What every partition has after a name; one more than is wanted, to see whether there are more. That a queue is
    /// not there can be said only when every partition runs.
    async fn gather<T: Send + 'static>(
        &self,
        part: &Part,
        show: fn(&QueueState, &QueueName, &Entity) -> Option<T>,
    ) -> Result<Vec<T>, ApiError> {
        let mut all = Vec::new();
        for partition in self.cluster.owned_partitions() {
            let (after, most) = (part.after.clone(), part.limit + 1);
            let found = self.engine.query_queues(partition, move |queues| {
                let is_after = |name: &QueueName| after.as_deref().is_none_or(|after| name.as_str() > after);
                let wanted = queues.entities().filter(|(name, _)| is_after(name));
                let shown = wanted.filter_map(|(name, entity)| show(queues, name, entity));
                shown.take(most).collect::<Vec<T>>()
            });
            all.extend(found.await?);
        }
        Ok(all)
    }

    pub(crate) async fn list_subscriptions(
        &self,
        topic: &QueueName,
        part: Part,
    ) -> Result<NamePage<QueueView>, ApiError> {
        let (name, after, most) = (topic.clone(), part.after, part.limit + 1);
        let found = self.look(topic, move |queues| {
            let topic = find_topic(queues, &name)?;
            let is_after = |name: &&QueueName| after.as_deref().is_none_or(|after| name.as_str() > after);
            let names = topic.subscriptions.keys().filter(is_after).take(most);
            let at = |one: &QueueName| QueueRef::subscription(name.clone(), one.clone());
            names.map(|one| show::queue(queues, &at(one))).collect::<Result<Vec<_>, _>>()
        });
        Ok(page(found.await?, part.limit, |queue| &queue.name))
    }

    pub(crate) async fn show_queue(&self, at: &QueueRef) -> Result<QueueView, ApiError> {
        let asked = at.clone();
        self.look(&at.name, move |queues| show::queue(queues, &asked)).await
    }

    pub(crate) async fn show_topic(&self, name: &QueueName) -> Result<TopicView, ApiError> {
        let asked = name.clone();
        self.look(name, move |queues| Ok(show::topic(&asked, find_topic(queues, &asked)?))).await
    }

    async fn look<T: Send + 'static>(
        &self,
        name: &QueueName,
        look: impl FnOnce(&QueueState) -> Result<T, QueueRejection> + Send + 'static,
    ) -> Result<T, ApiError> {
        let partition = partition_of(name, self.cluster.partitions);
        Ok(self.engine.query_queues(partition, look).await??)
    }

    /// Makes a queue or a subscription, or changes it; true when it is new.
    pub(crate) async fn put_queue(
        &self,
        at: &QueueRef,
        body: &Value,
        expect: Expect,
    ) -> Result<(QueueView, bool), ApiError> {
        let command = match &at.subscription {
            None => QueueCommand::PutQueue {
                name: new_queue_name(at.name.as_str())?,
                spec: document::queue(body)?,
            },
            Some(name) => {
                let (spec, filter) = document::subscription(body)?;
                QueueCommand::PutSubscription { topic: at.name.clone(), name: name.clone(), spec, filter }
            }
        };
        let _changing = self.changing.lock().await;
        check(expect, self.show_queue(at).await.map(|queue| queue.version))?;
        let created = self.put(command, &at.name).await?;
        Ok((self.show_queue(at).await?, created))
    }

    pub(crate) async fn put_topic(
        &self,
        name: &QueueName,
        body: &Value,
        expect: Expect,
    ) -> Result<(TopicView, bool), ApiError> {
        let spec = document::topic(body)?;
        let command = QueueCommand::PutTopic { name: new_queue_name(name.as_str())?, spec };
        let _changing = self.changing.lock().await;
        check(expect, self.show_topic(name).await.map(|topic| topic.version))?;
        let created = self.put(command, name).await?;
        Ok((self.show_topic(name).await?, created))
    }

    async fn put(&self, command: QueueCommand, name: &QueueName) -> Result<bool, ApiError> {
        match self.command(command, name).await? {
            QueueAnswer::Put { created } => Ok(created),
            other => unreachable!("a put is answered with what it did: {other:?}"),
        }
    }

    /// Deletes a queue or a subscription with all its messages.
    pub(crate) async fn delete_queue(&self, at: &QueueRef, expect: Expect) -> Result<(), ApiError> {
        let _changing = self.changing.lock().await;
        let there = self.show_queue(at).await?;
        check(expect, Ok(there.version))?;
        self.command(QueueCommand::Delete { at: at.clone() }, &at.name).await?;
        Ok(())
    }

    /// Deletes a topic with all its subscriptions.
    pub(crate) async fn delete_topic(&self, name: &QueueName, expect: Expect) -> Result<(), ApiError> {
        let _changing = self.changing.lock().await;
        let there = self.show_topic(name).await?;
        check(expect, Ok(there.version))?;
        self.command(QueueCommand::Delete { at: QueueRef::queue(name.clone()) }, name).await?;
        Ok(())
    }

    /// Shows messages and leaves them where they are.
    pub(crate) async fn peek(&self, at: &QueueRef, look: Look) -> Result<MessagePage, ApiError> {
        let (at, name) = (at.clone(), at.name.clone());
        let command =
            QueueCommand::Peek { at, sub_queue: look.sub_queue, from: MessageNo(look.from), max: look.limit };
        let QueueAnswer::Peeked(peeked) = self.command(command, &name).await? else {
            unreachable!("a peek is answered with messages");
        };
        let bytes: usize = peeked.iter().map(|one| one.slot.bytes as usize).sum();
        let cut = peeked.len() == look.limit || bytes >= RECEIVED_BYTES_MAX;
        let next = peeked.last().filter(|_| cut).map(|last| last.no.0 + 1);
        Ok(MessagePage { items: peeked.into_iter().map(show::message).collect(), next })
    }

    /// Brings dead letters back. How many.
    pub(crate) async fn redrive(&self, at: &QueueRef, body: &Value) -> Result<usize, ApiError> {
        let (max, _) = portion(body, false)?;
        let there = self.show_queue(at).await?.counts.dead;
        let command = |max| QueueCommand::Redrive { at: at.clone(), max };
        self.move_all(&at.name, max.min(there), command).await
    }

    /// Deletes what no consumer has locked. How many.
    pub(crate) async fn purge(&self, at: &QueueRef, body: &Value) -> Result<usize, ApiError> {
        let (max, sub_queue) = portion(body, true)?;
        let counts = self.show_queue(at).await?.counts;
        let there = match sub_queue {
            SubQueue::Main => counts.ready + counts.scheduled + counts.locked,
            SubQueue::Dead => counts.dead,
        };
        let command = |max| QueueCommand::Purge { at: at.clone(), sub_queue, max };
        self.move_all(&at.name, max.min(there), command).await
    }

    /// No more than were there at the start: others may send meanwhile, and what is brought back may die again.
    async fn move_all(
        &self,
        name: &QueueName,
        most: usize,
        command: impl Fn(usize) -> QueueCommand,
    ) -> Result<usize, ApiError> {
        let mut moved = 0;
        while moved < most {
            let max = (most - moved).min(REDRIVEN_MAX);
            match self.command(command(max), name).await? {
                QueueAnswer::Moved { messages } if messages < max => return Ok(moved + messages),
                QueueAnswer::Moved { messages } => moved += messages,
                other => unreachable!("messages that are moved are counted: {other:?}"),
            }
        }
        Ok(moved)
    }

    /// Sends a command to the partition of a queue.
    pub(crate) async fn command(
        &self,
        command: QueueCommand,
        name: &QueueName,
    ) -> Result<QueueAnswer, QueueError> {
        self.engine.queue(partition_of(name, self.cluster.partitions), command).await
    }
}

impl Look {
    pub(crate) const LIMIT_MAX: usize = RECEIVED_MAX;
}

/// The sub-queue that a word of the API names.
pub(crate) fn sub_queue(text: &str) -> Result<SubQueue, ApiError> {
    match text {
        "main" => Ok(SubQueue::Main),
        "dead" => Ok(SubQueue::Dead),
        _ => Err(ApiError::BadRequest(format!("sub_queue: '{}' is not main or dead", short(text)))),
    }
}

/// How many messages a redrive or a purge is about, and where: `{ max, sub_queue }`.
fn portion(body: &Value, with_sub_queue: bool) -> Result<(usize, SubQueue), ApiError> {
    let (mut max, mut on) = (usize::MAX, SubQueue::Main);
    for (name, value) in fields(body)? {
        match name.as_str() {
            "max" => max = usize::try_from(number(name, value, 1, u32::MAX.into())?).unwrap_or(usize::MAX),
            "sub_queue" if with_sub_queue => on = sub_queue(value.as_str().unwrap_or_default())?,
            _ => {
                let known = if with_sub_queue { "max and sub_queue are" } else { "max is" };
                return Err(bad(&short(name), &format!("not a field here; {known}")));
            }
        }
    }
    Ok((max, on))
}

fn find_topic<'q>(
    queues: &'q QueueState,
    name: &QueueName,
) -> Result<&'q kernel::queue::Topic, QueueRejection> {
    match queues.entity(name) {
        None => Err(QueueRejection::NotFound(name.clone())),
        Some(Entity::Queue(_)) => Err(QueueRejection::IsQueue(name.clone())),
        Some(Entity::Topic(topic)) => Ok(topic),
    }
}

/// Whether what is there is what the request expects to be.
fn check(expect: Expect, version: Result<u32, ApiError>) -> Result<(), ApiError> {
    let changed = |text: &str| Err(ApiError::QueueChanged(text.to_owned()));
    match (expect, version) {
        (Expect::Nothing, Ok(_)) => Err(ApiError::QueueExists),
        (Expect::Version(wanted), Ok(version)) if wanted != version => {
            changed(&format!("it is at version {version}; look at it again before you change it"))
        }
        (
            Expect::Version(_),
            Err(ApiError::Queue(QueueError::Rejected(
                QueueRejection::NotFound(_) | QueueRejection::NoSubscription { .. },
            ))),
        ) => changed("it is not there any more"),
        (
            _,
            Err(
                error @ (ApiError::Queue(
                    QueueError::Stopped { .. } | QueueError::NotHeld { .. } | QueueError::Unknown { .. },
                )
                | ApiError::Command(_)),
            ),
        ) => Err(error),
        // What else is wrong is said by the change itself.
        (_, _) => Ok(()),
    }
}

fn page<T>(mut all: Vec<T>, limit: usize, name: impl Fn(&T) -> &String) -> NamePage<T> {
    all.sort_by(|a, b| name(a).cmp(name(b)));
    let more = all.len() > limit;
    all.truncate(limit);
    let next = all.last().filter(|_| more).map(|last| name(last).clone());
    NamePage { items: all, next }
}
