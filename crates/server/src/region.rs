//! The region routes of the API: controls the regions, and shows their state in the types of the API.

mod gauges;
mod requests;

use api_types::{
    CheckView, DrillView, LeasesView, MirrorView, PromotedView, RegionView, SideView, StreamTailView,
    TailRequestView, TailView, Time,
};
use regions::{
    Drill, HeldLeases, MirrorStatus, Mode, Promoted, PromotionStep, Record, RegionError, Regions, Role,
    Status, Tail,
};
use rest::{Force, RegionControl, RegionRefusal, RegionReply, StandingBy};
use tokio::sync::mpsc;
use types::Timestamp;
use vault::Vault;

pub(crate) use gauges::Gauges;

/// Controls the regions of an installation for the API.
struct RegionController {
    regions: Regions,
}

pub(crate) fn control(regions: Regions) -> Box<dyn RegionControl> {
    Box::new(RegionController { regions })
}

impl RegionControl for RegionController {
    fn status(&self) -> RegionReply<'_, RegionView> {
        Box::pin(async { self.regions.status().await.map(region_view).map_err(refusal) })
    }

    fn promote(&self, force: Force) -> RegionReply<'_, PromotedView> {
        let mode = match force {
            Force::No => Mode::Planned,
            Force::Yes => Mode::Forced,
            Force::Incomplete => Mode::ForcedIncomplete,
        };
        let regions = self.regions.clone();
        // A promotion goes on when its client disconnects.
        let promoting = host::spawn("promotion", async move { regions.promote(mode).await });
        Box::pin(async {
            let promoted = promoting.await.map_err(|error| RegionRefusal::Unavailable(error.to_string()))?;
            promoted.map(|promoted| promoted_view(self.regions.name(), promoted)).map_err(refusal)
        })
    }

    fn demote(&self) -> RegionReply<'_, RegionView> {
        let regions = self.regions.clone();
        let demoting = host::spawn("demotion", async move { regions.demote().await });
        Box::pin(async {
            let demoted = demoting.await.map_err(|error| RegionRefusal::Unavailable(error.to_string()))?;
            demoted.map_err(refusal)?;
            self.status().await
        })
    }

    fn drill(&self, switch: bool) -> RegionReply<'_, DrillView> {
        let regions = self.regions.clone();
        let drilling = host::spawn("drill", async move {
            if switch { regions.switch_and_back().await } else { regions.check().await }
        });
        Box::pin(async {
            let drill = drilling.await.map_err(|error| RegionRefusal::Unavailable(error.to_string()))?;
            drill.map(drill_view).map_err(refusal)
        })
    }

    fn tail_requests(&self, stream: String) -> RegionReply<'_, Option<mpsc::Receiver<TailRequestView>>> {
        Box::pin(async move {
            let requests = self.regions.tail_requests(&stream).await.map_err(refusal)?;
            Ok(requests.map(|requests| requests::shown(stream, requests)))
        })
    }

    fn standing_by(&self) -> Option<StandingBy> {
        let active = *self.regions.active().borrow();
        (!active).then(|| StandingBy {
            region: self.regions.name().to_owned(),
            active: self.regions.active_elsewhere(),
        })
    }
}

/// Notes which keys this region has for secrets. Jobs whose secrets cannot be opened fail after a switch, and only then.
pub(crate) async fn note_keys(regions: &Regions, vault: &Vault) {
    match regions.note_keys(&vault.key_ids()).await {
        Ok(None) => {}
        Ok(Some(problem)) => {
            tracing::error!(%problem, "the regions have different keys in secrets.key; give both the same");
        }
        // The region that starts later compares them, and so does every drill.
        Err(error) => tracing::info!(%error, "could not compare the keys of the regions"),
    }
}

fn refusal(error: RegionError) -> RegionRefusal {
    let text = error.to_string();
    match error {
        RegionError::Here(_)
        | RegionError::Pair { .. }
        | RegionError::PairUnreachable { .. }
        | RegionError::Witness(_)
        | RegionError::Keep(_)
        | RegionError::Store(_) => RegionRefusal::Unavailable(text),
        RegionError::Busy { .. }
        | RegionError::NotPromotable { .. }
        | RegionError::Incomplete { .. }
        | RegionError::Lagging(_)
        | RegionError::Changed
        | RegionError::Overruled { .. }
        | RegionError::LinkCarries { .. }
        | RegionError::WitnessRefuses(_) => RegionRefusal::Conflict(text),
    }
}

fn region_view(status: Status) -> RegionView {
    RegionView {
        active: status.active().map(str::to_owned),
        here: side_view(status.region, status.record),
        pair: side_view(status.pair, status.pair_record),
        pair_reachable: status.pair_reachable,
        mirrors: status.mirrors.into_iter().map(mirror_view).collect(),
        leases: status.leases.map(|HeldLeases { witness, pair }| LeasesView { witness, pair }),
        follows: status.follows,
        tail: status.tail.map(tail_view),
    }
}

fn side_view(region: String, record: Option<Record>) -> SideView {
    let Some(record) = record else {
        let role = "unknown".to_owned();
        return SideView { region, role, epoch: None, since: None, by: None, level: None, promotion: None };
    };
    let step = |step| match step {
        PromotionStep::Fence => "fence",
        PromotionStep::CatchUp => "catch_up",
        PromotionStep::Open => "open",
    };
    SideView {
        region,
        role: record.role.to_string(),
        epoch: Some(record.epoch),
        since: Some(time(record.since_ms)),
        by: Some(record.by),
        level: (record.role == Role::Standby).then_some(record.level),
        promotion: record.promotion.map(|promotion| step(promotion.step).to_owned()),
    }
}

fn mirror_view(mirror: MirrorStatus) -> MirrorView {
    let MirrorStatus { stream, last, origin_last, lag, newest } = mirror;
    MirrorView { stream, last, origin_last, lag, newest }
}

fn tail_view(tail: Tail) -> TailView {
    let streams = tail.streams.into_iter().map(|stream| StreamTailView {
        stream: stream.stream,
        from: stream.from,
        through: stream.through,
        messages: stream.messages,
        bytes: stream.bytes,
        whole: stream.whole,
        contents: stream.contents,
    });
    TailView {
        kept_at: time(tail.kept_ms),
        epoch: tail.epoch,
        overtaken_by: tail.overtaken_by,
        instance: tail.instance,
        folder: tail.folder,
        bucket: tail.bucket,
        streams: streams.collect(),
    }
}

fn promoted_view(region: &str, promoted: Promoted) -> PromotedView {
    PromotedView {
        region: region.to_owned(),
        epoch: promoted.epoch,
        forced: promoted.forced,
        took_ms: promoted.took_ms,
        lost_messages: promoted.lost(),
        mirrors: promoted.mirrors.into_iter().map(mirror_view).collect(),
        pair_mirrors: promoted.pair_mirrors,
    }
}

fn drill_view(drill: Drill) -> DrillView {
    let ready = drill.ready();
    let checks = drill.checks.into_iter().map(|check| CheckView {
        check: check.check,
        passed: check.passed,
        detail: check.detail,
    });
    let switches = drill.switches.into_iter().map(|(region, promoted)| promoted_view(&region, promoted));
    DrillView { ready, checks: checks.collect(), switches: switches.collect() }
}

fn time(ms: u64) -> Time {
    Time(Timestamp(i64::try_from(ms).unwrap_or(i64::MAX)))
}
