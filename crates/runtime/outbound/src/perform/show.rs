//! What a work of a run sends, for people to see: rendered as for sending.

use order::{CallContext, CallSubject, Stop, idempotency_key};
use types::Work;
use workflow::{Definition, RenderedAction};

use super::{CallAttempt, Performer, prepare_call, render};
use crate::send::default_id;
use crate::shown::{CallPreview, MessagePreview};

impl Performer {
    /// The attempt as people may see it, with secrets masked; or why it could not be made.
    pub fn show(
        &self,
        subject: &CallSubject,
        context: &CallContext,
        work: Work,
        attempt: u32,
    ) -> Result<CallPreview, String> {
        let key = idempotency_key(subject, context, work);
        match subject {
            CallSubject::Job(occurrence) => self.0.jobs.show(occurrence, context, work, attempt, &key),
            CallSubject::Workflow { definition, version } => {
                let (version, stop) = (*version, &Stop::default());
                let attempt = CallAttempt { work, attempt, definition, version, context, key, stop };
                match render(&attempt)? {
                    RenderedAction::Call(request) => {
                        let (request, _) = prepare_call(&attempt, request)?;
                        Ok(CallPreview::call(request, self.0.client.region_epoch(), false))
                    }
                    RenderedAction::Send(sending) => {
                        Ok(CallPreview::Message(Box::new(shown(definition, &attempt.key, *sending))))
                    }
                }
            }
        }
    }
}

fn shown(definition: &Definition, key: &str, sending: workflow::RenderedMessage) -> MessagePreview {
    let named = |service: &&workflow::Service| Some(&service.name) == sending.service.as_ref();
    let service = definition.services().iter().find(named);
    let mut message = sending.message;
    if message.id.is_empty() {
        message.id = default_id(key);
    }
    MessagePreview { to: sending.to, at: service.map(|service| service.url.clone()), message }
}
