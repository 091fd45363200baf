//! Streams that are not what their region is. A purge or a change of a stream that was on its way while the region got
//! another role may arrive when it has it: what a mirror loses then is gone here alone, and a mirror that was made a
//! stream follows nobody. Such a mirror is created again; a stream of an active region that was closed is opened.

use crate::decide::role::Role;
use crate::record::WorkClaim;
use crate::{RegionAgent, RegionError, mirrors};
use journal_nats::jetstream::StreamInfo;
use journal_nats::names::{self, FENCED};

impl RegionAgent {
    /// Deletes incomplete mirrors so that they are created again. Returns whether there were any.
    pub(super) async fn drop_unfit_mirrors(&self, claim: &WorkClaim) -> Result<bool, RegionError> {
        let mut unfit = false;
        for (stream, mirror) in self.unfit_mirrors().await? {
            unfit = true;
            let region = &self.settings.name;
            if mirror.is_mirror() || self.is_copy(&stream, mirror.last).await? {
                tracing::warn!(
                    region,
                    stream,
                    "a mirror is incomplete; deleting it so that it is created again"
                );
                claim.again().await.map_err(|error| self.work_error(&self.here, error))?;
                self.here.domain.delete(&stream).await.map_err(RegionError::Here)?;
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

    /// Mirrors that begin later than their origins, and streams that are not mirrors.
    async fn unfit_mirrors(&self) -> Result<Vec<(String, StreamInfo)>, RegionError> {
        let streams = self.partition_streams().await?;
        let (here, there) = (&self.here.domain, &self.there.domain);
        let mirrors: Vec<Option<StreamInfo>> = self
            .each(&self.here, &streams, |stream| async move { here.info_if_exists(&stream).await })
            .await?;
        // Asked after the mirrors: they are trimmed as far as an origin was before, never further.
        let origins: Vec<Option<StreamInfo>> = self
            .each(&self.there, &streams, |stream| async move { there.info_if_exists(&stream).await })
            .await?;
        let both = streams.into_iter().zip(mirrors.into_iter().zip(origins));
        let unfit = both.filter_map(|(stream, both)| match both {
            (Some(mirror), Some(origin)) => {
                let fit = mirror.is_mirror() && mirror.first <= origin.first;
                // Nothing was ever in it: it is made a mirror with those that are missing.
                (!fit && mirror.last > 0).then_some((stream, mirror))
            }
            _ => None,
        });
        Ok(unfit.collect())
    }

    /// Whether a stream here was filled from its origin: it ends with a message that the origin has at the same place.
    async fn is_copy(&self, stream: &str, last: u64) -> Result<bool, RegionError> {
        let here = mirrors::point_at(&self.here.domain, stream, last).await.map_err(RegionError::Here)?;
        let there = mirrors::point_at(&self.there.domain, stream, last).await;
        let there = there.map_err(|error| self.pair_error(error))?;
        Ok(here.check.is_some() && here == there)
    }

    /// Opens what is closed, if this region is active: then nobody has a reason to close it.
    pub(super) async fn open_closed_streams(&self, claim: &WorkClaim) -> Result<(), RegionError> {
        let (record, _) = self.here.records.record().await.map_err(RegionError::Here)?;
        if record.is_none_or(|record| record.role != Role::Active) {
            return Ok(());
        }
        for (stream, info) in self.closed_streams().await? {
            tracing::warn!(region = self.settings.name, stream, "a stream was closed; it is opened again");
            claim.again().await.map_err(|error| self.work_error(&self.here, error))?;
            let open = mirrors::open_subjects(&info);
            let mut config = info.config;
            config.insert("subjects".to_owned(), open);
            self.here.domain.update(&config).await.map_err(RegionError::Here)?;
        }
        Ok(())
    }

    pub(super) async fn closed_streams(&self) -> Result<Vec<(String, StreamInfo)>, RegionError> {
        let (streams, domain) = (self.partition_streams().await?, &self.here.domain);
        let infos: Vec<StreamInfo> =
            self.each(&self.here, &streams, |stream| async move { domain.info(&stream).await }).await?;
        let is_closed =
            |info: &StreamInfo| info.config_subjects().iter().any(|subject| subject.starts_with(FENCED));
        Ok(streams.into_iter().zip(infos).filter(|(_, info)| is_closed(info)).collect())
    }

    /// The streams here that belong to partitions. Of objects a mirror has more than its origin in places, and what it
    /// lacks is seen when it is read.
    async fn partition_streams(&self) -> Result<Vec<String>, RegionError> {
        let mut streams = self.shared_streams(&self.here).await?;
        streams.retain(|stream| names::subject_of(&self.settings.installation, stream).is_some());
        Ok(streams)
    }
}
