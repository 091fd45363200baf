//! What a work of a run sends, for people to see: rendered as for sending.

use engine::{Context, Stop, Subject, idempotency_key};
use types::Work;
use workflow::{Definition, Rendered};

use super::{Errand, Performer, prepare_call, render};
use crate::send::default_id;
use crate::shown::{Shown, ShownMessage};

impl Performer {
    /// The attempt as people may see it, with secrets masked; or why it could not be made.
    pub fn show(
        &self,
        subject: &Subject,
        context: &Context,
        work: Work,
        attempt: u32,
    ) -> Result<Shown, String> {
        let key = idempotency_key(subject, context, work);
        match subject {
            Subject::Job(occurrence) => self.0.jobs.show(occurrence, context, work, attempt, &key),
            Subject::Workflow { definition, version } => {
                let (version, stop) = (*version, &Stop::default());
                let errand = Errand { work, attempt, definition, version, context, key, stop };
                match render(&errand)? {
                    Rendered::Call(request) => {
                        let (request, _) = prepare_call(&errand, request)?;
                        Ok(Shown::call(request, self.0.client.region_epoch(), false))
                    }
                    Rendered::Send(sending) => {
                        Ok(Shown::Message(Box::new(shown(definition, &errand.key, *sending))))
                    }
                }
            }
        }
    }
}

fn shown(definition: &Definition, key: &str, sending: workflow::Sending) -> ShownMessage {
    let named = |service: &&workflow::Service| Some(&service.name) == sending.service.as_ref();
    let service = definition.services().iter().find(named);
    let mut message = sending.message;
    if message.id.is_empty() {
        message.id = default_id(key);
    }
    ShownMessage { to: sending.to, at: service.map(|service| service.url.clone()), message }
}
