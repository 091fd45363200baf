//! How a region that was overtaken becomes a mirror: what only it has is kept first.

use crate::decide::role::{RoleChange, on_pair};
use crate::divergent_tail::{StreamTail, Tail, file_of, keep, store};
use crate::mirrors;
use crate::record::{Point, Points, WorkClaim};
use crate::{NextRecord, RegionAgent, RegionError, RegionSite, now_ms};
use journal_nats::jetstream::JetStreamError;
use journal_nats::names;

/// What of a stream the pair never got.
struct Divergent {
    stream: String,
    /// The first sequence that is kept, through the last.
    from: u64,
    through: u64,
    /// Why all of it is kept, when that is so.
    whole: Option<&'static str>,
}

impl RegionAgent {
    /// This region was overtaken: its streams become mirrors of the pair's.
    pub(super) async fn rejoin_here(&self, epoch: u64) -> Result<(), RegionError> {
        let claim = self.take_work(&self.here).await?;
        let rejoined = self.rejoin(&self.here, &self.there, &claim, epoch, TailPolicy::Keep).await;
        // Also when it was cut short: another instance need not wait until this one is believed in no more.
        claim.release().await;
        rejoined
    }

    /// Makes the pair a mirror of this region, if it has nothing that is not here. What it has to keep, it keeps
    /// itself; so does one whose instances are at it already.
    pub(super) async fn rejoin_pair(&self) -> bool {
        let Ok(claim) = self.take_work(&self.there).await else { return false };
        let epoch = *self.epoch.borrow();
        let rejoined = self.rejoin(&self.there, &self.here, &claim, epoch, TailPolicy::Refuse).await;
        claim.release().await;
        match rejoined {
            Ok(()) => true,
            Err(error) => {
                tracing::info!(pair = self.settings.pair, %error, "the pair is left to mirror by itself");
                false
            }
        }
    }

    async fn rejoin(
        &self,
        site: &RegionSite,
        origin: &RegionSite,
        claim: &WorkClaim,
        epoch: u64,
        place: TailPolicy,
    ) -> Result<(), RegionError> {
        let (record, mut revision) =
            site.records.record().await.map_err(|error| self.site_error(site, error))?;
        let (active, _) = origin.records.record().await.map_err(|error| self.site_error(origin, error))?;
        let (Some(record), Some(active)) = (record, active) else { return Err(RegionError::Changed) };
        if on_pair(record.state(), active.state()) != (RoleChange::Rejoin { epoch }) {
            return Ok(());
        }
        self.fence_streams(site).await?;
        let points = self.points_above(origin, record.epoch, active.epoch).await?;
        let divergent = self.divergent(site, origin, &points).await?;
        if place == TailPolicy::Refuse && !divergent.is_empty() {
            return Err(RegionError::NotPromotable {
                region: site.name.clone(),
                reason: "it has a divergent tail".to_owned(),
            });
        }
        if !divergent.is_empty() {
            self.keep_tail(site, record.epoch, epoch, divergent).await?;
        }
        // From the first stream that goes until the mirrors are level this is a copy of some of it.
        if record.level {
            claim.again().await.map_err(|error| self.work_error(site, error))?;
            revision = self.write(site, NextRecord::overtaken(record.epoch), revision).await?;
        }
        for stream in self.shared_streams(site).await? {
            let info = site.domain.info(&stream).await.map_err(|error| self.site_error(site, error))?;
            if !info.is_mirror() {
                claim.again().await.map_err(|error| self.work_error(site, error))?;
                site.domain.delete(&stream).await.map_err(|error| self.site_error(site, error))?;
            }
        }
        self.mirror_all(site, origin).await?;
        self.write(site, NextRecord::standby(epoch), revision).await.map(drop)
    }

    /// Where the streams ended when the pair was first promoted past this epoch.
    async fn points_above(
        &self,
        origin: &RegionSite,
        epoch: u64,
        through: u64,
    ) -> Result<Points, RegionError> {
        for later in epoch + 1..=through {
            let points = origin.records.points(later).await;
            if let Some(points) = points.map_err(|error| self.site_error(origin, error))? {
                return Ok(points);
            }
        }
        Ok(Points::default())
    }

    async fn divergent(
        &self,
        site: &RegionSite,
        origin: &RegionSite,
        points: &Points,
    ) -> Result<Vec<Divergent>, RegionError> {
        let mut found = Vec::new();
        for stream in self.shared_streams(site).await? {
            let divergent = self.divergent_of(site, origin, &stream, points).await;
            found.extend(divergent.map_err(|error| self.site_error(site, error))?);
        }
        Ok(found)
    }

    /// The messages of one stream after the point up to which both regions agree.
    async fn divergent_of(
        &self,
        site: &RegionSite,
        origin: &RegionSite,
        stream: &str,
        points: &Points,
    ) -> Result<Option<Divergent>, JetStreamError> {
        let info = site.domain.info(stream).await?;
        // A mirror has nothing of its own, and an empty stream nothing at all.
        if info.is_mirror() || info.last == 0 || info.first > info.last {
            return Ok(None);
        }
        let whole = |reason| Divergent {
            stream: stream.to_owned(),
            from: info.first,
            through: info.last,
            whole: Some(reason),
        };
        let Some(point) = points.streams.get(stream) else {
            return Ok(Some(whole("the pair never had this stream")));
        };
        if !self.same_until(site, origin, stream, *point, info.last).await? {
            return Ok(Some(whole("the pair has another message where it was promoted")));
        }
        if info.last <= point.last {
            return Ok(None);
        }
        let from = (point.last + 1).max(info.first);
        let divergent = Divergent { stream: stream.to_owned(), from, through: info.last, whole: None };
        Ok(Some(divergent))
    }

    /// Whether both have the same message at the last sequence that both should have.
    async fn same_until(
        &self,
        site: &RegionSite,
        origin: &RegionSite,
        stream: &str,
        point: Point,
        last: u64,
    ) -> Result<bool, JetStreamError> {
        let shared = point.last.min(last);
        if shared == 0 {
            return Ok(true);
        }
        let ours = mirrors::point_at(&site.domain, stream, shared).await?.check;
        let theirs = if shared == point.last {
            point.check
        } else {
            mirrors::point_at(&origin.domain, stream, shared).await?.check
        };
        // What was trimmed by both was the same when it was trimmed; by one alone it cannot be compared any more.
        Ok(ours == theirs)
    }

    async fn keep_tail(
        &self,
        site: &RegionSite,
        epoch: u64,
        overtaken_by: u64,
        divergent: Vec<Divergent>,
    ) -> Result<(), RegionError> {
        // One folder for all goes: the streams of an earlier one may be gone.
        let folder = self.settings.data.join("divergent").join(format!("epoch-{epoch}"));
        let mut streams: Vec<StreamTail> = Vec::new();
        for part in divergent {
            let kept = keep(&site.domain, &folder, &part.stream, part.from, part.through).await?;
            let kept = kept.map_err(|error| self.site_error(site, error))?;
            streams.push(StreamTail { whole: part.whole.map(str::to_owned), ..kept });
        }
        let messages: u64 = streams.iter().map(|stream| stream.messages).sum();
        tracing::warn!(region = site.name, messages, folder = %folder.display(), "a divergent tail was kept");
        let files: Vec<String> = streams.iter().map(|kept| file_of(&kept.stream)).collect();
        let bucket = names::divergent_bucket(&self.settings.installation);
        let earlier = site.records.tail().await.map_err(|error| self.site_error(site, error))?;
        let tail = Tail {
            kept_ms: now_ms(),
            epoch,
            overtaken_by,
            instance: self.settings.instance.clone(),
            folder: folder.display().to_string(),
            bucket: Some(bucket.clone()),
            streams,
        }
        .with_earlier(earlier);
        crate::divergent_tail::finish(&folder, &tail).await?;
        // The disk of an instance may go with it; what was acknowledged stays where the streams were.
        store(&self.here.domain, &bucket, self.settings.replicas, &folder, &files).await?;
        site.records.set_tail(&tail).await.map_err(|error| self.site_error(site, error))
    }

    /// Mirrors all streams of the pair that are not mirrored yet.
    pub(super) async fn keep_mirrors(&self) -> Result<(), RegionError> {
        self.mirror_all(&self.here, &self.there).await
    }

    async fn mirror_all(&self, site: &RegionSite, origin: &RegionSite) -> Result<(), RegionError> {
        let streams = self.shared_streams(origin).await?;
        let replicas = self.settings.replicas;
        self.each(site, &streams, |stream| async move {
            mirrors::keep_mirror(&site.domain, &site.records, &origin.domain, &origin.api, &stream, replicas)
                .await
        })
        .await
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TailPolicy {
    /// In files of this instance and in the NATS of its region.
    Keep,
    /// Whatever would have to be kept stops it.
    Refuse,
}
