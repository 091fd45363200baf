//! Messages of workflows: their services' addresses and secrets, put together with what was rendered.

use brokers::{Destination, Login};
use sha2::{Digest, Sha256};
use types::{Message, Ticks};
use vault::Secret;
use workflow::{RenderedMessage, SendTo, Service, Transport};

use super::{CallAttempt, NotSent, PerformerInner};
use crate::post::PostTarget;
use crate::send::{BusEntity, Facts, SendTarget, StorageQueue, default_id};
use crate::sign_in;

impl PerformerInner {
    pub(super) fn prepare_message(
        &self,
        errand: &CallAttempt<'_>,
        sending: RenderedMessage,
    ) -> Result<(SendTarget, Message), NotSent> {
        let mut message = sending.message;
        if message.id.is_empty() {
            message.id = default_id(&errand.key);
        }
        let named = |service: &&Service| Some(&service.name) == sending.service.as_ref();
        let service = errand.definition.services().iter().find(named);
        let service = |what| service.ok_or_else(|| NotSent::Permanent(format!("{what} has no service")));
        let target = match sending.to {
            SendTo::Queue(name) => SendTarget::BuiltIn(PostTarget::Queue(name)),
            SendTo::Topic(name) => SendTarget::BuiltIn(PostTarget::Topic(name)),
            SendTo::StorageQueue { queue, envelope } => {
                let service = service("storage_queue")?;
                SendTarget::Storage(StorageQueue {
                    account: service.url.clone(),
                    queue,
                    sas: self.secret_of(service)?,
                    envelope: envelope.then(|| self.facts(errand)),
                })
            }
            SendTo::ServiceBus { entity, transport: Transport::Https } => {
                let service = service("service_bus")?;
                let key = service.username.clone().zip(self.secret_of(service)?);
                SendTarget::Bus(BusEntity { base: service.url.clone(), entity, key })
            }
            SendTo::ServiceBus { entity: address, transport: Transport::Amqp } | SendTo::Amqp { address } => {
                let service = service("amqp")?;
                let (url, login) = (service.url.clone(), self.login_of(service)?);
                SendTarget::Broker(Destination::Amqp { url, address, login })
            }
            SendTo::RabbitMq { exchange, routing_key } => {
                let service = service("rabbitmq")?;
                let (url, login) = (service.url.clone(), self.login_of(service)?);
                SendTarget::Broker(Destination::RabbitMq { url, exchange, routing_key, login })
            }
            SendTo::Nats { subject, stream } => {
                let service = service("nats")?;
                let (url, login) = (service.url.clone(), self.login_of(service)?);
                SendTarget::Broker(Destination::Nats { url, subject, stream, login })
            }
            SendTo::Kafka { topic, key } => {
                let service = service("kafka")?;
                let servers = service.url.trim_start_matches("kafka://").replace("kafka://", "");
                SendTarget::Broker(Destination::Kafka { servers, topic, key, login: self.login_of(service)? })
            }
        };
        Ok((target, message))
    }

    fn secret_of(&self, service: &Service) -> Result<Option<Secret>, NotSent> {
        sign_in::secret_of(service, self.environment).map_err(NotSent::Retryable)
    }

    fn login_of(&self, service: &Service) -> Result<Option<Login>, NotSent> {
        sign_in::login_of(service, self.environment).map_err(NotSent::Retryable)
    }

    /// What a step tells in the envelope of a scheduler: its workflow stands for the collection, its run for the job.
    fn facts(&self, errand: &CallAttempt<'_>) -> Facts {
        let tag = Sha256::digest(errand.context.run_id.as_str());
        Facts {
            execution_tag: tag[..16].iter().map(|byte| format!("{byte:02x}")).collect(),
            expected_at: Ticks::from(self.clock.now()),
            job: errand.context.run_id.to_string(),
            collection: errand.definition.name().to_string(),
            region: self.jobs.region.clone(),
        }
    }
}
