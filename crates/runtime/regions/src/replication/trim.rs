//! Trims mirrors like their origins: a mirror does not delete what its origin has purged.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use super::Replication;
use crate::RegionError;
use journal_nats::jetstream::JetStreamError;
use journal_nats::names;

/// The least number of messages that is worth a purge.
const WORTH: u64 = 256;

/// What to delete once the mirrors have reached the positions that their origins had.
#[derive(Debug)]
pub(super) struct Trim {
    /// The epoch under which the origins were read.
    epoch: u64,
    /// The first sequence of each origin.
    begins: Vec<(String, u64)>,
    /// Chunks of objects that exist here and were deleted in the active region.
    gone: Vec<String>,
    /// The last sequence of each origin, read last: the snapshots that replace the trimmed messages were stored before.
    ends: BTreeMap<String, u64>,
}

impl Replication {
    /// Trims the mirrors to the first sequences of their origins, once every mirror has reached the last sequence that its
    /// origin had then: so the snapshots that replace the trimmed messages are here as well. Messages that are written
    /// meanwhile do not delay this, so that mirrors under load are trimmed, too, if not now then a minute later.
    pub(crate) async fn trim_mirrors(&self, epoch: u64) -> Result<(), RegionError> {
        let due = self.trim.lock().unwrap_or_else(PoisonError::into_inner).take();
        let due = match due.filter(|due| due.epoch == epoch) {
            Some(due) => due,
            None => self.what_to_trim(epoch).await?,
        };
        if !self.lagging(&due.ends).await?.is_empty() {
            *self.trim.lock().unwrap_or_else(PoisonError::into_inner) = Some(due);
            return Ok(());
        }
        let domain = &self.sites.here.domain;
        for (stream, first) in due.begins {
            let here = domain.info(&stream).await.map_err(RegionError::Here)?;
            if here.is_mirror() && first.saturating_sub(here.first) >= WORTH {
                domain.purge_below(&stream, first).await.map_err(RegionError::Here)?;
            }
        }
        for subject in due.gone {
            let purged = domain.purge_subject(&self.objects(), &subject).await;
            purged.map_err(RegionError::Here)?;
        }
        Ok(())
    }

    async fn what_to_trim(&self, epoch: u64) -> Result<Trim, RegionError> {
        let streams = self.sites.shared_streams(&self.sites.there).await?;
        let origin = &self.sites.there.domain;
        let firsts: Vec<u64> = self
            .sites
            .each(&self.sites.there, &streams, |stream| async move { Ok(origin.info(&stream).await?.first) })
            .await?;
        let gone = self.gone_objects().await?;
        let lasts: Vec<u64> = self
            .sites
            .each(&self.sites.there, &streams, |stream| async move { Ok(origin.info(&stream).await?.last) })
            .await?;
        let begins = streams.iter().cloned().zip(firsts).collect();
        Ok(Trim { epoch, begins, gone, ends: streams.into_iter().zip(lasts).collect() })
    }

    /// Chunks of objects that exist here and were deleted in the active region.
    async fn gone_objects(&self) -> Result<Vec<String>, RegionError> {
        let chunks = format!("$O.{}.C.>", names::snapshot_bucket(&self.sites.settings.installation));
        let stream = self.objects();
        // This region is read first: a chunk that is missing there afterwards was deleted, and is not just new here.
        let here = match self.sites.here.domain.info_with_subjects(&stream, &chunks).await {
            Err(JetStreamError::Missing { .. }) => return Ok(Vec::new()),
            here => here.map_err(RegionError::Here)?,
        };
        let there = self.sites.there.domain.info_with_subjects(&stream, &chunks).await;
        let there = there.map_err(|error| self.sites.pair_error(error))?;
        Ok(here.subjects.into_keys().filter(|subject| !there.subjects.contains_key(subject)).collect())
    }

    /// The stream of snapshot objects.
    fn objects(&self) -> String {
        format!("OBJ_{}", names::snapshot_bucket(&self.sites.settings.installation))
    }
}
