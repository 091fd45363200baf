//! Receiving and settling: a consumer locks a message, and completes it, gives it back or sets it aside.

use types::{Span, Timestamp, Uid};

use super::{Changes, Left, MessageFact, MessageNo, MessageState, QueueNo, QueueRejection, Queues, SubQueue};

/// How a message is received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Take {
    /// It stays, locked under this token.
    Lock { token: Uid, lock: Option<Span> },
    /// It is gone at once.
    Delete,
}

/// A message that was received; its body is a row of the view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub no: MessageNo,
    /// The lock, unless it was deleted.
    pub lock: Option<(Uid, Timestamp)>,
    /// How often it was delivered, this time included.
    pub deliveries: u32,
    pub enqueued_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    /// Why it is a dead letter, if it is one.
    pub dead: Option<super::Dead>,
}

/// What a consumer does with a message that it has locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settle {
    Complete,
    /// Somebody else may have it at once; the delivery counts.
    Abandon,
    /// It never reached its consumer: the delivery does not count.
    Release,
    DeadLetter {
        reason: String,
        description: String,
    },
    Renew,
}

/// Why messages become dead letters by themselves, in the words of Service Bus.
pub(super) const TOO_OFTEN: &str = "MaxDeliveryCountExceeded";
pub(super) const EXPIRED: &str = "TTLExpiredException";

/// Characters of a reason, and of a description, that are kept: they are in memory with the message.
const REASON_CHARS_MAX: usize = 1024;

/// Expired messages that one receive passes over; some 100 bytes of events each.
const PASSED_OVER_MAX: usize = 500;

impl Queues {
    /// The next message of a queue, if there is one.
    pub fn receive(
        &mut self,
        now: Timestamp,
        queue: QueueNo,
        sub_queue: SubQueue,
        session: Option<&str>,
        take: &Take,
        changes: &mut Changes,
    ) -> Option<Taken> {
        if !self.pass_over_expired(now, queue, sub_queue, session, changes) {
            return None;
        }
        let held = self.queues.get(&queue)?;
        let no = held.next(sub_queue, session)?;
        let (slot, dead) = (held.slot(no)?, held.dead(no).cloned());
        let (enqueued_at, expires_at, deliveries) = (slot.enqueued_at, slot.expires_at, slot.deliveries + 1);
        let (fact, lock) = match take {
            Take::Delete => (MessageFact::Left { how: Left::Taken }, None),
            Take::Lock { token, lock } => {
                let until = now + lock.unwrap_or(held.spec.lock);
                (MessageFact::Locked { token: *token, until }, Some((*token, until)))
            }
        };
        self.take_message(queue, no, now, fact, changes);
        Some(Taken { no, lock, deliveries, enqueued_at, expires_at, dead })
    }

    /// A message that has expired is not handed out, even when nobody has looked at the clock yet. False when there
    /// are so many that the rest is left to the ticks: what comes of one receive must fit into a frame.
    fn pass_over_expired(
        &mut self,
        now: Timestamp,
        queue: QueueNo,
        sub_queue: SubQueue,
        session: Option<&str>,
        changes: &mut Changes,
    ) -> bool {
        let mut passed = 0;
        while sub_queue == SubQueue::Main
            && let Some(held) = self.queues.get(&queue)
            && let Some(no) = held.next(sub_queue, session)
            && held.slot(no).and_then(|slot| slot.expires_at).is_some_and(|at| at <= now)
        {
            if passed == PASSED_OVER_MAX {
                return false;
            }
            passed += 1;
            self.expire(now, queue, no, changes);
        }
        true
    }

    /// Settles what a consumer has locked. Renewing answers with the new end of the lock.
    pub fn settle(
        &mut self,
        now: Timestamp,
        queue: QueueNo,
        token: Uid,
        how: &Settle,
        changes: &mut Changes,
    ) -> Result<Option<Timestamp>, QueueRejection> {
        let held = self.queues.get(&queue).ok_or(QueueRejection::LockLost)?;
        let (no, slot) = held.locked(token).ok_or(QueueRejection::LockLost)?;
        // An expired lock is lost even before the tick that takes it back: the consumer's time was up.
        let MessageState::Locked { until, .. } = slot.state else { return Err(QueueRejection::LockLost) };
        if until <= now {
            return Err(QueueRejection::LockLost);
        }
        let (sub_queue, deliveries, lock) = (slot.sub_queue, slot.deliveries, held.spec.lock);
        match how {
            Settle::Complete => {
                self.take_message(queue, no, now, MessageFact::Left { how: Left::Completed }, changes);
            }
            Settle::Abandon => self.give_back(now, queue, no, changes),
            Settle::Release => {
                let deliveries = deliveries.saturating_sub(1);
                self.take_message(queue, no, now, MessageFact::Returned { deliveries }, changes);
            }
            // A dead letter cannot become one again: it is given back.
            Settle::DeadLetter { .. } if sub_queue == SubQueue::Dead => {
                self.give_back(now, queue, no, changes)
            }
            Settle::DeadLetter { reason, description } => {
                let cut = |text: &str| text.chars().take(REASON_CHARS_MAX).collect();
                let (reason, description) = (cut(reason), cut(description));
                self.take_message(queue, no, now, MessageFact::DeadLettered { reason, description }, changes);
            }
            Settle::Renew => {
                // The consumer may have asked for a longer lock than the queue gives.
                let until = until.max(now + lock);
                self.take_message(queue, no, now, MessageFact::Renewed { until }, changes);
                return Ok(Some(until));
            }
        }
        Ok(None)
    }

    /// Brings dead letters back, the oldest first; answers with how many.
    pub fn redrive(&mut self, now: Timestamp, queue: QueueNo, max: usize, changes: &mut Changes) -> usize {
        let Some(held) = self.queues.get(&queue) else { return 0 };
        let ready =
            held.slots(SubQueue::Dead, MessageNo(0)).filter(|(_, slot)| slot.state == MessageState::Ready);
        let chosen: Vec<MessageNo> = ready.map(|(no, _)| no).take(max).collect();
        for no in &chosen {
            self.take_message(queue, *no, now, MessageFact::Redriven, changes);
        }
        chosen.len()
    }

    /// Empties a sub-queue of what no consumer has locked; answers with how many.
    pub fn purge(
        &mut self,
        now: Timestamp,
        queue: QueueNo,
        sub_queue: SubQueue,
        max: usize,
        changes: &mut Changes,
    ) -> usize {
        let Some(held) = self.queues.get(&queue) else { return 0 };
        let free = |slot: &super::Slot| !matches!(slot.state, MessageState::Locked { .. });
        let free = held.slots(sub_queue, MessageNo(0)).filter(|(_, slot)| free(slot));
        let chosen: Vec<MessageNo> = free.map(|(no, _)| no).take(max).collect();
        for no in &chosen {
            self.take_message(queue, *no, now, MessageFact::Left { how: Left::Purged }, changes);
        }
        chosen.len()
    }

    /// A delivery that came to nothing: the message may be received again, or has been delivered too often.
    pub(super) fn give_back(&mut self, now: Timestamp, queue: QueueNo, no: MessageNo, changes: &mut Changes) {
        let held = &self.queues[&queue];
        let (slot, deliveries_max) = (&held.slots[&no], held.spec.deliveries_max);
        let deliveries = slot.deliveries;
        let too_often = slot.sub_queue == SubQueue::Main && deliveries >= deliveries_max;
        if too_often {
            let description = format!("delivered {deliveries} times and never completed");
            let fact = MessageFact::DeadLettered { reason: TOO_OFTEN.to_owned(), description };
            return self.take_message(queue, no, now, fact, changes);
        }
        self.take_message(queue, no, now, MessageFact::Returned { deliveries }, changes);
    }
}
