//! Taking messages from a queue.

use std::sync::Arc;

use futures_util::StreamExt;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions, BasicRejectOptions,
};
use lapin::types::FieldTable;
use lapin::{Acker, Channel, Consumer};
use types::Message;

use super::{SendProgress, connect, convert, lost};
use crate::address::{AMQP, Address};
use crate::dial::Dialer;
use crate::receiver::Disposition;
use crate::{Login, ReceiveError, SendError};

/// A consumer with a connection of its own.
pub(crate) struct RabbitReceiver {
    consumer: Consumer,
    _channel: Channel,
    _connection: lapin::Connection,
}

/// Settles one message.
pub(crate) struct RabbitTicket {
    acker: Acker,
}

impl RabbitReceiver {
    pub(crate) async fn open(
        dialer: &Arc<Dialer>,
        url: &str,
        queue: &str,
        login: Option<&Login>,
        credit: u16,
    ) -> Result<RabbitReceiver, SendError> {
        let address = Address::parse(url, &AMQP).map_err(SendError::Refused)?;
        let queue = convert::short("the name of the queue", queue)?;
        let connection = connect(dialer, &address, login).await?;
        let consume = async {
            let channel = connection.create_channel().await?;
            channel.basic_qos(credit, BasicQosOptions::default()).await?;
            let options = BasicConsumeOptions::default();
            let consumer = channel.basic_consume(queue, "".into(), options, FieldTable::default()).await?;
            Ok((channel, consumer))
        };
        let (channel, consumer) = consume.await.map_err(|error| lost(&error, SendProgress::No))?;
        Ok(RabbitReceiver { consumer, _channel: channel, _connection: connection })
    }

    pub(crate) async fn next(&mut self) -> Result<(Message, RabbitTicket), ReceiveError> {
        match self.consumer.next().await {
            Some(Ok(delivery)) => {
                let message = convert::message(&delivery.properties, delivery.data);
                Ok((message, RabbitTicket { acker: delivery.acker }))
            }
            Some(Err(error)) => {
                Err(ReceiveError::Lost(format!("the connection to RabbitMQ is lost: {error}")))
            }
            None => Err(ReceiveError::Lost("RabbitMQ has ended the delivery: the queue is gone".to_owned())),
        }
    }
}

impl RabbitTicket {
    pub(crate) async fn settle(self, verdict: Disposition) -> Result<(), ReceiveError> {
        let settled = match verdict {
            Disposition::Accept => self.acker.ack(BasicAckOptions::default()).await,
            Disposition::Release => {
                self.acker.nack(BasicNackOptions { requeue: true, ..BasicNackOptions::default() }).await
            }
            Disposition::Reject => self.acker.reject(BasicRejectOptions { requeue: false }).await,
        };
        match settled {
            Ok(true) => Ok(()),
            Ok(false) => Err(ReceiveError::Lost("the channel of the delivery is closed".to_owned())),
            Err(error) => Err(ReceiveError::Lost(format!("the connection to RabbitMQ is lost: {error}"))),
        }
    }
}
