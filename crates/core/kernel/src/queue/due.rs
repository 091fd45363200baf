//! What time brings: locks that expire, scheduled messages that become due, messages that nobody received in time, ids
//! that need not be remembered.

use types::{QueueName, Timestamp};

use super::receive::EXPIRED;
use super::{Changes, Left, MessageFact, MessageNo, MessageState, QueueFact, QueueNo, Queues};

/// Messages that one tick looks at; some 100 bytes of events each.
const TICK_MESSAGES_MAX: usize = 500;
/// Queues and topics whose ids one tick forgets; some 100 bytes of events each.
const TICK_FORGETS_MAX: usize = 100;

impl Queues {
    /// Looks at every message whose time has come; the rest of very many is left to the next tick.
    pub fn tick(&mut self, now: Timestamp, changes: &mut Changes) {
        let due = self.wakes.iter().take_while(|(at, _, _)| *at <= now).take(TICK_MESSAGES_MAX);
        let due: Vec<(QueueNo, MessageNo)> = due.map(|(_, queue, no)| (*queue, *no)).collect();
        for (queue, no) in due {
            match self.queues[&queue].slots[&no].state {
                MessageState::Scheduled { .. } => {
                    self.take_message(queue, no, now, MessageFact::Due, changes)
                }
                MessageState::Locked { .. } => self.give_back(now, queue, no, changes),
                MessageState::Ready => self.expire(now, queue, no, changes),
            }
        }
        let idle = self.idle.iter().take_while(|(at, _)| *at <= now).take(TICK_FORGETS_MAX);
        let idle: Vec<QueueName> = idle.map(|(_, name)| name.clone()).collect();
        for name in idle {
            self.take(QueueFact::IdsForgotten { name, at: now }, changes);
        }
    }

    pub(super) fn expire(&mut self, now: Timestamp, queue: QueueNo, no: MessageNo, changes: &mut Changes) {
        let fact = if self.queues[&queue].spec.dead_letter_expired {
            let description = "not received within its time to live".to_owned();
            MessageFact::DeadLettered { reason: EXPIRED.to_owned(), description }
        } else {
            MessageFact::Left { how: Left::Expired }
        };
        self.take_message(queue, no, now, fact, changes);
    }
}
