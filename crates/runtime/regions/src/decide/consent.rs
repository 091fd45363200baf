//! The consent of the pair, by which an active region goes on although the witness does not answer.
//!
//! It is a lease in the NATS of the standby. An active region has the consent of the witness or of its pair, and one that
//! takes over has the witness and its own consent back: two of three places, so that the loss of any one stops nobody.
//!
//! Order keeps the two apart. The active region reads its pair's record before it reads and writes the lease; a standby
//! notes its promotion in that record before it takes the lease back. Whichever writes the lease first, the other one
//! finds it written, or finds the promotion noted.

use std::time::Duration;

use tokio::time::Instant;

use crate::decide::lease::{Keys, Lease, LeaseReply, Overwrite};
use journal_nats::jetstream::{JetStream, JetStreamError};

pub(crate) struct Consent<K = JetStream> {
    /// That of the pair, for this region while it is active.
    asked: Lease<K>,
    /// That of this region, for its pair.
    given: Lease<K>,
}

impl Consent {
    /// Makes the bucket of this region's consent, unless it is there.
    pub(crate) async fn make(&self, replicas: usize) -> Result<(), JetStreamError> {
        self.given.make(replicas).await
    }
}

impl<K: Keys> Consent<K> {
    pub(crate) fn new(here: K, there: K, installation: &str, region: &str, lives: Duration) -> Consent<K> {
        let lease = |keys| Lease::new(keys, format!("{installation}_consent"), region, lives);
        Consent { asked: lease(there), given: lease(here) }
    }

    /// Whether the pair has consented lately enough.
    pub(crate) fn holds(&self) -> bool {
        self.asked.holds()
    }

    /// Asks the pair for another while under an epoch, once its record says that it stands by.
    pub(crate) async fn ask_for(
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

    /// Who may go on by the consent of this region.
    pub(crate) async fn given_to(&self) -> Result<Option<String>, JetStreamError> {
        self.given.held_by_another().await
    }

    /// Takes it back, if it has run out. The promotion must have been noted: from then on nobody renews it.
    pub(crate) async fn take_back(&self, epoch: u64) -> Result<LeaseReply, JetStreamError> {
        self.given.take(epoch, Overwrite::OwnOrFree).await
    }
}

#[cfg(test)]
mod tests;
