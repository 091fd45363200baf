//! Q10: after everything, each message that has not left is in its queue as its history says, and the rows of the view
//! are those of the messages that some queue holds: none is missing, none is left over.

use std::collections::BTreeSet;

use kernel::queue::{MessageNo, MessageState, Queues, Slot, SubQueue};
use types::PartitionId;

use super::{Audit, Checker, Violations};
use crate::queue_model::{MessageStatus, ModelMessage, PartitionQueues};

pub struct HeldMessages;

impl Checker for HeldMessages {
    fn id(&self) -> &'static str {
        "Q10"
    }

    fn audit(&self, audit: &Audit<'_>, violations: &mut Violations<'_>) {
        for (partition, in_partition) in &audit.queue_model.partitions {
            match audit.queues.get(partition) {
                Some(queues) if *queues == in_partition.folded => {
                    same_messages(queues, in_partition, violations)
                }
                Some(_) => {
                    violations.add_violation(format!(
                        "the queues of partition {partition} are not those of its history"
                    ));
                }
                None => violations.add_violation(format!("partition {partition} does not tell its queues")),
            }
            same_rows(audit, *partition, in_partition, violations);
        }
    }
}

fn same_messages(queues: &Queues, in_partition: &PartitionQueues, violations: &mut Violations<'_>) {
    for (no, held) in &in_partition.queues {
        let Some(queue) = queues.queue(*no) else {
            violations.add_violation(format!("queue {} is gone", no.0));
            continue;
        };
        let count = queue.counts().all();
        if count != held.messages.len() {
            let kept = held.messages.len();
            violations
                .add_violation(format!("queue {} has {count} messages, its history makes {kept}", no.0));
        }
        for (message, kept) in &held.messages {
            let slot = queue.slot(*message);
            if !slot.is_some_and(|slot| is_as(slot, kept)) {
                violations
                    .add_violation(format!("message {} is {slot:?}, its history makes {kept:?}", message.0));
            }
        }
    }
}

fn is_as(slot: &Slot, kept: &ModelMessage) -> bool {
    let status = match slot.state {
        MessageState::Scheduled { at } => MessageStatus::Scheduled { at },
        MessageState::Ready => MessageStatus::Ready,
        MessageState::Locked { token, until } => MessageStatus::Locked { token, until },
    };
    status == kept.status
        && (slot.sub_queue == SubQueue::Dead) == kept.dead
        && slot.deliveries == kept.deliveries
        && slot.expires_at == kept.expires_at
}

fn same_rows(
    audit: &Audit<'_>,
    partition: PartitionId,
    in_partition: &PartitionQueues,
    violations: &mut Violations<'_>,
) {
    let held: BTreeSet<MessageNo> =
        in_partition.queues.values().flat_map(|queue| queue.messages.keys().copied()).collect();
    for (no, sent) in &in_partition.sent {
        let row = audit.message_rows.get(&(partition, *no));
        match (row, held.contains(no)) {
            (Some(row), true) if row == sent => {}
            (None, false) => {}
            (Some(_), true) => {
                violations.add_violation(format!("the row of message {} is another than was sent", no.0))
            }
            (None, true) => violations.add_violation(format!("message {} is held and has no row", no.0)),
            (Some(_), false) => {
                violations.add_violation(format!("message {} is in no queue and has a row", no.0))
            }
        }
    }
}
