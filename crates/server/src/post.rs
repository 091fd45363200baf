//! Built-in queues and topics as actions reach them. There are none yet, so every post is refused.

use effects::{Place, Post, PostError, Posting};
use words::Message;

pub(crate) struct NoQueues;

impl Post for NoQueues {
    fn post(&self, to: Place, _message: Message) -> Posting<'_> {
        let reason = match to {
            Place::Queue(_) => "no queue has this name",
            Place::Topic(_) => "no topic has this name",
        };
        Box::pin(std::future::ready(Err(PostError::Refused(reason.to_owned()))))
    }
}
