//! Q5: messages of one session are handed out one after another, in the order in which they were sent.

use kernel::Event;
use kernel::queue::{Left, MessageFact, QueueFact};

use super::{Checker, Violations};
use crate::observation::DurableEvent;
use crate::queue_model::MessageStatus;

pub struct Sessions;

impl Checker for Sessions {
    fn id(&self) -> &'static str {
        "Q5"
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        let QueueFact::Message { queue, no, fact, .. } = &**fact else { return };
        let (MessageFact::Locked { .. } | MessageFact::Left { how: Left::Taken }) = fact else { return };
        let Some((held, kept)) = durable.queue_model.kept(durable.partition, *queue, *no) else { return };
        if !held.spec.sessions || kept.dead {
            return;
        }
        let same = held.messages.iter().filter(|(other, each)| {
            **other != *no && !each.dead && each.session.is_some() && each.session == kept.session
        });
        for (other, each) in same {
            let (no, other_no) = (no.0, other.0);
            match each.status {
                MessageStatus::Locked { .. } => {
                    violations.add_violation(format!(
                        "message {no} was handed out beside {other_no} of its session"
                    ));
                }
                MessageStatus::Ready if other_no < no => {
                    violations.add_violation(format!(
                        "message {no} was handed out before {other_no} of its session"
                    ));
                }
                MessageStatus::Ready | MessageStatus::Scheduled { .. } => {}
            }
        }
    }
}
