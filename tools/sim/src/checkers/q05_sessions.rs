//! Q5: messages of one session are handed out one after another, in the order in which they were sent.

use kernel::Event;
use kernel::queue::{Left, MessageFact, QueueFact};

use super::{Accusations, Checker};
use crate::depot::Stands;
use crate::sighting::Durable;

pub struct Sessions;

impl Checker for Sessions {
    fn id(&self) -> &'static str {
        "Q5"
    }

    fn see_event(&mut self, durable: &Durable<'_>, accusations: &mut Accusations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        let QueueFact::Message { queue, no, fact, .. } = &**fact else { return };
        let (MessageFact::Locked { .. } | MessageFact::Left { how: Left::Taken }) = fact else { return };
        let Some((held, kept)) = durable.depot.kept(durable.partition, *queue, *no) else { return };
        if !held.spec.sessions || kept.dead {
            return;
        }
        let same = held.messages.iter().filter(|(other, each)| {
            **other != *no && !each.dead && each.session.is_some() && each.session == kept.session
        });
        for (other, each) in same {
            let (no, other_no) = (no.0, other.0);
            match each.stands {
                Stands::With { .. } => {
                    accusations
                        .accuse(format!("message {no} was handed out beside {other_no} of its session"));
                }
                Stands::Ready if other_no < no => {
                    accusations
                        .accuse(format!("message {no} was handed out before {other_no} of its session"));
                }
                Stands::Ready | Stands::Waits { .. } => {}
            }
        }
    }
}
