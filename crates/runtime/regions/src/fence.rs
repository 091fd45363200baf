//! Fencing a region: its instances release their partitions, then its streams are closed.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::decide::role::Role;
use crate::sites::{NextRecord, RegionSite, Sites};
use crate::{RegionError, mirrors};
use journal_nats::jetstream::JetStreamError;
use journal_nats::names;

const POLL: Duration = Duration::from_millis(100);

/// Fences a region: writes its record, waits until its instances have released their partitions, and closes its streams.
/// Until then the instances can persist the outcomes of their calls, which would otherwise be made again.
pub(crate) async fn fence(sites: &Sites, site: &RegionSite) -> Result<(), RegionError> {
    let record = site.records.record().await;
    let (record, revision) = record.map_err(|error| sites.site_error(site, error))?;
    let revision = match record.filter(|record| record.role == Role::Active) {
        Some(record) => sites.write(site, NextRecord::released(record.epoch), revision).await?,
        None => revision,
    };
    let deadline = Instant::now() + sites.settings.patience;
    while Instant::now() < deadline {
        match held_at(sites, site).await {
            // Without the bucket no partition has an owner.
            Ok(0) | Err(JetStreamError::Missing { .. }) => break,
            Ok(_) | Err(JetStreamError::Unreachable { .. }) => sleep(POLL).await,
            Err(error) => return Err(sites.site_error(site, error)),
        }
    }
    // It may have been promoted meanwhile; then its streams must stay open.
    let (_, now) = site.records.record().await.map_err(|error| sites.site_error(site, error))?;
    if now != revision {
        return Err(RegionError::Overruled { region: site.name.clone() });
    }
    close_streams(sites, site).await
}

/// How many partitions the live instances of a region own.
async fn held_at(sites: &Sites, site: &RegionSite) -> Result<usize, JetStreamError> {
    let domain = &site.domain;
    let bucket = names::partition_bucket(&sites.settings.installation);
    let held = domain.info_with_subjects(&format!("KV_{bucket}"), &format!("$KV.{bucket}.>")).await?;
    let members = names::instance_bucket(&sites.settings.installation);
    let living = living_at(site, &members).await?;
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

/// The keys of the live instances. An instance that has left leaves a marker without a value for a while.
async fn living_at(site: &RegionSite, bucket: &str) -> Result<Vec<String>, JetStreamError> {
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

/// Closes all replicated streams of a region: they accept no messages.
pub(crate) async fn close_streams(sites: &Sites, site: &RegionSite) -> Result<(), RegionError> {
    let streams = sites.shared_streams(site).await?;
    let domain = &site.domain;
    sites.each(site, &streams, |stream| async move { mirrors::fence(domain, &stream).await }).await
}
