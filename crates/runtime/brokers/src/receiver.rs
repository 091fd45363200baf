//! Receiving: a message is the broker's until it is settled.

use std::sync::Arc;

use tokio::time::timeout;
use types::Message;

use crate::dial::Dialer;
use crate::protocol::{ProtocolReceiver, Ticket};
use crate::{MessageSource, SendError, limits};

/// Takes messages from one place, over a connection of its own. Dropped, it gives back what is not settled.
pub struct Receiver {
    receiver: ProtocolReceiver,
}

/// A message that is the broker's until it is settled, in any order. Dropped without, it stays unsettled until the
/// receiver is gone, or at NATS for a minute; then it comes again.
pub struct Delivery {
    pub message: Message,
    ticket: Ticket,
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
        source: &MessageSource,
        credit: u32,
    ) -> Result<Receiver, ReceiveError> {
        let credit = credit.clamp(1, limits::CREDIT_MAX);
        let opening = ProtocolReceiver::open(&dialer, source, credit);
        match timeout(limits::OPEN, opening).await {
            Ok(Ok(receiver)) => Ok(Receiver { receiver }),
            Ok(Err(SendError::Refused(reason))) => Err(ReceiveError::Refused(reason)),
            Ok(Err(SendError::NotSent(reason) | SendError::Unknown(reason))) => {
                Err(ReceiveError::Lost(reason))
            }
            Err(_) => Err(ReceiveError::Lost("opening the receiver: no answer in time".to_owned())),
        }
    }

    /// The next message, when there is one. Given up while it waits, nothing is lost.
    pub async fn next(&mut self) -> Result<Delivery, ReceiveError> {
        let (message, ticket) = self.receiver.next().await?;
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

    async fn settle(self, disposition: Disposition) -> Result<(), ReceiveError> {
        match timeout(limits::SETTLE, self.ticket.settle(disposition)).await {
            Ok(settled) => settled,
            Err(_) => Err(ReceiveError::Lost("settling a message: no answer in time".to_owned())),
        }
    }
}
