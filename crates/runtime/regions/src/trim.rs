//! What the active region has trimmed goes at its mirror, too: a mirror forgets nothing by itself.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use crate::{RegionAgent, RegionError};
use journal_nats::jetstream::JetStreamError;
use journal_nats::names;

/// Fewer than this are not worth a purge.
const WORTH: u64 = 256;

/// What goes here as soon as the mirrors have come as far as their origins were when they were asked.
#[derive(Debug)]
pub(super) struct Trim {
    /// Under which epoch they were asked.
    epoch: u64,
    /// Where each origin began.
    begins: Vec<(String, u64)>,
    /// Parts of objects that are here, and that the active region has deleted.
    gone: Vec<String>,
    /// Where each origin ended, asked after all of that: what stands in for what was trimmed was stored before.
    ends: BTreeMap<String, u64>,
}

impl RegionAgent {
    /// Trims the mirrors to where their origins begin, once every mirror has all that its origin had then: so the snapshot
    /// that stands for what was trimmed is here as well. What comes meanwhile does not matter, so that mirrors under load,
    /// which are never quite there, are trimmed, too: if not now, then when it is looked at again.
    pub(super) async fn trim_mirrors(&self, epoch: u64) -> Result<(), RegionError> {
        let due = self.trim.lock().unwrap_or_else(PoisonError::into_inner).take();
        let due = match due.filter(|due| due.epoch == epoch) {
            Some(due) => due,
            None => self.what_to_trim(epoch).await?,
        };
        if !self.lagging(&due.ends).await?.is_empty() {
            *self.trim.lock().unwrap_or_else(PoisonError::into_inner) = Some(due);
            return Ok(());
        }
        let domain = &self.here.domain;
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
        let streams = self.shared_streams(&self.there).await?;
        let origin = &self.there.domain;
        let firsts: Vec<u64> = self
            .each(&self.there, &streams, |stream| async move { Ok(origin.info(&stream).await?.first) })
            .await?;
        let gone = self.gone_objects().await?;
        let lasts: Vec<u64> = self
            .each(&self.there, &streams, |stream| async move { Ok(origin.info(&stream).await?.last) })
            .await?;
        let begins = streams.iter().cloned().zip(firsts).collect();
        Ok(Trim { epoch, begins, gone, ends: streams.into_iter().zip(lasts).collect() })
    }

    /// Parts of objects that are here and were deleted at the active region.
    async fn gone_objects(&self) -> Result<Vec<String>, RegionError> {
        let chunks = format!("$O.{}.C.>", names::snapshot_bucket(&self.settings.installation));
        let stream = self.objects();
        // Here first: what comes meanwhile is not looked at, and what is gone there by then is really gone.
        let here = match self.here.domain.info_with_subjects(&stream, &chunks).await {
            Err(JetStreamError::Missing { .. }) => return Ok(Vec::new()),
            here => here.map_err(RegionError::Here)?,
        };
        let there = self.there.domain.info_with_subjects(&stream, &chunks).await;
        let there = there.map_err(|error| self.pair_error(error))?;
        Ok(here.subjects.into_keys().filter(|subject| !there.subjects.contains_key(subject)).collect())
    }

    /// The stream of the objects of snapshots.
    fn objects(&self) -> String {
        format!("OBJ_{}", names::snapshot_bucket(&self.settings.installation))
    }
}
