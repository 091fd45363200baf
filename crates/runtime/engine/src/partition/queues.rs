//! Queues in the loop: carries out commands of senders and consumers, and lets consumers wait for messages.

mod waiting_consumers;

use std::collections::{BTreeMap, BTreeSet};

use journal::{AppendError, Journal, codec};
use kernel::Event;
use kernel::queue::{
    Changes, Entity, MessageNo, QueueFact, QueueNo, QueueRejection, Queues, Settle, SubQueue, Take, Taken,
};
use tokio::sync::oneshot;
use types::{Message, PartitionId, QueueName, QueueSpec, Timestamp, Uid};
use view::View;

use super::{Batch, Partition};
use crate::limits::{RECEIVED_BYTES_MAX, RECEIVED_MAX, REDRIVEN_MAX};
use crate::queues::{
    EntityKind, Peeked, QueueAnswer, QueueCommand, QueueError, Receive, ReceiveMode, Received,
};

pub(crate) use waiting_consumers::WaitingConsumers;

/// The result of a command about queues.
pub(crate) type QueueReply = Result<QueueAnswer, QueueError>;
pub(crate) type Replier = oneshot::Sender<QueueReply>;

/// The changes of this batch to queues, withheld until they are durable.
#[derive(Default)]
pub(crate) struct Deliveries {
    replies: Vec<(Replier, Pending)>,
    /// Messages that are no longer in any queue.
    freed: BTreeSet<MessageNo>,
}

/// An answer whose message bodies may still have to be read.
enum Pending {
    Ready(QueueReply),
    Received { queue: QueueNo, taken: Vec<Taken> },
    Peeked { queue: QueueNo, sub_queue: SubQueue, from: MessageNo, max: usize },
}

impl<J: Journal> Partition<J> {
    pub(super) fn take_queue_command(&mut self, batch: &mut Batch, command: QueueCommand, reply: Replier) {
        let pending = match command {
            QueueCommand::Receive(receive) => return self.take_receive(batch, receive, reply),
            QueueCommand::Peek { at, sub_queue, from, max } => match self.queues.find(&at) {
                Ok(queue) => Pending::Peeked { queue, sub_queue, from, max: max.min(RECEIVED_MAX) },
                Err(rejection) => Pending::Ready(Err(rejection.into())),
            },
            QueueCommand::Send { .. } | QueueCommand::Post { .. } if !self.shared.journal.room().accepts => {
                Pending::Ready(Err(QueueError::NoRoom))
            }
            QueueCommand::Send { .. } | QueueCommand::Post { .. }
                if self.shared.memory.is_short(batch.now) =>
            {
                Pending::Ready(Err(QueueError::NoMemory))
            }
            command => {
                let mut changes = Changes::default();
                let answer = self.change_queues(batch, command, &mut changes);
                self.note_changes(batch, changes);
                Pending::Ready(answer.map_err(QueueError::Rejected))
            }
        };
        batch.queues.replies.push((reply, pending));
    }

    fn change_queues(
        &mut self,
        batch: &Batch,
        command: QueueCommand,
        changes: &mut Changes,
    ) -> Result<QueueAnswer, QueueRejection> {
        let (queues, now) = (&mut self.queues, batch.wall);
        let put = |created| QueueAnswer::Put { created };
        match command {
            QueueCommand::PutQueue { name, spec } => queues.put_queue(now, &name, &spec, changes).map(put),
            QueueCommand::PutTopic { name, spec } => queues.put_topic(now, &name, &spec, changes).map(put),
            QueueCommand::PutSubscription { topic, name, spec, filter } => {
                queues.put_subscription(now, &topic, &name, &spec, &filter, changes).map(put)
            }
            QueueCommand::Delete { at } => queues.delete(&at, changes).map(|()| QueueAnswer::Deleted),
            QueueCommand::Send { to, messages } => {
                let messages = messages.into_iter().map(|each| (each.message, each.own_id)).collect();
                queues.send(now, &to, messages, changes).map(QueueAnswer::Sent)
            }
            QueueCommand::Post { to, kind, message } => {
                prepare(queues, now, &to, kind, changes)?;
                queues.send(now, &to, vec![(message, true)], changes).map(QueueAnswer::Sent)
            }
            QueueCommand::Settle { at, token, how } => {
                let queue = queues.find(&at)?;
                let locked_until = queues.settle(now, queue, token, &how, changes)?;
                Ok(QueueAnswer::Settled { locked_until })
            }
            QueueCommand::Redrive { at, max } => {
                let queue = queues.find(&at)?;
                let messages = queues.redrive(now, queue, max.min(REDRIVEN_MAX), changes);
                Ok(QueueAnswer::Moved { messages })
            }
            QueueCommand::Purge { at, sub_queue, max } => {
                let queue = queues.find(&at)?;
                let messages = queues.purge(now, queue, sub_queue, max.min(REDRIVEN_MAX), changes);
                Ok(QueueAnswer::Moved { messages })
            }
            QueueCommand::Receive(_) | QueueCommand::Peek { .. } => unreachable!("carried out by the caller"),
        }
    }

    fn take_receive(&mut self, batch: &mut Batch, receive: Receive, reply: Replier) {
        let queue = match self.queues.find(&receive.at) {
            Ok(queue) => queue,
            Err(rejection) => {
                return batch.queues.replies.push((reply, Pending::Ready(Err(rejection.into()))));
            }
        };
        // First come, first served.
        let others_wait = receive.session.is_none() && self.lines.has(queue, receive.sub_queue);
        let taken = if others_wait { Vec::new() } else { self.receive(batch, queue, &receive) };
        if taken.is_empty() && receive.patience.as_ms() > 0 && !self.draining {
            return self.lines.join(queue, receive, reply, batch.now);
        }
        batch.queues.replies.push((reply, Pending::Received { queue, taken }));
    }

    fn receive(&mut self, batch: &mut Batch, queue: QueueNo, receive: &Receive) -> Vec<Taken> {
        let mut changes = Changes::default();
        let (mut taken, mut bytes) = (Vec::new(), 0);
        let session = receive.session.as_deref();
        while taken.len() < receive.max.min(RECEIVED_MAX) && bytes < RECEIVED_BYTES_MAX {
            let next = self.queues.queue(queue).and_then(|held| held.next(receive.sub_queue, session));
            let weight =
                next.and_then(|no| self.queues.queue(queue)?.slot(no)).map(|slot| slot.bytes as usize);
            let take = match receive.mode {
                ReceiveMode::Lock { lock } => Take::Lock { token: self.new_token(), lock },
                ReceiveMode::Delete => Take::Delete,
            };
            let one = self.queues.receive(batch.wall, queue, receive.sub_queue, session, &take, &mut changes);
            let Some(one) = one else { break };
            bytes += weight.unwrap_or(0);
            taken.push(one);
        }
        self.note_changes(batch, changes);
        taken
    }

    /// A token that no other lock has ever had: an epoch is claimed once, and counts its locks.
    fn new_token(&mut self) -> Uid {
        self.locks += 1;
        let owner = types::retry::mix(u64::from(self.id.0) << 48 ^ self.epoch.0);
        Uid((u128::from(owner) << 64 | u128::from(types::retry::mix(owner ^ self.locks))).to_be_bytes())
    }

    /// Applies expired timers, and then serves waiting consumers.
    pub(super) fn serve_queues(&mut self, batch: &mut Batch) {
        if self.queues.wake_at().is_some_and(|at| at <= batch.wall) {
            let mut changes = Changes::default();
            self.queues.tick(batch.wall, &mut changes);
            self.note_changes(batch, changes);
        }
        for (queue, sub_queue) in self.lines.queues() {
            self.serve_line(batch, queue, sub_queue);
        }
        for waiting in self.lines.overdue(batch.now, self.draining) {
            let pending = Pending::Received { queue: waiting.queue, taken: Vec::new() };
            batch.queues.replies.push((waiting.reply, pending));
        }
    }

    /// Whether a full batch has left consumers waiting for available messages.
    pub(super) fn can_serve(&self) -> bool {
        self.lines.can_serve(|queue, sub_queue, session| {
            self.queues.queue(queue).is_some_and(|held| held.next(sub_queue, session).is_some())
        })
    }

    fn serve_line(&mut self, batch: &mut Batch, queue: QueueNo, sub_queue: SubQueue) {
        if self.queues.queue(queue).is_none() {
            for waiting in self.lines.leave_all(queue, sub_queue) {
                let gone = QueueRejection::NotFound(waiting.receive.at.name.clone());
                batch.queues.replies.push((waiting.reply, Pending::Ready(Err(gone.into()))));
            }
            return;
        }
        while !batch.is_full() {
            let held = self.queues.queue(queue).expect("looked up above");
            let next = self.lines.first(queue, sub_queue, |session| held.next(sub_queue, session).is_some());
            let Some(waiting) = next else { return };
            if waiting.reply.is_closed() {
                continue;
            }
            let taken = self.receive(batch, queue, &waiting.receive);
            if taken.is_empty() {
                // The available messages had expired: the consumer continues to wait.
                self.lines.rejoin(waiting);
                continue;
            }
            batch.queues.replies.push((waiting.reply, Pending::Received { queue, taken }));
        }
    }

    fn note_changes(&mut self, batch: &mut Batch, changes: Changes) {
        let from = batch.events.len();
        batch.events.extend(changes.facts.into_iter().map(|fact| Event::Queue(Box::new(fact))));
        batch.count(from);
        batch.queues.freed.extend(changes.freed);
    }

    /// Writes the rows of sent messages, answers waiting callers, and deletes the rows of removed messages.
    pub(super) fn deliver(&mut self, events: &[Event], deliveries: Deliveries) -> Result<(), AppendError> {
        let damaged = |error: view::Error| self.damaged(&error.to_string());
        let mut sent = BTreeMap::new();
        for event in events {
            let Event::Queue(fact) = event else { continue };
            self.shared.metrics.queues.count(fact);
            let QueueFact::Sent(fact) = &**fact else { continue };
            if fact.to.is_empty() {
                continue;
            }
            sent.insert(fact.no, &fact.message);
            if !deliveries.freed.contains(&fact.no) {
                let row = codec::encode(&fact.message);
                self.shared.view.put_message(self.id, fact.no.0, &row).map_err(damaged)?;
            }
        }
        for (reply, pending) in deliveries.replies {
            self.answer(reply, pending, &sent)?;
        }
        for no in deliveries.freed.iter().filter(|no| !sent.contains_key(no)) {
            self.shared.view.delete_message(self.id, no.0).map_err(damaged)?;
        }
        Ok(())
    }

    fn answer(
        &self,
        reply: Replier,
        pending: Pending,
        sent: &BTreeMap<MessageNo, &Message>,
    ) -> Result<(), AppendError> {
        let answer = match pending {
            Pending::Ready(answer) => answer,
            Pending::Received { queue, taken } => {
                let with_body = |taken: Taken| Ok(Received { message: self.message(taken.no, sent)?, taken });
                let received: Vec<Received> = taken.into_iter().map(with_body).collect::<Result<_, _>>()?;
                return self.hand_over(queue, reply, received);
            }
            Pending::Peeked { queue, sub_queue, from, max } => {
                Ok(QueueAnswer::Peeked(self.peek(queue, sub_queue, from, max, sent)?))
            }
        };
        // The client may have disconnected; the command is carried out all the same.
        let _ = reply.send(answer);
        Ok(())
    }

    /// Delivers messages to a consumer. If it has gone away meanwhile, they return as if never delivered.
    fn hand_over(&self, queue: QueueNo, reply: Replier, received: Vec<Received>) -> Result<(), AppendError> {
        let Err(Ok(QueueAnswer::Received(lost))) = reply.send(Ok(QueueAnswer::Received(received))) else {
            return Ok(());
        };
        for (token, _) in lost.iter().filter_map(|one| one.taken.lock) {
            // This very task runs the loop, so the receiver exists.
            let _ = self.tx.send(super::PartitionMessage::QueueReleased { queue, token });
        }
        Ok(())
    }

    pub(super) fn take_released(&mut self, batch: &mut Batch, queue: QueueNo, token: Uid) {
        let mut changes = Changes::default();
        // Lost only if its lock has expired meanwhile, which returns the message as well.
        let _ = self.queues.settle(batch.wall, queue, token, &Settle::Release, &mut changes);
        self.note_changes(batch, changes);
    }

    fn peek(
        &self,
        queue: QueueNo,
        sub_queue: SubQueue,
        from: MessageNo,
        max: usize,
        sent: &BTreeMap<MessageNo, &Message>,
    ) -> Result<Vec<Peeked>, AppendError> {
        let Some(held) = self.queues.queue(queue) else { return Ok(Vec::new()) };
        let (mut peeked, mut bytes) = (Vec::new(), 0);
        for (no, slot) in held.slots(sub_queue, from) {
            if peeked.len() == max || bytes >= RECEIVED_BYTES_MAX {
                break;
            }
            bytes += slot.bytes as usize;
            let (dead, message) = (held.dead(no).cloned(), self.message(no, sent)?);
            peeked.push(Peeked { no, slot: slot.clone(), dead, message });
        }
        Ok(peeked)
    }

    fn message(&self, no: MessageNo, sent: &BTreeMap<MessageNo, &Message>) -> Result<Message, AppendError> {
        if let Some(message) = sent.get(&no) {
            return Ok((*message).clone());
        }
        let row =
            self.shared.view.message(self.id, no.0).map_err(|error| self.damaged(&error.to_string()))?;
        let row = row.ok_or_else(|| self.damaged(&format!("message {} has no row", no.0)))?;
        codec::decode(&row).map_err(|error| self.damaged(&format!("message {}: {error}", no.0)))
    }
}

/// Checks that the name is the kind of destination that the sender requires. A queue created here is in the same
/// frame as its message, so that neither exists without the other.
fn prepare(
    queues: &mut Queues,
    now: Timestamp,
    to: &QueueName,
    kind: EntityKind,
    changes: &mut Changes,
) -> Result<(), QueueRejection> {
    match (kind, queues.entity(to)) {
        (EntityKind::Queue | EntityKind::MadeQueue, Some(Entity::Topic(_))) => {
            Err(QueueRejection::IsTopic(to.clone()))
        }
        (EntityKind::Topic, Some(Entity::Queue(_))) => Err(QueueRejection::IsQueue(to.clone())),
        (EntityKind::MadeQueue, None) => queues.put_queue(now, to, &QueueSpec::default(), changes).map(drop),
        // The send itself reports a missing queue.
        (EntityKind::Queue | EntityKind::Topic, None)
        | (EntityKind::Queue | EntityKind::MadeQueue, Some(Entity::Queue(_)))
        | (EntityKind::Topic, Some(Entity::Topic(_))) => Ok(()),
    }
}

/// Applies an event of the journal to the queues, and updates the rows of the view. Replaying is idempotent: a row
/// that was already written or deleted is written or deleted again.
pub(crate) fn replay(
    view: &View,
    partition: PartitionId,
    fact: &QueueFact,
    queues: &mut Queues,
) -> Result<(), view::Error> {
    if let QueueFact::Sent(sent) = fact
        && !sent.to.is_empty()
    {
        view.put_message(partition, sent.no.0, &codec::encode(&sent.message))?;
    }
    let mut freed = Vec::new();
    queues.evolve(fact, &mut freed);
    for no in freed {
        view.delete_message(partition, no.0)?;
    }
    Ok(())
}
