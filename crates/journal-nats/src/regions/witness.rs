//! A third place that decides which region may be active when the two cannot see each other.
//!
//! The active region renews a lease there and lets go well before it can expire; only an expired lease can be taken.
//! The highest epoch that was ever granted is kept beside it for good, so that whoever slept through a change knows.

use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

use async_nats::Client;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

use super::domain::{Domain, DomainError};
use super::promote::Mode;
use super::record::bucket_config;
use super::role::Role;
use super::{Inner, Next, RegionError, Settings};

const LOOK_EVERY: Duration = Duration::from_millis(500);
const KEY: &str = "lease";

pub(super) struct Witness {
    domain: Domain,
    region: String,
    leases: String,
    grants: String,
    /// How long a lease lives without a renewal.
    lease: Duration,
    // A lock: one moment, read and written in passing.
    held_until: Mutex<Option<Instant>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Lease {
    region: String,
    epoch: u64,
}

/// What the witness said to a region that wants to be active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    Yes,
    /// The other one has the lease.
    HeldBy(String),
    /// A higher epoch was granted since.
    Overtaken(u64),
}

impl Witness {
    pub(super) fn new(client: Client, settings: &Settings) -> Witness {
        Witness {
            domain: Domain::here(client, settings.answer),
            region: settings.name.clone(),
            leases: format!("{}_witness", settings.installation),
            grants: format!("{}_granted", settings.installation),
            lease: settings.lease,
            held_until: Mutex::new(None),
        }
    }

    /// Makes the buckets, unless they are there.
    pub(super) async fn make(&self) -> Result<(), DomainError> {
        for (bucket, lives_ns) in [(&self.leases, self.lease.as_nanos()), (&self.grants, 0)] {
            if self.domain.info(&format!("KV_{bucket}")).await == Err(DomainError::Missing) {
                let mut config = bucket_config(bucket, 1);
                config.insert("max_age".to_owned(), json!(u64::try_from(lives_ns).unwrap_or(u64::MAX)));
                self.domain.create(&config).await?;
            }
        }
        Ok(())
    }

    /// How long after its last renewal a region goes on: short of the lease by more than an answer can take.
    fn hold(&self) -> Duration {
        self.lease * 2 / 3
    }

    fn renew_every(&self) -> Duration {
        self.lease / 6
    }

    /// Whether the lease was renewed lately enough.
    pub(super) fn holds(&self) -> bool {
        let until = *self.held_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Renews the lease under an epoch, or takes it.
    async fn ask_for(&self, epoch: u64, hold: Hold) -> Result<Said, DomainError> {
        let begun = Instant::now();
        let (granted, grant_revision) = self.granted().await?;
        if granted > epoch {
            return Ok(Said::Overtaken(granted));
        }
        let (lease, revision) = self.lease().await?;
        if let Some(lease) = lease
            && hold == Hold::MineOrFree
            && lease.region != self.region
        {
            return Ok(Said::HeldBy(lease.region));
        }
        let lease = json!({ "region": self.region, "epoch": epoch }).to_string().into_bytes();
        match self.domain.put(&self.leases, KEY, lease, Some(revision)).await {
            Ok(_) => {}
            // Another instance was faster. If it is one of ours, it has renewed for all of us, and later than this began.
            Err(DomainError::Changed) => match self.lease().await?.0 {
                Some(lease) if lease.region == self.region && lease.epoch == epoch => {}
                Some(lease) => return Ok(Said::HeldBy(lease.region)),
                None => return Ok(Said::HeldBy("nobody any more".to_owned())),
            },
            Err(error) => return Err(error),
        }
        if granted < epoch {
            let grant = epoch.to_string().into_bytes();
            match self.domain.put(&self.grants, "epoch", grant, Some(grant_revision)).await {
                Ok(_) => {}
                Err(DomainError::Changed) => match self.granted().await?.0 {
                    granted if granted > epoch => return Ok(Said::Overtaken(granted)),
                    granted if granted < epoch => return Err(DomainError::Changed),
                    // One of ours has written the same.
                    _ => {}
                },
                Err(error) => return Err(error),
            }
        }
        *self.held_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun + self.hold());
        Ok(Said::Yes)
    }

    /// Who has the lease, with its revision.
    async fn lease(&self) -> Result<(Option<Lease>, u64), DomainError> {
        let Some(found) = self.domain.value(&self.leases, KEY).await? else { return Ok((None, 0)) };
        Ok((serde_json::from_slice(&found.data).ok(), found.sequence))
    }

    /// The highest epoch that was ever granted, with its revision.
    async fn granted(&self) -> Result<(u64, u64), DomainError> {
        let found = self.domain.value(&self.grants, "epoch").await?;
        let number = |found: &super::domain::Stored| std::str::from_utf8(&found.data).ok()?.parse().ok();
        match found {
            None => Ok((0, 0)),
            Some(found) => match number(&found) {
                Some(granted) => Ok((granted, found.sequence)),
                None => Err(DomainError::Unclear("the granted epoch is no number".to_owned())),
            },
        }
    }

    /// Whether the lease has expired, and under which epoch it was last granted.
    async fn expired(&self) -> Result<Option<u64>, DomainError> {
        match self.domain.value(&self.leases, KEY).await? {
            Some(_) => Ok(None),
            None => Ok(Some(self.granted().await?.0)),
        }
    }
}

/// Whose lease may be written over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    MineOrFree,
    Anybodys,
}

/// Renews while the region is active, and stands in for the pair when its lease has run out.
pub(super) async fn attend(regions: Weak<Inner>) {
    let mut renewed: Option<Instant> = None;
    loop {
        let Some(inner) = regions.upgrade() else { return };
        if let Some(witness) = &inner.witness {
            if renewed.is_none_or(|renewed| renewed.elapsed() >= witness.renew_every()) {
                renewed = Some(Instant::now());
                if let Err(error) = inner.ask_witness(witness).await {
                    tracing::warn!(%error, "asking the witness");
                    // Again at once: there is little time.
                    renewed = None;
                }
            }
            inner.tell_active();
        }
        drop(inner);
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

impl Inner {
    async fn ask_witness(&self, witness: &Witness) -> Result<(), RegionError> {
        witness.make().await.map_err(RegionError::Witness)?;
        let Some(here) = self.seen.borrow().here.clone() else { return Ok(()) };
        match here.role {
            Role::Fenced => Ok(()),
            Role::Active => {
                match witness.ask_for(here.epoch, Hold::MineOrFree).await.map_err(RegionError::Witness)? {
                    Said::Yes => Ok(()),
                    Said::HeldBy(by) => {
                        tracing::warn!(by, "the witness holds the lease for another");
                        Ok(())
                    }
                    Said::Overtaken(epoch) => {
                        tracing::warn!(epoch, "the witness has granted a higher epoch");
                        self.fence_here(here.epoch).await
                    }
                }
            }
            Role::Standby => {
                let expired = witness.expired().await.map_err(RegionError::Witness)?;
                // A region that does not know of the last epoch does not have what was written under it.
                let stands_in = expired.is_some_and(|granted| granted > 0 && granted <= here.epoch);
                if !stands_in {
                    return Ok(());
                }
                if !here.level {
                    // The mirrors may be empty. What the pair has may be all there is: a person decides.
                    let pair = &self.settings.pair;
                    tracing::error!(pair, "the pair's lease has run out, and this region was never level");
                    return Ok(());
                }
                let mode = if self.seen.borrow().pair_reachable { Mode::Planned } else { Mode::Forced };
                tracing::warn!(pair = self.settings.pair, "the pair's lease has run out; standing in for it");
                self.promote(mode).await.map(drop)
            }
        }
    }

    /// Fences this region if it still has the epoch that was overtaken.
    async fn fence_here(&self, epoch: u64) -> Result<(), RegionError> {
        let (record, revision) = self.here.book.record().await.map_err(RegionError::Here)?;
        if record.is_some_and(|record| record.role == Role::Active && record.epoch == epoch) {
            self.write(&self.here, Next::overtaken(epoch), revision).await?;
        }
        self.fence_streams(&self.here).await
    }

    /// The lease that goes with an epoch. A forced promotion waits until the pair's has run out.
    pub(super) async fn lease_for(&self, epoch: u64, mode: Mode) -> Result<(), RegionError> {
        let Some(witness) = &self.witness else { return Ok(()) };
        witness.make().await.map_err(RegionError::Witness)?;
        let deadline = Instant::now() + witness.lease + witness.renew_every();
        loop {
            // In a planned promotion the pair has let go.
            let hold = if mode == Mode::Planned { Hold::Anybodys } else { Hold::MineOrFree };
            match witness.ask_for(epoch, hold).await.map_err(RegionError::Witness)? {
                Said::Yes => return Ok(()),
                Said::HeldBy(_) if Instant::now() < deadline => tokio::time::sleep(LOOK_EVERY).await,
                Said::HeldBy(by) => {
                    return Err(RegionError::WitnessRefuses(format!("{by} renews its lease")));
                }
                Said::Overtaken(granted) => {
                    return Err(RegionError::WitnessRefuses(format!("epoch {granted} was granted already")));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use peers::{NatsCluster, NatsSettings};

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn instances_that_renew_at_the_same_moment_all_hold_the_lease() {
        let third = NatsCluster::start_with(NatsSettings { servers: 1, ..NatsSettings::default() }).unwrap();
        let settings = Settings::new("east", "west", "east", "sortie");
        let mut siblings = Vec::new();
        for _ in 0..6 {
            let client = async_nats::connect(&third.urls()[0]).await.unwrap();
            siblings.push(Witness::new(client, &settings));
        }
        siblings[0].make().await.unwrap();
        for epoch in [1, 1, 3, 3] {
            let said = join_all(siblings.iter().map(|one| one.ask_for(epoch, Hold::MineOrFree))).await;
            assert_eq!(said, vec![Ok(Said::Yes); 6], "epoch {epoch}");
            assert!(siblings.iter().all(Witness::holds));
        }
        let west = Settings::new("west", "east", "east", "sortie");
        let west = Witness::new(async_nats::connect(&third.urls()[0]).await.unwrap(), &west);
        assert_eq!(west.ask_for(4, Hold::MineOrFree).await, Ok(Said::HeldBy("east".to_owned())));
        assert!(!west.holds());
        assert_eq!(west.ask_for(4, Hold::Anybodys).await, Ok(Said::Yes));
        assert_eq!(siblings[0].ask_for(3, Hold::MineOrFree).await, Ok(Said::Overtaken(4)));
    }
}
