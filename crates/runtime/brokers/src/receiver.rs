//! Receiving: a message is the broker's until it is settled.

use std::sync::Arc;

use tokio::time::timeout;
use types::Message;

use crate::dial::Dialer;
use crate::nats::ConsumerSpec;
use crate::{Origin, SendError, amqp, limits, nats, rabbit};

/// Takes messages from one place, over a connection of its own. Dropped, it gives back what is not settled.
pub struct Receiver {
    kind: ReceiverKind,
}

enum ReceiverKind {
    Amqp(amqp::AmqpReceiver),
    RabbitMq(Box<rabbit::RabbitReceiver>),
    Nats(Box<nats::NatsReceiver>),
}

/// A message that is the broker's until it is settled, in any order. Dropped without, it stays unsettled until the
/// receiver is gone, or at NATS for a minute; then it comes again.
pub struct Delivery {
    pub message: Message,
    ticket: Ticket,
}

/// What a delivery is settled by.
enum Ticket {
    Amqp(amqp::AmqpTicket),
    RabbitMq(rabbit::RabbitTicket),
    Nats(Box<nats::NatsTicket>),
}

/// What becomes of a message that was received.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Disposition {
    Accept,
    Release,
    Reject,
}

/// Why there is no message, or none that can be settled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    /// The broker said no, and will say no again.
    #[error("{0}")]
    Refused(String),
    /// The connection is gone, or was never there: open again.
    #[error("{0}")]
    Lost(String),
}

impl Receiver {
    pub(crate) async fn open(
        dialer: Arc<Dialer>,
        origin: &Origin,
        credit: u32,
    ) -> Result<Receiver, ReceiveError> {
        let credit = credit.clamp(1, limits::CREDIT_MAX);
        let opening = async {
            match origin {
                Origin::Amqp { url, address, login } => {
                    amqp::AmqpReceiver::open(&dialer, url, address, login.as_ref(), credit)
                        .await
                        .map(ReceiverKind::Amqp)
                }
                Origin::RabbitMq { url, queue, login } => {
                    let credit = u16::try_from(credit).expect("the credit was cut to what fits");
                    let opened =
                        rabbit::RabbitReceiver::open(&dialer, url, queue, login.as_ref(), credit).await;
                    opened.map(|receiver| ReceiverKind::RabbitMq(Box::new(receiver)))
                }
                Origin::Nats { url, stream, subject, durable, login } => {
                    let wanted = ConsumerSpec { stream, subject: subject.as_deref(), durable };
                    let opened = nats::NatsReceiver::open(&dialer, url, wanted, login.as_ref(), credit).await;
                    opened.map(|receiver| ReceiverKind::Nats(Box::new(receiver)))
                }
            }
        };
        match timeout(limits::OPEN, opening).await {
            Ok(Ok(kind)) => Ok(Receiver { kind }),
            Ok(Err(SendError::Refused(told))) => Err(ReceiveError::Refused(told)),
            Ok(Err(SendError::NotSent(told) | SendError::Unknown(told))) => Err(ReceiveError::Lost(told)),
            Err(_) => Err(ReceiveError::Lost("opening the receiver: no answer in time".to_owned())),
        }
    }

    /// The next message, when there is one. Given up while it waits, nothing is lost.
    pub async fn next(&mut self) -> Result<Delivery, ReceiveError> {
        let (message, ticket) = match &mut self.kind {
            ReceiverKind::Amqp(receiver) => {
                let (message, ticket) = receiver.next().await?;
                (message, Ticket::Amqp(ticket))
            }
            ReceiverKind::RabbitMq(receiver) => {
                let (message, ticket) = receiver.next().await?;
                (message, Ticket::RabbitMq(ticket))
            }
            ReceiverKind::Nats(receiver) => {
                let (message, ticket) = receiver.next().await?;
                (message, Ticket::Nats(Box::new(ticket)))
            }
        };
        Ok(Delivery { message, ticket })
    }
}

impl Delivery {
    /// It is done: the broker forgets it.
    pub async fn accept(self) -> Result<(), ReceiveError> {
        self.settle(Disposition::Accept).await
    }

    /// The broker has it back, and delivers it again.
    pub async fn release(self) -> Result<(), ReceiveError> {
        self.settle(Disposition::Release).await
    }

    /// It is not delivered again; the broker puts it among its dead letters where it has such a place.
    pub async fn reject(self) -> Result<(), ReceiveError> {
        self.settle(Disposition::Reject).await
    }

    async fn settle(self, verdict: Disposition) -> Result<(), ReceiveError> {
        let settling = async {
            match self.ticket {
                Ticket::Amqp(ticket) => ticket.settle(verdict).await,
                Ticket::RabbitMq(ticket) => ticket.settle(verdict).await,
                Ticket::Nats(ticket) => ticket.settle(verdict).await,
            }
        };
        match timeout(limits::SETTLE, settling).await {
            Ok(settled) => settled,
            Err(_) => Err(ReceiveError::Lost("settling a message: no answer in time".to_owned())),
        }
    }
}
