//! Sending: a send is done when the broker has confirmed it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use types::Message;

use crate::dial::Dialer;
use crate::pool::Pool;
use crate::{Destination, Guard, ReceiveError, Receiver, amqp, kafka, limits, nats, rabbit};

/// Sends messages over connections that it keeps open. Cheap to clone.
#[derive(Clone)]
pub struct Brokers {
    inner: Arc<BrokerPools>,
}

/// Why a message is not known to be with the broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The broker said no; the same message will not be taken later either.
    #[error("{0}")]
    Refused(String),
    /// It did not leave, or the broker said that it did not take it for now.
    #[error("{0}")]
    NotSent(String),
    /// It may have arrived: the confirmation was lost or came too late.
    #[error("{0}")]
    Unknown(String),
}

pub(crate) struct BrokerPools {
    pub dialer: Arc<Dialer>,
    pub amqp: Pool<amqp::AmqpConnection>,
    pub rabbit: Pool<rabbit::RabbitConnection>,
    pub nats: Pool<nats::NatsConnection>,
    pub kafka: Pool<kafka::KafkaConnection>,
    sweeper: Mutex<Option<JoinHandle<()>>>,
}

impl Brokers {
    /// Reaches what the guard lets pass, and trusts the certificates that the system trusts.
    pub fn new(guard: Arc<dyn Guard>) -> Brokers {
        Brokers::with_roots(guard, Vec::new())
    }

    /// Like [`Brokers::new`], and trusts these authorities too.
    pub fn with_roots(guard: Arc<dyn Guard>, roots: Vec<CertificateDer<'static>>) -> Brokers {
        let inner = BrokerPools {
            dialer: Arc::new(Dialer::new(guard, roots)),
            amqp: Pool::new(),
            rabbit: Pool::new(),
            nats: Pool::new(),
            kafka: Pool::new(),
            sweeper: Mutex::default(),
        };
        Brokers { inner: Arc::new(inner) }
    }

    /// Sends one message and waits until the broker has confirmed it, for at most `patience`.
    pub async fn send(
        &self,
        to: &Destination,
        message: &Message,
        patience: Duration,
    ) -> Result<(), SendError> {
        let inner = &self.inner;
        inner.keep_sweeping();
        let deadline = Instant::now() + patience;
        match to {
            Destination::Amqp { url, address, login } => {
                amqp::send(inner, url, address, login.as_ref(), message, deadline).await
            }
            Destination::RabbitMq { url, exchange, routing_key, login } => {
                let place = rabbit::RabbitTarget { exchange, routing_key };
                rabbit::send(inner, url, place, login.as_ref(), message, deadline).await
            }
            Destination::Nats { url, subject, stream, login } => {
                let place = nats::NatsTarget { subject, stream: *stream };
                nats::send(inner, url, place, login.as_ref(), message, deadline).await
            }
            Destination::Kafka { servers, topic, key, login } => {
                let place = kafka::KafkaTarget { topic, key: key.as_deref() };
                kafka::send(inner, servers, place, login.as_ref(), message, deadline).await
            }
        }
    }

    /// Takes messages from there; at most `credit` are unsettled at a time.
    pub async fn open(&self, origin: &crate::Origin, credit: u32) -> Result<Receiver, ReceiveError> {
        Receiver::open(self.inner.dialer.clone(), origin, credit).await
    }
}

impl BrokerPools {
    /// Starts the task that closes idle connections, or starts it again should it have ended.
    fn keep_sweeping(self: &Arc<BrokerPools>) {
        let mut sweeper = self.sweeper.lock().unwrap_or_else(PoisonError::into_inner);
        if sweeper.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let pools = Arc::downgrade(self);
        *sweeper = Some(tokio::spawn(async move {
            loop {
                tokio::time::sleep(limits::SWEEP).await;
                let Some(inner) = pools.upgrade() else { return };
                let now = Instant::now();
                inner.amqp.sweep(now);
                inner.rabbit.sweep(now);
                inner.nats.sweep(now);
                inner.kafka.sweep(now);
            }
        }));
    }
}

/// Bounds what happens before the message leaves: when time is up, it has not.
pub(crate) async fn before<T>(
    deadline: Instant,
    what: &str,
    work: impl Future<Output = Result<T, SendError>>,
) -> Result<T, SendError> {
    match timeout_at(deadline, work).await {
        Ok(result) => result,
        Err(_) => Err(SendError::NotSent(format!("{what}: no answer in time"))),
    }
}

/// What is said of a message that has left and was not confirmed in time.
pub(crate) fn unconfirmed() -> SendError {
    SendError::Unknown("the broker has not confirmed the message in time; it may have arrived".to_owned())
}
