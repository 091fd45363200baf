//! How everything is doing, in one answer: what is counted anyway, looked at once a second.

pub(crate) mod merge;
mod recorder;

use std::sync::Arc;
use std::time::Duration;

use api_types::{
    BacklogView, FiringView, FiringsView, OverviewView, PartitionCounts, RegionBrief, RegionView, SeriesView,
    Time,
};
use engine::Engine;
use engine::jobs::{JobReader, ReadJobError};
use host::Clock;
use ingest::Ingest;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use types::{Span, Timestamp};
use view::Ids;

use crate::region::Regions;
use crate::routes::short_collection_name;
use crate::services::Services;

use self::recorder::{CounterReading, Recorded, Recorder};

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Firings that an overview names.
const FIRINGS_SHOWN: usize = 10;
/// A firing that is due for longer is late.
const LATE_AFTER: Span = Span::from_secs(1);
/// Late firings that are counted in each partition; where there are more, there are simply many.
const LATE_COUNTED_MAX: usize = 1000;
/// Stretches that say how fast the backlog shrinks: a minute.
const DRAIN_STRETCHES: usize = 6;
/// What is known of the region, which asks its pair, is good for this long.
const REGION_KEPT: Duration = Duration::from_secs(5);
/// After nobody answered, the region is left in peace for this long: overviews are not to wait again and again.
const REGION_SPARED: Duration = Duration::from_secs(15);
/// How long an overview waits for the region.
const REGION_PATIENCE: Duration = Duration::from_secs(2);

/// What an instance remembers for its overviews.
#[derive(Default)]
pub(crate) struct Records {
    recorder: Recorder,
    region: KnownRegion,
}

/// What is known of the region, and when it is asked again.
#[derive(Default)]
struct KnownRegion {
    // Held while the region is asked: whoever comes meanwhile and finds nothing known waits for the same answer.
    asked: Mutex<Option<Instant>>,
    known: std::sync::Mutex<Option<RegionBrief>>,
}

impl KnownRegion {
    async fn brief<E>(&self, status: impl Future<Output = Result<RegionView, E>>) -> Option<RegionBrief> {
        let (known, asked) = (self.known(), self.asked.try_lock());
        let mut due = match (known, asked) {
            (Some(known), Err(_)) => return Some(known),
            (_, Ok(due)) => due,
            (None, Err(_)) => self.asked.lock().await,
        };
        if due.is_none_or(|due| Instant::now() >= due) {
            let answer = tokio::time::timeout(REGION_PATIENCE, status).await;
            let mut known = self.known.lock().expect("nobody panics while holding it");
            let kept = match answer {
                Ok(Ok(region)) => {
                    *known = Some(brief(region));
                    REGION_KEPT
                }
                // What else was known stays: an overview is not for want of it withheld.
                Ok(Err(_)) | Err(_) => {
                    if let Some(known) = known.as_mut() {
                        known.pair_reachable = false;
                    }
                    REGION_SPARED
                }
            };
            *due = Some(Instant::now() + kept);
        }
        self.known()
    }

    fn known(&self) -> Option<RegionBrief> {
        self.known.lock().expect("nobody panics while holding it").clone()
    }
}

/// Looks once a second until the server stops.
pub(crate) async fn record(overview: Overview, mut stopped: watch::Receiver<bool>) {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            // Stop first: this must not hold on to the API.
            biased;
            _ = stopped.wait_for(|stopped| *stopped) => return,
            _ = looks.tick() => overview.records.recorder.note(overview.clock.now(), overview.reading()),
        }
    }
}

/// How this instance is doing. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Overview {
    pub engine: Engine,
    pub ingest: Arc<Ingest>,
    pub ids: Arc<Ids>,
    pub jobs: JobReader,
    pub clock: Clock,
    pub services: Services,
    pub regions: Regions,
    pub records: Arc<Records>,
    pub partitions: u16,
}

impl Overview {
    fn reading(&self) -> CounterReading {
        let (ingest, engine) = (self.ingest.reading(), self.engine.reading());
        CounterReading {
            // What goes in is what can come out: an occurrence of a job is a run, and ends as one.
            accepted: ingest.accepted + engine.fired,
            refused: ingest.refused,
            ended: engine.run_times.total(),
            attempts: engine.attempts,
            unfinished: self.ids.len() as u64,
            accept_times: ingest.accept_times,
            run_times: engine.run_times,
            lateness: engine.lateness,
        }
    }

    /// How this instance is doing.
    pub(crate) async fn read(&self) -> OverviewView {
        let Recorded { rates, latency, lateness_p99_ms, series } = self.records.recorder.read();
        let engine = self.engine.reading();
        let unfinished = self.ids.len() as u64;
        let mut backlog = BacklogView {
            unfinished,
            waiting: unfinished.saturating_sub(engine.live),
            live: engine.live,
            drain_seconds: None,
        };
        backlog.drain_seconds = drain_seconds(&series, &backlog, engine.parked);
        let (next, late) = self.firings().await;
        OverviewView {
            at: Time(self.clock.now()),
            rates,
            latency,
            backlog,
            parked: engine.parked,
            firings: FiringsView { next, late, lateness_p99_ms },
            services: self.services.all(),
            partitions: self.partition_counts(),
            region: self.region_brief().await,
            series,
        }
    }

    fn partition_counts(&self) -> PartitionCounts {
        let held = self.engine.partitions();
        let stopped = held.iter().filter(|info| info.stopped.is_some()).count();
        let count = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        let total = self.partitions;
        PartitionCounts {
            total,
            running: count(held.len() - stopped),
            stopped: count(stopped),
            unheld: total.saturating_sub(count(held.len())),
        }
    }

    /// The next firings of what runs here, and how many are late.
    async fn firings(&self) -> (Vec<FiringView>, u64) {
        let running = self.engine.partitions().into_iter().filter(|info| info.stopped.is_none());
        let partitions: Vec<_> = running.map(|info| info.id).collect();
        let (jobs, wall) = (self.jobs.clone(), self.clock.wall());
        let read = move || {
            let due = Timestamp(wall.0 - LATE_AFTER.as_ms() as i64);
            let late = jobs.late_in(partitions.iter().copied(), due, LATE_COUNTED_MAX)?;
            Ok((jobs.firings_in(partitions, FIRINGS_SHOWN)?, late))
        };
        let read: Result<_, ReadJobError> =
            tokio::task::spawn_blocking(read).await.expect("reading jobs does not panic");
        let (next, late) = read.unwrap_or_else(|error| {
            // A partition that changes its owner or stops at this moment: the rest is worth telling.
            tracing::debug!(%error, "the next firings could not be read");
            (Vec::new(), 0)
        });
        let next = next.into_iter().map(|firing| FiringView {
            collection: short_collection_name(&firing.collection),
            job: firing.job,
            at: Time(firing.at),
        });
        (next.collect(), late)
    }

    async fn region_brief(&self) -> Option<RegionBrief> {
        let regions = self.regions.0.as_deref()?;
        self.records.region.brief(regions.status()).await
    }
}

fn brief(region: RegionView) -> RegionBrief {
    RegionBrief {
        region: region.here.region,
        role: region.here.role,
        pair: region.pair.region,
        pair_reachable: region.pair_reachable,
    }
}

/// How long until nothing waits but for people, at the net rate of the last minute.
fn drain_seconds(series: &SeriesView, backlog: &BacklogView, parked: u64) -> Option<u64> {
    let left = backlog.unfinished.saturating_sub(parked);
    let newest = series.unfinished.len().checked_sub(1)?;
    let oldest = newest.saturating_sub(DRAIN_STRETCHES);
    let drained = series.unfinished[oldest].checked_sub(series.unfinished[newest])?;
    if left == 0 || drained == 0 {
        return None;
    }
    let seconds = (newest - oldest) as f64 * f64::from(series.every_seconds);
    Some((left as f64 * seconds / drained as f64).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pair_that_does_not_answer_is_reported_and_not_waited_for_again_and_again() {
        let region = KnownRegion::default();
        let silent = || std::future::pending::<Result<RegionView, Infallible>>();
        *region.known.lock().unwrap() = Some(RegionBrief {
            region: "oslo".to_owned(),
            role: "active".to_owned(),
            pair: "rome".to_owned(),
            pair_reachable: true,
        });
        assert!(!region.brief(silent()).await.unwrap().pair_reachable);
        let before = Instant::now();
        for _ in 0..10 {
            assert!(!region.brief(silent()).await.unwrap().pair_reachable);
        }
        assert_eq!(before.elapsed(), Duration::ZERO, "the clock of this test stands while nobody waits");
        tokio::time::advance(REGION_SPARED).await;
        let before = Instant::now();
        region.brief(silent()).await;
        assert_ne!(before.elapsed(), Duration::ZERO, "it is asked again");
    }

    #[test]
    fn a_backlog_drains_at_the_net_rate_of_the_last_minute_or_not_at_all() {
        let drain = |series: &[u64], unfinished, parked| {
            let series =
                SeriesView { every_seconds: 10, unfinished: series.to_vec(), ..SeriesView::default() };
            drain_seconds(&series, &BacklogView { unfinished, ..BacklogView::default() }, parked)
        };
        // 600 fewer in 60 seconds; what was before does not count.
        assert_eq!(drain(&[9999, 1600, 1500, 1400, 1300, 1200, 1100, 1000], 1000, 0), Some(100));
        assert_eq!(drain(&[9999, 1600, 1500, 1400, 1300, 1200, 1100, 1000], 1000, 400), Some(60));
        assert_eq!(drain(&[110, 100], 100, 0), Some(100));
        assert_eq!(drain(&[100, 100], 100, 0), None);
        assert_eq!(drain(&[100, 110], 110, 0), None);
        assert_eq!(drain(&[100, 10], 10, 10), None);
        assert_eq!(drain(&[100], 100, 0), None);
        assert_eq!(drain(&[], 100, 0), None);
    }
}
