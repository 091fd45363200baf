//! The consent of the standby, with which the active region continues if the witness does not respond.
//!
//! It is a lease in the NATS of the standby. An active region needs the lease of the witness or this consent; a promotion
//! needs the lease of the witness and its own consent back. So two of three places decide, and the loss of one stops
//! neither.
//!
//! The order of two steps makes this safe. The active region reads the standby's record before it reads and writes the
//! lease; a standby records its promotion before it takes the lease back. Whichever writes the lease first, the other one
//! finds the lease written, or the promotion recorded.

use std::time::Duration;

use tokio::time::Instant;

use crate::decide::lease::{Keys, Lease, LeaseReply, Overwrite};
use journal_nats::jetstream::{JetStream, JetStreamError};

pub(crate) struct Consent<K = JetStream> {
    /// The consent of the pair, for this region while it is active.
    asked: Lease<K>,
    /// The consent of this region, for its pair.
    given: Lease<K>,
}

impl Consent {
    /// Creates the bucket of this region's consent, if it does not exist.
    pub(crate) async fn create(&self, replicas: usize) -> Result<(), JetStreamError> {
        self.given.create(replicas).await
    }
}

impl<K: Keys> Consent<K> {
    pub(crate) fn new(here: K, there: K, installation: &str, region: &str, lives: Duration) -> Consent<K> {
        let lease = |keys| Lease::new(keys, format!("{installation}_consent"), region, lives);
        Consent { asked: lease(there), given: lease(here) }
    }

    /// Whether the pair has consented recently enough.
    pub(crate) fn is_held(&self) -> bool {
        self.asked.is_held()
    }

    /// Renews the consent of the pair under an epoch, if the record of the pair allows it.
    pub(crate) async fn renew(
        &self,
        epoch: u64,
        stands_by: impl Future<Output = Result<bool, JetStreamError>>,
    ) -> Result<bool, JetStreamError> {
        let begun = Instant::now();
        if !stands_by.await? || self.asked.take(epoch, Overwrite::OwnOrFree).await? != LeaseReply::Granted {
            return Ok(false);
        }
        self.asked.held_since(begun);
        Ok(true)
    }

    /// The region that holds the consent of this one.
    pub(crate) async fn given_to(&self) -> Result<Option<String>, JetStreamError> {
        self.given.held_by_another().await
    }

    /// Takes the consent back if it has expired. The promotion must be recorded before: from then on it is not renewed.
    pub(crate) async fn take_back(&self, epoch: u64) -> Result<LeaseReply, JetStreamError> {
        self.given.take(epoch, Overwrite::OwnOrFree).await
    }
}

#[cfg(test)]
mod tests;
