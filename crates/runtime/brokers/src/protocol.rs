//! The protocols of external brokers: one module each, chosen by the kind of destination or origin.

mod amqp;
mod kafka;
mod nats;
mod rabbit;

use std::sync::Arc;

use action::{BrokerDestination, BrokerOrigin};
use tokio::time::Instant;
use types::Message;

use crate::dial::Dialer;
use crate::pool::Pool;
use crate::receiver::Disposition;
use crate::{MessageSource, MessageTarget, ReceiveError, SendError};

use self::nats::ConsumerSpec;

/// The connections that sends share.
pub(crate) struct BrokerPools {
    pub dialer: Arc<Dialer>,
    amqp: Pool<amqp::AmqpConnection>,
    rabbit: Pool<rabbit::RabbitConnection>,
    nats: Pool<nats::NatsConnection>,
    kafka: Pool<kafka::KafkaConnection>,
}

impl BrokerPools {
    pub(crate) fn new(dialer: Dialer) -> BrokerPools {
        BrokerPools {
            dialer: Arc::new(dialer),
            amqp: Pool::new(),
            rabbit: Pool::new(),
            nats: Pool::new(),
            kafka: Pool::new(),
        }
    }

    /// Closes connections that are idle.
    pub(crate) fn sweep(&self, now: Instant) {
        self.amqp.sweep(now);
        self.rabbit.sweep(now);
        self.nats.sweep(now);
        self.kafka.sweep(now);
    }

    /// Sends one message and waits for the broker's confirmation until `deadline`.
    pub(crate) async fn send(
        &self,
        target: &MessageTarget,
        message: &Message,
        deadline: Instant,
    ) -> Result<(), SendError> {
        let (url, login) = (target.endpoint.url.as_str(), target.endpoint.login.as_ref());
        match &target.to {
            BrokerDestination::Amqp { address } => {
                amqp::send(self, url, address, login, message, deadline).await
            }
            BrokerDestination::RabbitMq { exchange, routing_key } => {
                let exchange = exchange.as_deref().unwrap_or_default();
                let to = rabbit::RabbitTarget { exchange, routing_key };
                rabbit::send(self, url, to, login, message, deadline).await
            }
            BrokerDestination::Nats { subject, stream } => {
                let to = nats::NatsTarget { subject, stream: stream.unwrap_or(true) };
                nats::send(self, url, to, login, message, deadline).await
            }
            BrokerDestination::Kafka { topic, key } => {
                let to = kafka::KafkaTarget { topic, key: key.as_deref().filter(|key| !key.is_empty()) };
                kafka::send(self, url, to, login, message, deadline).await
            }
        }
    }
}

/// A receiver of one protocol.
pub(crate) enum ProtocolReceiver {
    Amqp(amqp::AmqpReceiver),
    RabbitMq(Box<rabbit::RabbitReceiver>),
    Nats(Box<nats::NatsReceiver>),
}

/// What a delivery of one protocol is settled by.
pub(crate) enum Ticket {
    Amqp(amqp::AmqpTicket),
    RabbitMq(rabbit::RabbitTicket),
    Nats(Box<nats::NatsTicket>),
}

impl ProtocolReceiver {
    pub(crate) async fn open(
        dialer: &Arc<Dialer>,
        source: &MessageSource,
        credit: u32,
    ) -> Result<ProtocolReceiver, SendError> {
        let (url, login) = (source.endpoint.url.as_str(), source.endpoint.login.as_ref());
        match &source.from {
            BrokerOrigin::Amqp { address } => {
                let opened = amqp::AmqpReceiver::open(dialer, url, address, login, credit).await;
                opened.map(ProtocolReceiver::Amqp)
            }
            BrokerOrigin::RabbitMq { queue } => {
                let credit = u16::try_from(credit).expect("the credit was cut to what fits");
                let opened = rabbit::RabbitReceiver::open(dialer, url, queue, login, credit).await;
                opened.map(|receiver| ProtocolReceiver::RabbitMq(Box::new(receiver)))
            }
            BrokerOrigin::Nats { stream, subject } => {
                let subject = subject.as_deref();
                let wanted = ConsumerSpec { stream, subject, durable: &source.consumer };
                let opened = nats::NatsReceiver::open(dialer, url, wanted, login, credit).await;
                opened.map(|receiver| ProtocolReceiver::Nats(Box::new(receiver)))
            }
        }
    }

    pub(crate) async fn next(&mut self) -> Result<(Message, Ticket), ReceiveError> {
        Ok(match self {
            ProtocolReceiver::Amqp(receiver) => {
                let (message, ticket) = receiver.next().await?;
                (message, Ticket::Amqp(ticket))
            }
            ProtocolReceiver::RabbitMq(receiver) => {
                let (message, ticket) = receiver.next().await?;
                (message, Ticket::RabbitMq(ticket))
            }
            ProtocolReceiver::Nats(receiver) => {
                let (message, ticket) = receiver.next().await?;
                (message, Ticket::Nats(Box::new(ticket)))
            }
        })
    }
}

impl Ticket {
    pub(crate) async fn settle(self, disposition: Disposition) -> Result<(), ReceiveError> {
        match self {
            Ticket::Amqp(ticket) => ticket.settle(disposition).await,
            Ticket::RabbitMq(ticket) => ticket.settle(disposition).await,
            Ticket::Nats(ticket) => ticket.settle(disposition).await,
        }
    }
}
