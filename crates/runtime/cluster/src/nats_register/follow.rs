//! Follows the register: watchers tell at once, and a reading every few seconds makes up for what they left out.

use std::sync::Arc;
use std::time::Duration;

use crate::{ClusterView, Member, Ownership, RegisterError};
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};
use tracing::{debug, warn};
use types::PartitionId;

use super::bucket::Bucket;
use super::table::Table;
use journal_nats::jetstream::{BucketWatch, KeyEntry};
use journal_nats::names;

const READ_EVERY: Duration = Duration::from_secs(3);
/// After a watcher has broken.
const READ_SOON: Duration = Duration::from_millis(300);
/// So many readings in a row that tell something new mean that a watcher tells nothing.
const MISSED_MAX: u32 = 2;

pub(super) struct Follower {
    instances: Bucket,
    partitions: Bucket,
    members: Table<Member>,
    ownerships: Table<Ownership>,
    known: bool,
    active: watch::Receiver<bool>,
    view: watch::Sender<Arc<ClusterView>>,
    watchers: Option<Watchers>,
    /// Readings in a row that the watchers should have told.
    missed: u32,
}

struct Watchers {
    instances: BucketWatch,
    partitions: BucketWatch,
}

/// What a watcher has said, if it still says anything.
enum Said {
    OfInstances(Option<KeyEntry>),
    OfPartitions(Option<KeyEntry>),
}

impl Follower {
    pub(super) fn new(
        instances: Bucket,
        partitions: Bucket,
        active: watch::Receiver<bool>,
        view: watch::Sender<Arc<ClusterView>>,
        lifetime: Duration,
    ) -> Follower {
        Follower {
            instances,
            partitions,
            members: Table::of_the_living(lifetime),
            ownerships: Table::of_what_stays(lifetime),
            known: false,
            active,
            view,
            watchers: None,
            missed: 0,
        }
    }

    pub(super) async fn run(mut self) {
        let mut readings = interval(READ_EVERY);
        readings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                said = next(&mut self.watchers) => self.hear(said, &mut readings),
                _ = readings.tick() => self.read(&mut readings).await,
                Ok(()) = self.active.changed() => {}
            }
            self.show();
        }
    }

    fn hear(&mut self, said: Said, readings: &mut Interval) {
        let now = Instant::now();
        match said {
            Said::OfInstances(Some(entry)) => {
                self.members.hear(self.instances.news(entry), now);
            }
            Said::OfPartitions(Some(entry)) => {
                self.ownerships.hear(self.partitions.news(entry), now);
            }
            Said::OfInstances(None) | Said::OfPartitions(None) => {
                debug!("a watcher of the register ended; creating it again");
                self.watch_again(readings);
            }
        }
    }

    async fn read(&mut self, readings: &mut Interval) {
        if self.watchers.is_none() {
            match watch_both(&self.instances, &self.partitions).await {
                Ok(watchers) => self.watchers = Some(watchers),
                Err(error) => warn!(%error, "the register cannot be watched"),
            }
        }
        let told = self.known && self.watchers.is_some();
        match self.compare().await {
            Ok(news) => self.missed = if news && told { self.missed + 1 } else { 0 },
            Err(error) => warn!(%error, "the register cannot be read"),
        }
        if self.missed >= MISSED_MAX {
            warn!("the watchers of the register missed changes; creating them again");
            self.watch_again(readings);
        }
    }

    fn watch_again(&mut self, readings: &mut Interval) {
        self.watchers = None;
        self.missed = 0;
        readings.reset_after(READ_SOON);
    }

    /// Reads everything; whether something was new.
    async fn compare(&mut self) -> Result<bool, RegisterError> {
        let (members, ownerships) = tokio::try_join!(self.instances.read(), self.partitions.read())?;
        let now = Instant::now();
        let news = [self.members.compare(members, now), self.ownerships.compare(ownerships, now)];
        self.known = true;
        Ok(news.contains(&true))
    }

    fn show(&self) {
        let members = self.members.values().map(|(_, member)| (member.id.clone(), member.clone()));
        let ownerships = self
            .ownerships
            .values()
            .filter_map(|(key, ownership)| Some((partition(key)?, ownership.clone())));
        let view = ClusterView {
            known: self.known,
            members: members.collect(),
            ownerships: ownerships.collect(),
            active: *self.active.borrow(),
        };
        self.view.send_if_modified(|shown| {
            let new = **shown != view;
            if new {
                *shown = Arc::new(view);
            }
            new
        });
    }
}

async fn watch_both(instances: &Bucket, partitions: &Bucket) -> Result<Watchers, RegisterError> {
    let (instances, partitions) = tokio::try_join!(instances.watch(), partitions.watch())?;
    Ok(Watchers { instances, partitions })
}

/// The next word of either watcher; never, while there are none.
async fn next(watchers: &mut Option<Watchers>) -> Said {
    let Some(Watchers { instances, partitions }) = watchers else { return std::future::pending().await };
    tokio::select! {
        said = instances.next() => Said::OfInstances(said),
        said = partitions.next() => Said::OfPartitions(said),
    }
}

/// The partition of a key, the other way round than [`names::number`].
fn partition(key: &str) -> Option<PartitionId> {
    let partition = key.parse().map_or(PartitionId::CONTROL, PartitionId);
    (names::number(partition) == key).then_some(partition)
}
