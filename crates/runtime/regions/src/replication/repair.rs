//! Repairs streams whose configuration does not match the role of the region. A purge or an update that was in flight
//! while the role changed may take effect afterwards: then a mirror lacks messages that its origin has, or became an
//! ordinary stream that receives nothing. Such a mirror is created again. A closed stream of an active region is reopened.

use super::Replication;
use crate::decide::role::Role;
use crate::work::WorkClaim;
use crate::{RegionError, mirrors};
use journal_nats::jetstream::StreamInfo;
use journal_nats::names::{self, FENCED};

impl Replication {
    /// Deletes incomplete mirrors so that they are created again. Returns whether there were any.
    pub(crate) async fn drop_unfit_mirrors(&self, claim: &WorkClaim) -> Result<bool, RegionError> {
        let mut unfit = false;
        for (stream, mirror) in self.unfit_mirrors().await? {
            unfit = true;
            let region = &self.sites.settings.name;
            if mirror.is_mirror() || self.is_copy(&stream, mirror.last).await? {
                tracing::warn!(region, stream, "deleting an incomplete mirror; it will be created again");
                claim.confirm().await?;
                self.sites.here.domain.delete(&stream).await.map_err(RegionError::Here)?;
            } else {
                // Not created by us. Leave it; the region counts as not caught up, and its status lists the stream.
                tracing::debug!(
                    region,
                    stream,
                    "a stream that is not a mirror has messages that its origin does not have"
                );
            }
        }
        Ok(unfit)
    }

    /// Mirrors that begin after the first message of their origin, and streams that are not mirrors.
    async fn unfit_mirrors(&self) -> Result<Vec<(String, StreamInfo)>, RegionError> {
        let streams = self.partition_streams().await?;
        let (here, there) = (&self.sites.here.domain, &self.sites.there.domain);
        let mirrors: Vec<Option<StreamInfo>> = self
            .sites
            .each(&self.sites.here, &streams, |stream| async move { here.info_if_exists(&stream).await })
            .await?;
        // Read after the mirrors: a mirror is trimmed as far as its origin was before, never further.
        let origins: Vec<Option<StreamInfo>> = self
            .sites
            .each(&self.sites.there, &streams, |stream| async move { there.info_if_exists(&stream).await })
            .await?;
        let both = streams.into_iter().zip(mirrors.into_iter().zip(origins));
        let unfit = both.filter_map(|(stream, both)| match both {
            (Some(mirror), Some(origin)) => {
                let fit = mirror.is_mirror() && mirror.first <= origin.first;
                // An empty stream is replaced together with the missing mirrors.
                (!fit && mirror.last > 0).then_some((stream, mirror))
            }
            _ => None,
        });
        Ok(unfit.collect())
    }

    /// Whether a stream here is a copy of its origin: the origin has the same message at the last sequence.
    async fn is_copy(&self, stream: &str, last: u64) -> Result<bool, RegionError> {
        let here =
            mirrors::point_at(&self.sites.here.domain, stream, last).await.map_err(RegionError::Here)?;
        let there = mirrors::point_at(&self.sites.there.domain, stream, last).await;
        let there = there.map_err(|error| self.sites.pair_error(error))?;
        Ok(here.check.is_some() && here == there)
    }

    /// Reopens the closed streams of this region if it is active.
    pub(crate) async fn reopen_streams(&self, claim: &WorkClaim) -> Result<(), RegionError> {
        let (record, _) = self.sites.here.records.record().await.map_err(RegionError::Here)?;
        if record.is_none_or(|record| record.role != Role::Active) {
            return Ok(());
        }
        for (stream, info) in self.closed_streams().await? {
            tracing::warn!(
                region = self.sites.settings.name,
                stream,
                "reopening a closed stream of the active region"
            );
            claim.confirm().await?;
            let open = mirrors::open_subjects(&info);
            let mut config = info.config;
            config.insert("subjects".to_owned(), open);
            self.sites.here.domain.update(&config).await.map_err(RegionError::Here)?;
        }
        Ok(())
    }

    pub(crate) async fn closed_streams(&self) -> Result<Vec<(String, StreamInfo)>, RegionError> {
        let (streams, domain) = (self.partition_streams().await?, &self.sites.here.domain);
        let infos: Vec<StreamInfo> = self
            .sites
            .each(&self.sites.here, &streams, |stream| async move { domain.info(&stream).await })
            .await?;
        let is_closed =
            |info: &StreamInfo| info.config_subjects().iter().any(|subject| subject.starts_with(FENCED));
        Ok(streams.into_iter().zip(infos).filter(|(_, info)| is_closed(info)).collect())
    }

    /// The streams of partitions in this region. The stream of snapshot objects is not compared: its mirror may have more than
    /// its origin, and a missing object is noticed when it is read.
    async fn partition_streams(&self) -> Result<Vec<String>, RegionError> {
        let mut streams = self.sites.shared_streams(&self.sites.here).await?;
        streams.retain(|stream| names::subject_of(&self.sites.settings.installation, stream).is_some());
        Ok(streams)
    }
}
