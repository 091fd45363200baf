//! A connection to NATS that reports unknown outcomes as stored, or sends claims without their guard.

use bytes::Bytes;
use journal_nats::jetstream::JetStreamError;
use journal_nats::{Bounds, Outgoing, PublishError, Source, Wire};
use tokio::sync::watch;

use super::Fault;
use crate::cluster::is_claim;

#[derive(Clone)]
pub struct FaultyWire<W>(pub W);

impl<W: Wire> Wire for FaultyWire<W> {
    async fn publish(&self, mut message: Outgoing) -> Result<u64, PublishError> {
        let expected_last = message.expected_last;
        if Fault::ClaimNotGuarded.is_awake() && is_claim(&message.payload) {
            message.expected_last = None;
        }
        match (self.0.publish(message).await, expected_last) {
            (Err(PublishError::Unknown(_)), Some(last)) if Fault::UnknownTakenForStored.is_awake() => {
                Ok(last + 1)
            }
            (published, _) => published,
        }
    }

    async fn bounds(&self, stream: &str) -> Result<Bounds, JetStreamError> {
        self.0.bounds(stream).await
    }

    async fn get(
        &self,
        stream: &str,
        sequence: u64,
        source: Source,
    ) -> Result<Option<Bytes>, JetStreamError> {
        self.0.get(stream, sequence, source).await
    }

    async fn range(
        &self,
        stream: &str,
        from: u64,
        through: u64,
        bytes_max: usize,
    ) -> Result<Vec<(u64, Bytes)>, JetStreamError> {
        self.0.range(stream, from, through, bytes_max).await
    }

    async fn purge(&self, stream: &str, first: u64) -> Result<(), JetStreamError> {
        self.0.purge(stream, first).await
    }

    fn follow(&self, stream: &str) -> watch::Receiver<u64> {
        self.0.follow(stream)
    }
}
