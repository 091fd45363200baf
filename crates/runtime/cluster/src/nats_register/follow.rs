//! Follows the register: watches report changes at once, and a full reading every few seconds finds what they have missed.

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
/// The next reading after a watch has ended.
const READ_SOON: Duration = Duration::from_millis(300);
/// So many consecutive readings with changes mean that a watch reports nothing.
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
    /// Consecutive readings with changes that the watches should have reported.
    missed: u32,
}

struct Watchers {
    instances: BucketWatch,
    partitions: BucketWatch,
}

/// An event of one of the two watches; none when it has ended.
enum WatchEvent {
    Instance(Option<KeyEntry>),
    Partition(Option<KeyEntry>),
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
            members: Table::of_expiring_keys(lifetime),
            ownerships: Table::of_permanent_keys(lifetime),
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
                event = next(&mut self.watchers) => self.apply(event, &mut readings),
                _ = readings.tick() => self.read(&mut readings).await,
                Ok(()) = self.active.changed() => {}
            }
            self.show();
        }
    }

    fn apply(&mut self, event: WatchEvent, readings: &mut Interval) {
        let now = Instant::now();
        match event {
            WatchEvent::Instance(Some(entry)) => {
                self.members.update(self.instances.parse(entry), now);
            }
            WatchEvent::Partition(Some(entry)) => {
                self.ownerships.update(self.partitions.parse(entry), now);
            }
            WatchEvent::Instance(None) | WatchEvent::Partition(None) => {
                debug!("a watch of the register has ended; creating it again");
                self.watch_again(readings);
            }
        }
    }

    async fn read(&mut self, readings: &mut Interval) {
        if self.watchers.is_none() {
            match watch_both(&self.instances, &self.partitions).await {
                Ok(watchers) => self.watchers = Some(watchers),
                Err(error) => warn!(%error, "could not watch the register"),
            }
        }
        let is_watching = self.known && self.watchers.is_some();
        match self.compare().await {
            Ok(changed) => self.missed = if changed && is_watching { self.missed + 1 } else { 0 },
            Err(error) => warn!(%error, "could not read the register"),
        }
        if self.missed >= MISSED_MAX {
            warn!("the watches of the register have missed changes; creating them again");
            self.watch_again(readings);
        }
    }

    fn watch_again(&mut self, readings: &mut Interval) {
        self.watchers = None;
        self.missed = 0;
        readings.reset_after(READ_SOON);
    }

    /// Reads all keys; returns whether anything has changed.
    async fn compare(&mut self) -> Result<bool, RegisterError> {
        let (members, ownerships) = tokio::try_join!(self.instances.read(), self.partitions.read())?;
        let now = Instant::now();
        let changed = [self.members.compare(members, now), self.ownerships.compare(ownerships, now)];
        self.known = true;
        Ok(changed.contains(&true))
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

/// The next event of either watch; waits for ever while there are none.
async fn next(watchers: &mut Option<Watchers>) -> WatchEvent {
    let Some(Watchers { instances, partitions }) = watchers else { return std::future::pending().await };
    tokio::select! {
        event = instances.next() => WatchEvent::Instance(event),
        event = partitions.next() => WatchEvent::Partition(event),
    }
}

/// The partition of a key, the inverse of [`names::number`].
fn partition(key: &str) -> Option<PartitionId> {
    let partition = key.parse().map_or(PartitionId::CONTROL, PartitionId);
    (names::number(partition) == key).then_some(partition)
}
