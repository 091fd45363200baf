//! Taking messages from a stream, by a durable consumer that remembers what is done.

use std::sync::Arc;

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::consumer::{AckPolicy, PullConsumer};
use async_nats::jetstream::stream::Stream;
use async_nats::jetstream::{self, AckKind};
use futures_util::StreamExt;
use types::Message;

use super::{NatsConnection, asking, convert, servers, with_source};
use crate::dial::Dialer;
use crate::receiver::Disposition;
use crate::{Login, ReceiveError, SendError, limits};

pub(crate) struct NatsReceiver {
    messages: pull::Stream,
}

/// Settles one message.
pub(crate) struct NatsTicket {
    incoming: jetstream::Message,
}

/// What to take: a stream, its subject where not all of it, and the name under which it is remembered.
#[derive(Clone, Copy)]
pub(crate) struct ConsumerSpec<'a> {
    pub stream: &'a str,
    pub subject: Option<&'a str>,
    pub durable: &'a str,
}

impl NatsReceiver {
    pub(crate) async fn open(
        dialer: &Arc<Dialer>,
        url: &str,
        wanted: ConsumerSpec<'_>,
        login: Option<&Login>,
        credit: u32,
    ) -> Result<NatsReceiver, SendError> {
        let connection = NatsConnection::open(dialer, &servers(url)?, login).await?;
        let context = asking(connection.client);
        let stream = context.get_stream(wanted.stream).await.map_err(|error| {
            SendError::Refused(format!(
                "the stream {:?} of JetStream: {}",
                wanted.stream,
                with_source(&error)
            ))
        })?;
        let consumer = consumer(&stream, wanted, credit).await?;
        let batch = usize::try_from(credit).expect("32 bits fit");
        let messages = consumer.stream().max_messages_per_batch(batch).messages().await;
        let messages = messages
            .map_err(|error| SendError::NotSent(format!("asking JetStream for messages: {error}")))?;
        Ok(NatsReceiver { messages })
    }

    pub(crate) async fn next(&mut self) -> Result<(Message, NatsTicket), ReceiveError> {
        let incoming = match self.messages.next().await {
            Some(Ok(incoming)) => incoming,
            Some(Err(error)) => {
                return Err(ReceiveError::Lost(format!(
                    "the delivery of JetStream: {}",
                    with_source(&error)
                )));
            }
            None => return Err(ReceiveError::Lost("the connection to NATS is lost".to_owned())),
        };
        let place = || {
            let info = incoming.info().ok();
            info.map(|info| format!("{}/{}", info.stream, info.stream_sequence)).unwrap_or_default()
        };
        Ok((convert::message(&incoming.message, place), NatsTicket { incoming }))
    }
}

async fn consumer(stream: &Stream, wanted: ConsumerSpec<'_>, credit: u32) -> Result<PullConsumer, SendError> {
    let subject = wanted.subject.unwrap_or_default();
    let config = pull::Config {
        durable_name: Some(wanted.durable.to_owned()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: limits::NATS_ACK_WAIT,
        filter_subject: subject.to_owned(),
        max_ack_pending: i64::from(credit),
        ..pull::Config::default()
    };
    let name = wanted.durable;
    let refused = |error: &dyn std::error::Error| {
        SendError::Refused(format!("the consumer {name:?} of JetStream: {}", with_source(error)))
    };
    if let Ok(found) = stream.consumer_info(name).await
        && (found.config.filter_subject != subject || found.config.ack_policy != AckPolicy::Explicit)
    {
        return Err(SendError::Refused(format!(
            "the consumer {name:?} of JetStream already exists, and receives {:?}; choose another name, or delete it",
            found.config.filter_subject
        )));
    }
    // One that is there takes the new credit.
    stream.create_consumer(config).await.map_err(|error| refused(&error))
}

impl NatsTicket {
    /// The server has answered when this is done. JetStream has no place for dead letters: what is rejected is not
    /// delivered again, and stays in the stream as long as the stream keeps it.
    pub(crate) async fn settle(self, verdict: Disposition) -> Result<(), ReceiveError> {
        let kind = match verdict {
            Disposition::Accept => AckKind::Ack,
            Disposition::Release => AckKind::Nak(None),
            Disposition::Reject => AckKind::Term,
        };
        let settled = self.incoming.double_ack_with(kind).await;
        settled.map_err(|error| ReceiveError::Lost(format!("the connection to NATS is lost: {error}")))
    }
}
