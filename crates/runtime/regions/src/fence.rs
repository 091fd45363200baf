//! How a region is made to let go: first its instances, then the subjects of its streams.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::decide::role::Role;
use crate::{NextRecord, RegionAgent, RegionError, RegionSite, mirrors};
use journal_nats::jetstream::JetStreamError;
use journal_nats::names;

const POLL: Duration = Duration::from_millis(100);

impl RegionAgent {
    /// Tells a region to let go, waits until its instances have, and moves its subjects away. Until then they can write
    /// down what became of their calls; without that the calls would be made again.
    pub(super) async fn fence(&self, site: &RegionSite) -> Result<(), RegionError> {
        let record = site.records.record().await;
        let (record, revision) = record.map_err(|error| self.site_error(site, error))?;
        let revision = match record.filter(|record| record.role == Role::Active) {
            Some(record) => self.write(site, NextRecord::released(record.epoch), revision).await?,
            None => revision,
        };
        let deadline = Instant::now() + self.settings.patience;
        while Instant::now() < deadline {
            match self.held_at(site).await {
                // Without the bucket nobody holds anything.
                Ok(0) | Err(JetStreamError::Missing { .. }) => break,
                Ok(_) | Err(JetStreamError::Unreachable { .. }) => sleep(POLL).await,
                Err(error) => return Err(self.site_error(site, error)),
            }
        }
        // Somebody may have promoted it meanwhile, and then its streams are open for good reason.
        let (_, now) = site.records.record().await.map_err(|error| self.site_error(site, error))?;
        if now != revision {
            return Err(RegionError::Overruled { region: site.name.clone() });
        }
        self.fence_streams(site).await
    }

    /// How many partitions the instances of a region hold, dead ones not counted.
    async fn held_at(&self, site: &RegionSite) -> Result<usize, JetStreamError> {
        let domain = &site.domain;
        let bucket = names::partition_bucket(&self.settings.installation);
        let held = domain.info_with_subjects(&format!("KV_{bucket}"), &format!("$KV.{bucket}.>")).await?;
        let members = names::instance_bucket(&self.settings.installation);
        let living = self.living_at(site, &members).await?;
        let mut count = 0;
        for subject in held.subjects.keys() {
            let Some(key) = subject.strip_prefix(&format!("$KV.{bucket}.")) else { continue };
            let Some(value) = domain.value(&bucket, key).await? else { continue };
            let ownership: Option<cluster::Ownership> = serde_json::from_slice(&value.data).ok();
            let owner = ownership.and_then(|ownership| ownership.owner);
            let lives = |owner: &cluster::InstanceId| living.iter().any(|key| key.ends_with(&owner.0));
            count += usize::from(owner.as_ref().is_some_and(lives));
        }
        Ok(count)
    }

    /// The keys of the instances that live. One that has ended leaves a marker for a while, which says nothing.
    async fn living_at(&self, site: &RegionSite, bucket: &str) -> Result<Vec<String>, JetStreamError> {
        let prefix = format!("$KV.{bucket}.");
        let noted = site.domain.info_with_subjects(&format!("KV_{bucket}"), &format!("{prefix}>")).await;
        let noted = match noted {
            Err(JetStreamError::Missing { .. }) => return Ok(Vec::new()),
            noted => noted?.subjects,
        };
        let mut living = Vec::new();
        for key in noted.keys().filter_map(|subject| subject.strip_prefix(&prefix)) {
            let value = site.domain.value(bucket, key).await?;
            if value.is_some_and(|value| !value.data.is_empty()) {
                living.push(key.to_owned());
            }
        }
        Ok(living)
    }

    /// Moves the subjects of all streams of a region away.
    pub(super) async fn fence_streams(&self, site: &RegionSite) -> Result<(), RegionError> {
        let streams = self.shared_streams(site).await?;
        let domain = &site.domain;
        self.each(site, &streams, |stream| async move { mirrors::fence(domain, &stream).await }).await
    }
}
