//! Messages of workflows: their services' addresses and secrets, put together with what was rendered.

use action::{BrokerDestination, Destination, Transport};
use brokers::Endpoint;
use sha2::{Digest, Sha256};
use types::{Message, Ticks};
use vault::Secret;
use workflow::{RenderedMessage, Service};

use super::{CallAttempt, NotSent, PerformerInner};
use crate::post::PostTarget;
use crate::send::{BusEntity, Facts, SendTarget, StorageQueue, default_id};
use crate::sign_in;

impl PerformerInner {
    pub(super) fn prepare_message(
        &self,
        attempt: &CallAttempt<'_>,
        sending: RenderedMessage,
    ) -> Result<(SendTarget, Message), NotSent> {
        let mut message = sending.message;
        if message.id.is_empty() {
            message.id = default_id(&attempt.key);
        }
        let named = |service: &&Service| Some(&service.name) == sending.service.as_ref();
        let service = attempt.definition.services().iter().find(named);
        let kind = sending.to.destination_type().name();
        let service = || service.ok_or_else(|| NotSent::Permanent(format!("{kind} has no service")));
        let target = match sending.to {
            Destination::Queue { queue } => SendTarget::BuiltIn(PostTarget::Queue(queue)),
            Destination::Topic { topic } => SendTarget::BuiltIn(PostTarget::Topic(topic)),
            Destination::StorageQueue { queue, envelope } => {
                let service = service()?;
                SendTarget::Storage(StorageQueue {
                    account: service.url.clone(),
                    queue,
                    sas: self.secret_of(service)?,
                    envelope: envelope.then(|| self.facts(attempt)),
                })
            }
            Destination::ServiceBus { entity, transport: Transport::Https } => {
                let service = service()?;
                let key = service.username.clone().zip(self.secret_of(service)?);
                SendTarget::Bus(BusEntity { base: service.url.clone(), entity, key })
            }
            Destination::ServiceBus { entity: address, transport: Transport::Amqp } => {
                SendTarget::Broker(self.endpoint_of(service()?)?.target(BrokerDestination::Amqp { address }))
            }
            Destination::Broker(to) => SendTarget::Broker(self.endpoint_of(service()?)?.target(to)),
        };
        Ok((target, message))
    }

    fn secret_of(&self, service: &Service) -> Result<Option<Secret>, NotSent> {
        sign_in::secret_of(service, self.environment).map_err(NotSent::Retryable)
    }

    fn endpoint_of(&self, service: &Service) -> Result<Endpoint, NotSent> {
        let login = sign_in::login_of(service, self.environment).map_err(NotSent::Retryable)?;
        Ok(Endpoint::new(service.url.clone(), login))
    }

    /// What a step tells in the envelope of a scheduler: its workflow stands for the collection, its run for the job.
    fn facts(&self, attempt: &CallAttempt<'_>) -> Facts {
        let tag = Sha256::digest(attempt.context.run_id.as_str());
        Facts {
            execution_tag: tag[..16].iter().map(|byte| format!("{byte:02x}")).collect(),
            expected_at: Ticks::from(self.clock.now()),
            job: attempt.context.run_id.to_string(),
            collection: attempt.definition.name().to_string(),
            region: self.jobs.region.clone(),
        }
    }
}
