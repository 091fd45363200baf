//! What the engine counts of messages.

use kernel::queue::{Left, MessageFact, QueueFact};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::OutcomeLabel;

/// Messages by what became of them.
#[derive(Clone)]
pub(crate) struct QueueMetrics {
    messages: Family<OutcomeLabel, Counter>,
}

impl QueueMetrics {
    pub(super) fn register(registry: &mut Registry) -> QueueMetrics {
        let messages = Family::default();
        registry.register(
            "sortie_queue_messages",
            "Messages of built-in queues and subscriptions, by what happened to them",
            messages.clone(),
        );
        QueueMetrics { messages }
    }

    pub(crate) fn count(&self, fact: &QueueFact) {
        let outcome = match fact {
            QueueFact::Sent(_) => "sent",
            QueueFact::Message { fact, .. } => match fact {
                MessageFact::Locked { .. } => "locked",
                MessageFact::Returned { .. } => "returned",
                MessageFact::DeadLettered { .. } => "dead_lettered",
                MessageFact::Redriven => "redriven",
                MessageFact::Left { how: Left::Completed } => "completed",
                MessageFact::Left { how: Left::Taken } => "taken",
                MessageFact::Left { how: Left::Expired } => "expired",
                MessageFact::Left { how: Left::Purged } => "purged",
                MessageFact::Due | MessageFact::Renewed { .. } => return,
            },
            _ => return,
        };
        self.messages.get_or_create(&OutcomeLabel { outcome }).inc();
    }
}
