//! Q2: a message leaves its queue once, and only by what was asked or by its time; what was completed never comes
//! back.

use std::collections::BTreeSet;

use kernel::Event;
use kernel::queue::{Left, MessageFact, MessageNo, QueueFact};
use types::Uid;

use super::{Accusations, Checker};
use crate::depot::Stands;
use crate::sighting::{Durable, Settling, Sighting};

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

    fn see(&mut self, sighting: &Sighting, accusations: &mut Accusations<'_>) {
        match sighting {
            Sighting::SettleAsked { token, settling: Settling::Complete } => {
                self.completing.insert(*token);
            }
            Sighting::Settled { at, no, settling: Settling::Complete, .. } => {
                self.completed.insert((at.clone(), *no));
            }
            Sighting::MessageReceived { at, no, .. } if self.completed.contains(&(at.clone(), *no)) => {
                accusations.accuse(format!("message {} of {at} was completed and came back", no.0));
            }
            Sighting::DeletingAsked { .. } => self.deleting = true,
            Sighting::PurgeAsked { .. } => self.purging = true,
            _ => {}
        }
    }

    fn see_event(&mut self, durable: &Durable<'_>, accusations: &mut Accusations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        let QueueFact::Message { queue, no, fact, .. } = &**fact else { return };
        let Some((_, kept)) = durable.depot.kept(durable.partition, *queue, *no) else {
            return accusations.accuse(format!("message {} had left its queue, and {fact:?}", no.0));
        };
        let MessageFact::Left { how } = fact else { return };
        let asked = match (how, kept.stands) {
            (Left::Completed, Stands::With { token, .. }) => self.completing.contains(&token),
            (Left::Taken, Stands::Ready) => self.deleting,
            (Left::Purged, Stands::Ready | Stands::Waits { .. }) => self.purging,
            // Whether its time had come is judged by Q8.
            (Left::Expired, Stands::Ready) => true,
            _ => false,
        };
        if !asked {
            accusations.accuse(format!("message {} was {:?} and left as {how:?}", no.0, kept.stands));
        }
    }
}
