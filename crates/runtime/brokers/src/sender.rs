//! Sending: a send is done when the broker has confirmed it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use types::Message;

use crate::dial::Dialer;
use crate::protocol::BrokerPools;
use crate::{Guard, MessageSource, MessageTarget, ReceiveError, Receiver, limits};

/// Sends messages over connections that it keeps open. Cheap to clone.
#[derive(Clone)]
pub struct Brokers {
    inner: Arc<BrokersInner>,
}

/// Why a message is not known to be with the broker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The broker refused the message and would refuse it again.
    #[error("{0}")]
    Refused(String),
    /// The message was not sent, or the broker does not take it at the moment.
    #[error("{0}")]
    NotSent(String),
    /// It may have arrived: the confirmation was lost or came too late.
    #[error("{0}")]
    Unknown(String),
}

struct BrokersInner {
    pools: BrokerPools,
    sweeper: Mutex<Option<JoinHandle<()>>>,
}

impl Brokers {
    /// Reaches what the guard lets pass, and trusts the certificates that the system trusts.
    pub fn new(guard: Arc<dyn Guard>) -> Brokers {
        Brokers::with_roots(guard, Vec::new())
    }

    /// Like [`Brokers::new`], and trusts these authorities too.
    pub fn with_roots(guard: Arc<dyn Guard>, roots: Vec<CertificateDer<'static>>) -> Brokers {
        let pools = BrokerPools::new(Dialer::new(guard, roots));
        let inner = BrokersInner { pools, sweeper: Mutex::default() };
        Brokers { inner: Arc::new(inner) }
    }

    /// Sends one message and waits until the broker has confirmed it, for at most `patience`.
    pub async fn send(
        &self,
        target: &MessageTarget,
        message: &Message,
        patience: Duration,
    ) -> Result<(), SendError> {
        self.inner.keep_sweeping();
        self.inner.pools.send(target, message, Instant::now() + patience).await
    }

    /// Takes messages from there; at most `credit` are unsettled at a time.
    pub async fn open(&self, source: &MessageSource, credit: u32) -> Result<Receiver, ReceiveError> {
        Receiver::open(self.inner.pools.dialer.clone(), source, credit).await
    }
}

impl BrokersInner {
    /// Starts the task that closes idle connections, or starts it again should it have ended.
    fn keep_sweeping(self: &Arc<BrokersInner>) {
        let mut sweeper = self.sweeper.lock().unwrap_or_else(PoisonError::into_inner);
        if sweeper.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        let pools = Arc::downgrade(self);
        *sweeper = Some(tokio::spawn(async move {
            loop {
                tokio::time::sleep(limits::SWEEP).await;
                let Some(inner) = pools.upgrade() else { return };
                inner.pools.sweep(Instant::now());
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
