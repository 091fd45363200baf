//! The witness: NATS at a third place, which decides which region may be active when the two cannot reach each other.
//!
//! The active region renews a lease there. The highest epoch that was ever granted is kept beside it for ever, so that a
//! region that returns after a switch learns of it.

use std::time::Duration;

use tokio::time::Instant;

use crate::Settings;
use crate::decide::lease::{Keys, Lease, LeaseReply, Overwrite};
use journal_nats::jetstream::{JetStream, JetStreamError, bucket_config};

const KEY: &str = "epoch";

pub(crate) struct Witness<K = JetStream> {
    keys: K,
    lease: Lease<K>,
    grants: String,
}

impl Witness {
    pub(crate) fn at(witness: JetStream, settings: &Settings) -> Witness {
        Witness::new(
            witness.with_response_max(settings.answer),
            &settings.installation,
            &settings.name,
            settings.lease,
        )
    }

    /// Creates the buckets, if they do not exist.
    pub(crate) async fn create(&self) -> Result<(), JetStreamError> {
        self.lease.create(1).await?;
        self.keys.create_if_missing(&bucket_config(&self.grants, 1)).await
    }
}

impl<K: Keys + Clone> Witness<K> {
    pub(crate) fn new(keys: K, installation: &str, region: &str, lives: Duration) -> Witness<K> {
        let lease = Lease::new(keys.clone(), format!("{installation}_witness"), region, lives);
        Witness { keys, lease, grants: format!("{installation}_granted") }
    }

    /// Whether the lease was renewed recently enough.
    pub(crate) fn is_held(&self) -> bool {
        self.lease.is_held()
    }

    /// Renews or takes the lease under an epoch.
    pub(crate) async fn renew(&self, epoch: u64, overwrite: Overwrite) -> Result<LeaseReply, JetStreamError> {
        let begun = Instant::now();
        let (granted, revision) = self.granted().await?;
        if granted > epoch {
            return Ok(LeaseReply::Superseded(granted));
        }
        match self.lease.take(epoch, overwrite).await? {
            LeaseReply::Granted => {}
            no => return Ok(no),
        }
        if granted < epoch {
            let grant = epoch.to_string().into_bytes();
            match self.keys.replace(&self.grants, KEY, grant, revision).await {
                Ok(()) => {}
                Err(JetStreamError::Changed) => match self.granted().await?.0 {
                    granted if granted > epoch => return Ok(LeaseReply::Superseded(granted)),
                    granted if granted < epoch => return Err(JetStreamError::Changed),
                    // Another instance of this region has written the same.
                    _ => {}
                },
                Err(error) => return Err(error),
            }
        }
        self.lease.held_since(begun);
        Ok(LeaseReply::Granted)
    }

    /// The holder of the lease, if it is another region.
    pub(crate) async fn held_by_another(&self) -> Result<Option<String>, JetStreamError> {
        self.lease.held_by_another().await
    }

    /// The highest epoch that was ever granted; 0 if none was.
    pub(crate) async fn highest(&self) -> Result<u64, JetStreamError> {
        Ok(self.granted().await?.0)
    }

    /// The highest epoch that was ever granted, with its revision.
    async fn granted(&self) -> Result<(u64, u64), JetStreamError> {
        let Some((value, revision)) = self.keys.newest(&self.grants, KEY).await? else { return Ok((0, 0)) };
        let granted = std::str::from_utf8(&value).ok().and_then(|text| text.parse().ok());
        match granted {
            Some(granted) => Ok((granted, revision)),
            None => Err(JetStreamError::invalid(&self.grants, "the granted epoch is not a number")),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use test_brokers::{NatsCluster, NatsSettings};

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn instances_that_renew_at_the_same_moment_all_hold_the_lease() {
        let third = NatsCluster::start_with(NatsSettings { servers: 1, ..NatsSettings::default() }).unwrap();
        let settings = Settings::new("east", "west", "east", "sortie");
        let mut siblings = Vec::new();
        for _ in 0..6 {
            let client = async_nats::connect(&third.urls()[0]).await.unwrap();
            siblings.push(Witness::at(JetStream::new(client), &settings));
        }
        siblings[0].create().await.unwrap();
        for epoch in [1, 1, 3, 3] {
            let said = join_all(siblings.iter().map(|one| one.renew(epoch, Overwrite::OwnOrFree))).await;
            assert_eq!(said, vec![Ok(LeaseReply::Granted); 6], "epoch {epoch}");
            assert!(siblings.iter().all(Witness::is_held));
        }
        let west = Settings::new("west", "east", "east", "sortie");
        let client = async_nats::connect(&third.urls()[0]).await.unwrap();
        let west = Witness::at(JetStream::new(client), &west);
        assert_eq!(west.renew(4, Overwrite::OwnOrFree).await, Ok(LeaseReply::HeldBy("east".to_owned())));
        assert!(!west.is_held());
        assert_eq!(west.renew(4, Overwrite::Any).await, Ok(LeaseReply::Granted));
        assert_eq!(siblings[0].renew(3, Overwrite::OwnOrFree).await, Ok(LeaseReply::Superseded(4)));
    }
}
