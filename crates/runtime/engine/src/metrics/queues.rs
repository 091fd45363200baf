//! Metrics of messages.

use kernel::queue::{Left, MessageFact, QueueFact};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::{OutcomeLabel, begin};

const OUTCOMES: [&str; 9] =
    ["sent", "locked", "returned", "completed", "taken", "expired", "purged", "dead_lettered", "redriven"];

/// Messages by what happened to them.
#[derive(Clone)]
pub(crate) struct QueueMetrics {
    messages: Family<OutcomeLabel, Counter>,
}

impl QueueMetrics {
    pub(super) fn register(registry: &mut Registry) -> QueueMetrics {
        let messages = Family::default();
        begin(&messages, &OUTCOMES);
        registry.register(
            "sortie_queue_messages",
            "What happened to messages of built-in queues and subscriptions; alert when dead_lettered grows",
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
