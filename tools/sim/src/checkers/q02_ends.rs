//! Q2: a message leaves its queue once, and only by what was asked or by its time; what was completed never comes
//! back.

use std::collections::BTreeSet;

use kernel::Event;
use kernel::queue::{Left, MessageFact, MessageNo, QueueFact};
use types::Uid;

use super::{Checker, Violations};
use crate::observation::{DurableEvent, Observation, Settling};
use crate::queue_model::MessageStatus;

#[derive(Default)]
pub struct Ends {
    completing: BTreeSet<Uid>,
    completed: BTreeSet<(String, MessageNo)>,
    deleting: bool,
    purging: bool,
}

impl Checker for Ends {
    fn id(&self) -> &'static str {
        "Q2"
    }

    fn observe(&mut self, observation: &Observation, violations: &mut Violations<'_>) {
        match observation {
            Observation::SettleAsked { token, settling: Settling::Complete } => {
                self.completing.insert(*token);
            }
            Observation::Settled { at, no, settling: Settling::Complete, .. } => {
                self.completed.insert((at.clone(), *no));
            }
            Observation::MessageReceived { at, no, .. } if self.completed.contains(&(at.clone(), *no)) => {
                violations.add_violation(format!("message {} of {at} was completed and came back", no.0));
            }
            Observation::DeletingAsked { .. } => self.deleting = true,
            Observation::PurgeAsked { .. } => self.purging = true,
            _ => {}
        }
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        let QueueFact::Message { queue, no, fact, .. } = &**fact else { return };
        let Some((_, kept)) = durable.queue_model.kept(durable.partition, *queue, *no) else {
            return violations.add_violation(format!("message {} had left its queue, and {fact:?}", no.0));
        };
        let MessageFact::Left { how } = fact else { return };
        let asked = match (how, kept.status) {
            (Left::Completed, MessageStatus::Locked { token, .. }) => self.completing.contains(&token),
            (Left::Taken, MessageStatus::Ready) => self.deleting,
            (Left::Purged, MessageStatus::Ready | MessageStatus::Scheduled { .. }) => self.purging,
            // Whether its time had come is judged by Q8.
            (Left::Expired, MessageStatus::Ready) => true,
            _ => false,
        };
        if !asked {
            violations.add_violation(format!("message {} was {:?} and left as {how:?}", no.0, kept.status));
        }
    }
}
