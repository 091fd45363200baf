//! Q3: a message is with one consumer at a time: what a consumer has locked or renewed stays with it until it settles
//! it or its lock expires by the queue's clock.

use std::collections::BTreeSet;

use kernel::Event;
use kernel::queue::{Left, MessageFact, QueueFact};
use types::Uid;

use super::{Checker, Violations};
use crate::observation::{DurableEvent, Observation, Settling};
use crate::queue_model::MessageStatus;

#[derive(Default)]
pub struct OneHolder {
    /// Locks of which some consumer knows.
    received: BTreeSet<Uid>,
    /// Locks that a consumer wants to settle.
    settling: BTreeSet<Uid>,
    given: BTreeSet<Uid>,
}

impl Checker for OneHolder {
    fn id(&self) -> &'static str {
        "Q3"
    }

    fn observe(&mut self, observation: &Observation, _accusations: &mut Violations<'_>) {
        match observation {
            Observation::MessageReceived { lock: Some((token, _)), .. } => {
                self.received.insert(*token);
            }
            Observation::SettleAsked { token, settling } if *settling != Settling::Renew => {
                self.settling.insert(*token);
            }
            _ => {}
        }
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        let QueueFact::Message { queue, no, at, fact } = &**fact else { return };
        if let MessageFact::Locked { token, .. } = fact
            && !self.given.insert(*token)
        {
            violations.add_violation(format!("the lock of message {} was given before", no.0));
        }
        let Some((_, kept)) = durable.queue_model.kept(durable.partition, *queue, *no) else { return };
        let MessageStatus::Locked { token, until } = kept.status else {
            if let MessageFact::Renewed { .. } = fact {
                violations.add_violation(format!("message {} is with nobody and was renewed", no.0));
            }
            return;
        };
        let by_consumer = match fact {
            MessageFact::Renewed { .. } | MessageFact::Left { how: Left::Completed } => true,
            // By its consumer, or by time. One whom it never reached has gone away.
            MessageFact::Returned { .. } | MessageFact::DeadLettered { .. } => false,
            MessageFact::Locked { .. }
            | MessageFact::Due
            | MessageFact::Redriven
            | MessageFact::Left { .. } => {
                let (no, until) = (no.0, until.0);
                return violations.add_violation(format!(
                    "message {no} is with a consumer until {until}, and at {}: {fact:?}",
                    at.0
                ));
            }
        };
        if by_consumer && until <= *at {
            violations.add_violation(format!("the lock of message {} had expired, and {fact:?}", no.0));
        }
        if !by_consumer && until > *at && self.received.contains(&token) && !self.settling.contains(&token) {
            violations.add_violation(format!("message {} was taken from its consumer by {fact:?}", no.0));
        }
    }
}
