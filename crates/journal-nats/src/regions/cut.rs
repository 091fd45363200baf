//! Mirrors that were cut. A purge that an owner sent while its region was active may arrive when the stream is a mirror:
//! what goes then is gone here alone, and nothing brings it back. Such a mirror begins anew.

use super::domain::{Domain, DomainError, Info};
use super::record::WorkClaim;
use super::{Inner, RegionError};
use crate::names;

impl Inner {
    /// Deletes mirrors that begin later than their origins, for whoever makes those that are missing. Whether there were
    /// any.
    pub(super) async fn drop_cut_mirrors(&self, claim: &WorkClaim) -> Result<bool, RegionError> {
        let cut = self.cut_mirrors().await?;
        for stream in &cut {
            tracing::warn!(
                region = self.settings.name,
                stream,
                "a mirror has lost what its origin has; it begins anew"
            );
            claim.again().await.map_err(|error| self.work_error(&self.here, error))?;
            self.here.domain.delete(stream).await.map_err(RegionError::Here)?;
        }
        Ok(!cut.is_empty())
    }

    async fn cut_mirrors(&self) -> Result<Vec<String>, RegionError> {
        let mut streams = self.shared_streams(&self.here).await?;
        // Of objects a mirror has more than its origin in places, and what it lacks it says when it is read.
        streams.retain(|stream| names::subject_of(&self.settings.installation, stream).is_some());
        let (mirror, origin) = (&self.here.domain, &self.there.domain);
        let mirrors: Vec<Option<Info>> =
            self.each(&self.here, &streams, |stream| async move { found(mirror, &stream).await }).await?;
        // Asked after the mirrors: they are trimmed as far as an origin was before, never further.
        let origins: Vec<Option<Info>> =
            self.each(&self.there, &streams, |stream| async move { found(origin, &stream).await }).await?;
        let both = streams.into_iter().zip(mirrors.into_iter().zip(origins));
        let cut = both.filter(|(_, (mirror, origin))| match (mirror, origin) {
            (Some(mirror), Some(origin)) => mirror.is_mirror() && mirror.first > origin.first,
            _ => false,
        });
        Ok(cut.map(|(stream, _)| stream).collect())
    }
}

async fn found(domain: &Domain, stream: &str) -> Result<Option<Info>, DomainError> {
    match domain.info(stream).await {
        Err(DomainError::Missing) => Ok(None),
        info => info.map(Some),
    }
}
