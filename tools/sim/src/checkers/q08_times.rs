//! Q8: a message is not handed out before its time or after it, by the wall clock, and what expires ends as its
//! queue says.

use kernel::Event;
use kernel::queue::{Left, MessageFact, QueueFact};

use super::{Checker, Violations};
use crate::observation::DurableEvent;
use crate::queue_model::MessageStatus;

pub struct Times;

impl Checker for Times {
    fn id(&self) -> &'static str {
        "Q8"
    }

    fn observe_event(&mut self, durable: &DurableEvent<'_>, violations: &mut Violations<'_>) {
        let Event::Queue(fact) = durable.event else { return };
        if let QueueFact::Message { at, .. } = &**fact
            && *at != durable.wall
        {
            let (at, wall) = (at.0, durable.wall.0);
            violations.add_violation(format!("a fact of a message is of {at}, the wall shows {wall}"));
        }
        let QueueFact::Message { queue, no, at, fact } = &**fact else { return };
        let Some((held, kept)) = durable.queue_model.kept(durable.partition, *queue, *no) else { return };
        let no = no.0;
        let expired = kept.expires_at.is_some_and(|expires_at| expires_at <= *at);
        match fact {
            MessageFact::Locked { .. } | MessageFact::Left { how: Left::Taken } => {
                if let MessageStatus::Scheduled { at: due } = kept.status {
                    violations.add_violation(format!("message {no} was handed out, and is due at {}", due.0));
                }
                if expired && !kept.dead {
                    violations.add_violation(format!("message {no} was handed out after it had expired"));
                }
            }
            MessageFact::Due => match kept.status {
                MessageStatus::Scheduled { at: due } if due <= *at => {}
                status => violations
                    .add_violation(format!("message {no} became due at {} and was {status:?}", at.0)),
            },
            MessageFact::Left { how: Left::Expired }
                if !expired || kept.dead || held.spec.dead_letter_expired =>
            {
                violations
                    .add_violation(format!("message {no} expired at {}, {:?}, {kept:?}", at.0, held.spec));
            }
            MessageFact::DeadLettered { reason, .. }
                if reason == "TTLExpiredException" && !(expired && held.spec.dead_letter_expired) =>
            {
                violations.add_violation(format!(
                    "message {no} is a dead letter at {} as if expired, {kept:?}",
                    at.0
                ));
            }
            _ => {}
        }
    }
}
