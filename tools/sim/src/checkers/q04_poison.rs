//! Q4: a message is delivered no more often than its queue allows; then it is a dead letter.

use std::collections::BTreeSet;

use kernel::Event;
use kernel::queue::{MessageFact, QueueFact};
use types::Uid;

use super::{Checker, Violations};
use crate::observation::{DurableEvent, Observation};
use crate::queue_model::MessageStatus;

#[derive(Default)]
pub struct Poison {
    received: BTreeSet<Uid>,
}

impl Checker for Poison {
    fn id(&self) -> &'static str {
        "Q4"
    }

    fn observe(&mut self, observation: &Observation, _accusations: &mut Violations<'_>) {
        if let Observation::MessageReceived { lock: Some((token, _)), .. } = observation {
            self.received.insert(*token);
        }
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        let QueueFact::Message { queue, no, fact, .. } = &**fact else { return };
        let Some((held, kept)) = durable.queue_model.kept(durable.partition, *queue, *no) else { return };
        let (no, was, max) = (no.0, kept.deliveries, held.spec.deliveries_max);
        match fact {
            MessageFact::Locked { .. } if !kept.dead && was >= held.deliveries_max => {
                violations.add_violation(format!("message {no} is delivered for the {}th time", was + 1));
            }
            MessageFact::Returned { deliveries } => {
                // A delivery that reached nobody does not count.
                let reached = match kept.status {
                    MessageStatus::Locked { token, .. } => self.received.contains(&token),
                    MessageStatus::Ready | MessageStatus::Scheduled { .. } => true,
                };
                let counts = *deliveries == was || (!reached && *deliveries + 1 == was);
                if !counts {
                    violations
                        .add_violation(format!("message {no} was delivered {was} times, not {deliveries}"));
                }
                if !kept.dead && *deliveries == was && was >= max {
                    violations.add_violation(format!(
                        "message {no} was delivered {was} times and is not a dead letter"
                    ));
                }
            }
            MessageFact::DeadLettered { reason, .. } if reason == "MaxDeliveryCountExceeded" && was < max => {
                violations
                    .add_violation(format!("message {no} is a dead letter after {was} deliveries of {max}"));
            }
            _ => {}
        }
    }
}
