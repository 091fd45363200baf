//! Consumers that wait for messages, first come, first served.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kernel::queue::{QueueNo, SubQueue};
use types::Timestamp;

use super::Replier;
use crate::queues::Receive;

/// One waiting line per sub-queue.
#[derive(Default)]
pub(crate) struct WaitingConsumers {
    next: u64,
    waiting: BTreeMap<u64, WaitingConsumer>,
    lines: BTreeMap<(QueueNo, SubQueue), VecDeque<u64>>,
    ends: BTreeSet<(Timestamp, u64)>,
}

/// A waiting consumer.
pub(crate) struct WaitingConsumer {
    ticket: u64,
    pub queue: QueueNo,
    pub receive: Receive,
    pub reply: Replier,
    until: Timestamp,
}

impl WaitingConsumers {
    pub(crate) fn join(&mut self, queue: QueueNo, receive: Receive, reply: Replier, now: Timestamp) {
        let (ticket, until) = (self.next, now + receive.patience);
        self.next += 1;
        self.lines.entry((queue, receive.sub_queue)).or_default().push_back(ticket);
        self.ends.insert((until, ticket));
        self.waiting.insert(ticket, WaitingConsumer { ticket, queue, receive, reply, until });
    }

    /// Returns a consumer to the head of its line.
    pub(crate) fn rejoin(&mut self, waiting: WaitingConsumer) {
        self.lines.entry((waiting.queue, waiting.receive.sub_queue)).or_default().push_front(waiting.ticket);
        self.ends.insert((waiting.until, waiting.ticket));
        self.waiting.insert(waiting.ticket, waiting);
    }

    /// Whether a consumer waits for any message of a sub-queue, whatever its session.
    pub(crate) fn has(&self, queue: QueueNo, sub_queue: SubQueue) -> bool {
        let line = self.lines.get(&(queue, sub_queue));
        line.is_some_and(|line| line.iter().any(|ticket| self.waiting[ticket].receive.session.is_none()))
    }

    /// The sub-queues that consumers wait for.
    pub(crate) fn queues(&self) -> Vec<(QueueNo, SubQueue)> {
        self.lines.keys().copied().collect()
    }

    /// Removes the first consumer of a line that a message is available for.
    pub(crate) fn first(
        &mut self,
        queue: QueueNo,
        sub_queue: SubQueue,
        is_ready: impl Fn(Option<&str>) -> bool,
    ) -> Option<WaitingConsumer> {
        let ticket = self.first_ticket(queue, sub_queue, is_ready)?;
        Some(self.leave(ticket))
    }

    /// Whether a message is available for any waiting consumer.
    pub(crate) fn can_serve(&self, is_ready: impl Fn(QueueNo, SubQueue, Option<&str>) -> bool) -> bool {
        let ready = |(queue, sub_queue): &(QueueNo, SubQueue)| {
            self.first_ticket(*queue, *sub_queue, |session| is_ready(*queue, *sub_queue, session)).is_some()
        };
        self.lines.keys().any(ready)
    }

    fn first_ticket(
        &self,
        queue: QueueNo,
        sub_queue: SubQueue,
        is_ready: impl Fn(Option<&str>) -> bool,
    ) -> Option<u64> {
        let line = self.lines.get(&(queue, sub_queue))?;
        // Most consumers name no session: then one lookup decides for all of them.
        let any = is_ready(None);
        let served = |ticket: &&u64| match self.waiting[*ticket].receive.session.as_deref() {
            None => any,
            session => is_ready(session),
        };
        line.iter().find(served).copied()
    }

    pub(crate) fn leave_all(&mut self, queue: QueueNo, sub_queue: SubQueue) -> Vec<WaitingConsumer> {
        let tickets: Vec<u64> = self.lines.get(&(queue, sub_queue)).into_iter().flatten().copied().collect();
        tickets.into_iter().map(|ticket| self.leave(ticket)).collect()
    }

    /// The consumers that have timed out, or all of them.
    pub(crate) fn overdue(&mut self, now: Timestamp, all: bool) -> Vec<WaitingConsumer> {
        let over = self.ends.iter().take_while(|(until, _)| all || *until <= now);
        let tickets: Vec<u64> = over.map(|(_, ticket)| *ticket).collect();
        tickets.into_iter().map(|ticket| self.leave(ticket)).collect()
    }

    /// When the next consumer times out.
    pub(crate) fn wake_at(&self) -> Option<Timestamp> {
        self.ends.first().map(|(until, _)| *until)
    }

    fn leave(&mut self, ticket: u64) -> WaitingConsumer {
        let waiting = self.waiting.remove(&ticket).expect("a ticket belongs to a waiting consumer");
        self.ends.remove(&(waiting.until, ticket));
        let place = (waiting.queue, waiting.receive.sub_queue);
        if let Some(line) = self.lines.get_mut(&place) {
            // Nearly always the first: a search from the other end would pass all later consumers.
            if line.front() == Some(&ticket) {
                line.pop_front();
            } else {
                line.retain(|each| *each != ticket);
            }
            if line.is_empty() {
                self.lines.remove(&place);
            }
        }
        waiting
    }
}
