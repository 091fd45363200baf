//! Q10: after everything, each message that has not left is in its queue as its history says, and the rows of the view
//! are those of the messages that some queue holds: none is missing, none is left over.

use std::collections::BTreeSet;

use kernel::queue::{MessageNo, MessageState, Queues, Slot, SubQueue};
use types::PartitionId;

use super::{Accusations, Audit, Checker};
use crate::depot::{Kept, Stands, Stock};

pub struct Held;

impl Checker for Held {
    fn id(&self) -> &'static str {
        "Q10"
    }

    fn audit(&self, audit: &Audit<'_>, accusations: &mut Accusations<'_>) {
        for (partition, stock) in &audit.depot.stocks {
            match audit.queues.get(partition) {
                Some(queues) if *queues == stock.folded => same_messages(queues, stock, accusations),
                Some(_) => {
                    accusations
                        .accuse(format!("the queues of partition {partition} are not those of its history"));
                }
                None => accusations.accuse(format!("partition {partition} does not tell its queues")),
            }
            same_rows(audit, *partition, stock, accusations);
        }
    }
}

fn same_messages(queues: &Queues, stock: &Stock, accusations: &mut Accusations<'_>) {
    for (no, held) in &stock.queues {
        let Some(queue) = queues.queue(*no) else {
            accusations.accuse(format!("queue {} is gone", no.0));
            continue;
        };
        let count = queue.counts().all();
        if count != held.messages.len() {
            let kept = held.messages.len();
            accusations.accuse(format!("queue {} has {count} messages, its history makes {kept}", no.0));
        }
        for (message, kept) in &held.messages {
            let slot = queue.slot(*message);
            if !slot.is_some_and(|slot| is_as(slot, kept)) {
                accusations.accuse(format!("message {} is {slot:?}, its history makes {kept:?}", message.0));
            }
        }
    }
}

fn is_as(slot: &Slot, kept: &Kept) -> bool {
    let stands = match slot.state {
        MessageState::Scheduled { at } => Stands::Waits { at },
        MessageState::Ready => Stands::Ready,
        MessageState::Locked { token, until } => Stands::With { token, until },
    };
    stands == kept.stands
        && (slot.sub_queue == SubQueue::Dead) == kept.dead
        && slot.deliveries == kept.deliveries
        && slot.expires_at == kept.expires_at
}

fn same_rows(audit: &Audit<'_>, partition: PartitionId, stock: &Stock, accusations: &mut Accusations<'_>) {
    let held: BTreeSet<MessageNo> =
        stock.queues.values().flat_map(|queue| queue.messages.keys().copied()).collect();
    for (no, sent) in &stock.sent {
        let row = audit.message_rows.get(&(partition, *no));
        match (row, held.contains(no)) {
            (Some(row), true) if row == sent => {}
            (None, false) => {}
            (Some(_), true) => {
                accusations.accuse(format!("the row of message {} is another than was sent", no.0))
            }
            (None, true) => accusations.accuse(format!("message {} is held and has no row", no.0)),
            (Some(_), false) => accusations.accuse(format!("message {} is in no queue and has a row", no.0)),
        }
    }
}
