//! Rejoining: a region that was overtaken becomes a standby. What only it has is kept first.

use std::sync::Arc;

use api_types::StreamTailView;

use crate::decide::role::{RoleChange, on_pair};
use crate::divergent_tail::{Tail, file_of, keep, store};
use crate::record::{Point, Points};
use crate::replication::Replication;
use crate::sites::{NextRecord, RegionSite, Sites, now_ms};
use crate::work::{RegionWork, WorkClaim};
use crate::{RegionError, fence, mirrors};
use journal_nats::jetstream::JetStreamError;
use journal_nats::names;

/// The messages of a stream that the pair never received.
struct Divergent {
    stream: String,
    /// The first and the last sequence that are kept.
    from: u64,
    through: u64,
    /// Why the whole stream is kept, if it is.
    whole: Option<&'static str>,
}

/// Turns the streams of a region that was overtaken into mirrors.
pub(crate) struct Rejoiner {
    pub(crate) sites: Arc<Sites>,
    pub(crate) work: Arc<RegionWork>,
    pub(crate) replication: Arc<Replication>,
}

impl Rejoiner {
    /// Converts the streams of this region, which was overtaken, to mirrors.
    pub(crate) async fn rejoin_here(&self, epoch: u64) -> Result<(), RegionError> {
        let claim = self.work.claim(&self.sites.here).await?;
        let rejoined =
            self.rejoin(&self.sites.here, &self.sites.there, &claim, epoch, TailPolicy::Keep).await;
        // After a failure as well: another instance need not wait until the claim expires.
        claim.release().await;
        rejoined
    }

    /// Converts the streams of the pair to mirrors, if it has no divergent tail. Otherwise, or if one of its instances has the
    /// claim, the pair does so itself. Returns whether the pair mirrors this region.
    pub(crate) async fn rejoin_pair(&self, epoch: u64) -> bool {
        let Ok(claim) = self.work.claim(&self.sites.there).await else { return false };
        let rejoined =
            self.rejoin(&self.sites.there, &self.sites.here, &claim, epoch, TailPolicy::Refuse).await;
        claim.release().await;
        match rejoined {
            Ok(()) => true,
            Err(error) => {
                tracing::info!(pair = self.sites.settings.pair, %error, "the pair did not rejoin yet; it will do so by itself");
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
            site.records.record().await.map_err(|error| self.sites.site_error(site, error))?;
        let (active, _) =
            origin.records.record().await.map_err(|error| self.sites.site_error(origin, error))?;
        let (Some(record), Some(active)) = (record, active) else { return Err(RegionError::Changed) };
        if on_pair(record.state(), active.state()) != (RoleChange::Rejoin { epoch }) {
            return Ok(());
        }
        fence::close_streams(&self.sites, site).await?;
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
        // From the first deletion until the mirrors have caught up, the region is incomplete.
        if record.level {
            claim.confirm().await?;
            revision = self.sites.write(site, NextRecord::overtaken(record.epoch), revision).await?;
        }
        for stream in self.sites.shared_streams(site).await? {
            let info = site.domain.info(&stream).await.map_err(|error| self.sites.site_error(site, error))?;
            if !info.is_mirror() {
                claim.confirm().await?;
                site.domain.delete(&stream).await.map_err(|error| self.sites.site_error(site, error))?;
            }
        }
        self.replication.mirror_all(site, origin).await?;
        self.sites.write(site, NextRecord::standby(epoch), revision).await.map(drop)
    }

    /// Where the streams ended when the pair was first promoted to an epoch above this one.
    async fn points_above(
        &self,
        origin: &RegionSite,
        epoch: u64,
        through: u64,
    ) -> Result<Points, RegionError> {
        for later in epoch + 1..=through {
            let points = origin.records.points(later).await;
            if let Some(points) = points.map_err(|error| self.sites.site_error(origin, error))? {
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
        for stream in self.sites.shared_streams(site).await? {
            let divergent = self.divergent_of(site, origin, &stream, points).await;
            found.extend(divergent.map_err(|error| self.sites.site_error(site, error))?);
        }
        Ok(found)
    }

    /// The messages of one stream past the point up to which both regions have the same.
    async fn divergent_of(
        &self,
        site: &RegionSite,
        origin: &RegionSite,
        stream: &str,
        points: &Points,
    ) -> Result<Option<Divergent>, JetStreamError> {
        let info = site.domain.info(stream).await?;
        // A mirror has no messages of its own.
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
            return Ok(Some(whole("the pair has another message at the position where it was promoted")));
        }
        if info.last <= point.last {
            return Ok(None);
        }
        let from = (point.last + 1).max(info.first);
        let divergent = Divergent { stream: stream.to_owned(), from, through: info.last, whole: None };
        Ok(Some(divergent))
    }

    /// Whether both regions have the same message at the last sequence that both should have.
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
        // Messages that both have trimmed were the same. If only one has trimmed the message, they count as different.
        Ok(ours == theirs)
    }

    async fn keep_tail(
        &self,
        site: &RegionSite,
        epoch: u64,
        overtaken_by: u64,
        divergent: Vec<Divergent>,
    ) -> Result<(), RegionError> {
        // All attempts use the same folder: the streams of an earlier attempt may already be deleted.
        let folder = self.sites.settings.data.join("divergent").join(format!("epoch-{epoch}"));
        let mut streams: Vec<StreamTailView> = Vec::new();
        for part in divergent {
            let kept = keep(&site.domain, &folder, &part.stream, part.from, part.through).await?;
            let kept = kept.map_err(|error| self.sites.site_error(site, error))?;
            streams.push(StreamTailView { whole: part.whole.map(str::to_owned), ..kept });
        }
        let messages: u64 = streams.iter().map(|stream| stream.messages).sum();
        tracing::warn!(region = site.name, messages, folder = %folder.display(), "kept a divergent tail");
        let files: Vec<String> = streams.iter().map(|kept| file_of(&kept.stream)).collect();
        let bucket = names::divergent_bucket(&self.sites.settings.installation);
        let earlier = site.records.tail().await.map_err(|error| self.sites.site_error(site, error))?;
        let tail = Tail {
            kept_ms: now_ms(),
            epoch,
            overtaken_by,
            instance: self.sites.settings.instance.clone(),
            folder: folder.display().to_string(),
            bucket: Some(bucket.clone()),
            streams,
        }
        .with_earlier(earlier);
        crate::divergent_tail::finish(&folder, &tail).await?;
        // The disk of an instance may be lost with it, so acknowledged messages are kept in NATS as well.
        store(&self.sites.here.domain, &bucket, self.sites.settings.replicas, &folder, &files).await?;
        site.records.set_tail(&tail).await.map_err(|error| self.sites.site_error(site, error))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TailPolicy {
    /// A divergent tail is kept in files of this instance and in the NATS of its region.
    Keep,
    /// A divergent tail is an error.
    Refuse,
}
