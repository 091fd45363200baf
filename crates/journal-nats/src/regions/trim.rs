//! What the active region has trimmed goes at its mirror, too: a mirror forgets nothing by itself.

use std::collections::BTreeMap;

use serde_json::json;

use super::domain::DomainError;
use super::mirrors::MirrorStatus;
use super::{Inner, RegionError};
use crate::names;

/// Fewer than this are not worth a purge.
const WORTH: u64 = 256;

impl Inner {
    /// Trims the mirrors to where their origins begin. Only when every mirror has all that there is: then the snapshot
    /// that stands for what was trimmed is here as well.
    pub(super) async fn trim_mirrors(&self) -> Result<(), RegionError> {
        let streams = self.shared_streams(&self.there).await?;
        let mut firsts = BTreeMap::new();
        for stream in &streams {
            let origin = self.there.domain.info(stream).await.map_err(|error| self.pair_error(error))?;
            firsts.insert(stream.clone(), origin.first);
        }
        // Asked after where the origins begin: a snapshot is stored before anything is trimmed.
        let status = super::mirrors::status(&self.here.domain, &self.there.domain, streams).await;
        let status = status.map_err(RegionError::Here)?;
        let is_current = |mirror: &MirrorStatus| mirror.lag == Some(0) && mirror.last.is_some();
        if !status.iter().all(is_current) {
            return Ok(());
        }
        for (stream, first) in firsts {
            let here = self.here.domain.info(&stream).await.map_err(RegionError::Here)?;
            if here.is_mirror() && first.saturating_sub(here.first) >= WORTH {
                let purged = self.here.domain.purge(&stream, &json!({ "seq": first })).await;
                purged.map_err(RegionError::Here)?;
            }
        }
        self.forget_objects().await
    }

    /// Objects that were deleted at the active region are deleted here.
    async fn forget_objects(&self) -> Result<(), RegionError> {
        let bucket = names::snapshot_bucket(&self.settings.installation);
        let (stream, chunks) = (format!("OBJ_{bucket}"), format!("$O.{bucket}.C.>"));
        // Here first: what comes meanwhile is not looked at, and what is gone there by then is really gone.
        let here = match self.here.domain.info_of_subjects(&stream, &chunks).await {
            Err(DomainError::Missing) => return Ok(()),
            here => here.map_err(RegionError::Here)?,
        };
        let there = self.there.domain.info_of_subjects(&stream, &chunks).await;
        let there = there.map_err(|error| self.pair_error(error))?;
        let gone = here.subjects.keys().filter(|subject| !there.subjects.contains_key(*subject));
        for subject in gone {
            let purged = self.here.domain.purge(&stream, &json!({ "filter": subject })).await;
            purged.map_err(RegionError::Here)?;
        }
        Ok(())
    }
}
