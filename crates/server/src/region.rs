//! The region routes of the API: controls the regions, and shows their state in the types of the API.

mod gauges;
mod requests;

use api_types::{DrillView, PromotedView, RegionView, TailRequestView};
use regions::{Mode, RegionError, Regions, Status};
use rest::{Force, RegionControl, RegionRefusal, RegionReply, StandingBy};
use tokio::sync::mpsc;
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
        Box::pin(async { self.regions.status().await.map(Status::view).map_err(refusal) })
    }

    fn promote(&self, force: Force) -> RegionReply<'_, PromotedView> {
        let mode = match force {
            Force::No => Mode::Planned,
            Force::Yes => Mode::Forced,
            Force::Incomplete => Mode::ForcedIncomplete,
        };
        let regions = self.regions.clone();
        // A promotion continues when its client disconnects.
        let promoting = host::spawn("promotion", async move { regions.promote(mode).await });
        Box::pin(async {
            let promoted = promoting.await.map_err(|error| RegionRefusal::Unavailable(error.to_string()))?;
            promoted.map(|promoted| promoted.view(self.regions.name())).map_err(refusal)
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
            drill.map_err(refusal)
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
