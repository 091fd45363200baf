//! Q6: a message reaches the queue that it was sent to, or exactly those subscriptions that want it.

use std::collections::BTreeSet;

use kernel::Event;
use kernel::queue::{QueueFact, QueueNo};

use super::{Checker, Violations};
use crate::observation::DurableEvent;

pub struct Filters;

impl Checker for Filters {
    fn id(&self) -> &'static str {
        "Q6"
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        let QueueFact::Sent(sent) = &**fact else { return };
        let in_partition = durable.queue_model.partitions.get(&durable.partition);
        let Some(entity) = in_partition.and_then(|in_partition| in_partition.entities.get(&sent.name)) else {
            return violations.add_violation(format!(
                "message {} was sent to {}, which is not there",
                sent.no.0, sent.name
            ));
        };
        let wanting =
            entity.to.iter().filter(|(_, (_, label))| label.is_none() || *label == sent.message.label);
        let wanting: BTreeSet<QueueNo> = wanting.map(|(no, _)| *no).collect();
        let reached: BTreeSet<QueueNo> = sent.to.iter().copied().collect();
        if wanting != reached || reached.len() != sent.to.len() {
            let (no, to) = (sent.no.0, &sent.to);
            violations.add_violation(format!("message {no} is wanted by {wanting:?} and reached {to:?}"));
        }
    }
}
