//! Q4: a message is delivered no more often than its queue allows; then it is a dead letter.

use std::collections::BTreeSet;

use kernel::Event;
use kernel::queue::{MessageFact, QueueFact};
use types::Uid;

use super::{Accusations, Checker};
use crate::depot::Stands;
use crate::sighting::{Durable, Sighting};

#[derive(Default)]
pub struct Poison {
    received: BTreeSet<Uid>,
}

impl Checker for Poison {
    fn id(&self) -> &'static str {
        "Q4"
    }

    fn see(&mut self, sighting: &Sighting, _accusations: &mut Accusations<'_>) {
        if let Sighting::MessageReceived { lock: Some((token, _)), .. } = sighting {
            self.received.insert(*token);
        }
    }

    fn see_event(&mut self, durable: &Durable<'_>, accusations: &mut Accusations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        let QueueFact::Message { queue, no, fact, .. } = &**fact else { return };
        let Some((held, kept)) = durable.depot.kept(durable.partition, *queue, *no) else { return };
        let (no, was, max) = (no.0, kept.deliveries, held.spec.deliveries_max);
        match fact {
            MessageFact::Locked { .. } if !kept.dead && was >= held.deliveries_max => {
                accusations.accuse(format!("message {no} is delivered for the {}th time", was + 1));
            }
            MessageFact::Returned { deliveries } => {
                // A delivery that reached nobody does not count.
                let reached = match kept.stands {
                    Stands::With { token, .. } => self.received.contains(&token),
                    Stands::Ready | Stands::Waits { .. } => true,
                };
                let counts = *deliveries == was || (!reached && *deliveries + 1 == was);
                if !counts {
                    accusations.accuse(format!("message {no} was delivered {was} times, not {deliveries}"));
                }
                if !kept.dead && *deliveries == was && was >= max {
                    accusations
                        .accuse(format!("message {no} was delivered {was} times and is not a dead letter"));
                }
            }
            MessageFact::DeadLettered { reason, .. } if reason == "MaxDeliveryCountExceeded" && was < max => {
                accusations.accuse(format!("message {no} is a dead letter after {was} deliveries of {max}"));
            }
            _ => {}
        }
    }
}
