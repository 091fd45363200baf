//! Q7: what was sent twice with one id is taken once, as long as the window of its queue or topic lasts; and no number
//! is given twice.

use kernel::Event;
use kernel::queue::QueueFact;

use super::{Checker, Violations};
use crate::observation::DurableEvent;

pub struct OneOfAnId;

impl Checker for OneOfAnId {
    fn id(&self) -> &'static str {
        "Q7"
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        let QueueFact::Sent(sent) = &**fact else { return };
        let Some(in_partition) = durable.queue_model.partitions.get(&durable.partition) else { return };
        if in_partition.sent.contains_key(&sent.no) {
            violations.add_violation(format!("there are two messages with the number {}", sent.no.0));
        }
        let id = &sent.message.id;
        // Others are made by Sortie, and need not be remembered.
        let Some(entity) = in_partition.entities.get(&sent.name).filter(|_| id.starts_with('m')) else {
            return;
        };
        if entity.ids.get(id).is_some_and(|at| sent.at.since(*at) < entity.window) {
            violations
                .add_violation(format!("{id} was taken twice by {} within {}", sent.name, entity.window));
        }
    }
}
