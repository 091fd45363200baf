//! Q3: a message is with one consumer at a time: what a consumer has locked or renewed stays with it until it settles
//! it or its lock expires by the queue's clock.

use std::collections::BTreeSet;

use kernel::Event;
use kernel::queue::{Left, MessageFact, QueueFact};
use types::Uid;

use super::{Accusations, Checker};
use crate::depot::Stands;
use crate::sighting::{Durable, Settling, Sighting};

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

    fn see(&mut self, sighting: &Sighting, _accusations: &mut Accusations<'_>) {
        match sighting {
            Sighting::MessageReceived { lock: Some((token, _)), .. } => {
                self.received.insert(*token);
            }
            Sighting::SettleAsked { token, settling } if *settling != Settling::Renew => {
                self.settling.insert(*token);
            }
            _ => {}
        }
    }

    fn see_event(&mut self, durable: &Durable<'_>, accusations: &mut Accusations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        let QueueFact::Message { queue, no, at, fact } = &**fact else { return };
        if let MessageFact::Locked { token, .. } = fact
            && !self.given.insert(*token)
        {
            accusations.accuse(format!("the lock of message {} was given before", no.0));
        }
        let Some((_, kept)) = durable.depot.kept(durable.partition, *queue, *no) else { return };
        let Stands::With { token, until } = kept.stands else {
            if let MessageFact::Renewed { .. } = fact {
                accusations.accuse(format!("message {} is with nobody and was renewed", no.0));
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
                return accusations.accuse(format!(
                    "message {no} is with a consumer until {until}, and at {}: {fact:?}",
                    at.0
                ));
            }
        };
        if by_consumer && until <= *at {
            accusations.accuse(format!("the lock of message {} had expired, and {fact:?}", no.0));
        }
        if !by_consumer && until > *at && self.received.contains(&token) && !self.settling.contains(&token) {
            accusations.accuse(format!("message {} was taken from its consumer by {fact:?}", no.0));
        }
    }
}
