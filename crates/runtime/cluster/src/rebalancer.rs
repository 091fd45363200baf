//! Acquires and releases partitions, a few concurrently, whenever the view of the cluster changes.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{info, warn};
use types::{Epoch, PartitionId};

use crate::backoffs::Backoffs;
use crate::heartbeat::Phase;
use crate::versions::Versions;
use crate::{
    ClusterMetrics, ClusterView, Decision, HandoverWait, Member, Observation, Ownership, PartitionOwner,
    RebalanceAction, Register, Settings, decide,
};

/// Decides again after so long, even if nothing changes.
const RECHECK_INTERVAL: Duration = Duration::from_secs(5);
/// A published owner takes a moment to appear in the view; it is not published again before.
const PUBLISH_VISIBLE_WITHIN: Duration = Duration::from_secs(3);
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(2);
const PUBLISH_TRIES: u32 = 3;
const PUBLISH_PAUSE: Duration = Duration::from_millis(500);
/// How often the durable ends of owned partitions are published: lost events are noticed up to there.
const DURABLE_END_INTERVAL: Duration = Duration::from_secs(30);

pub(crate) struct Rebalancer<R, H> {
    register: Arc<R>,
    owner: Arc<H>,
    me: Member,
    settings: Settings,
    metrics: ClusterMetrics,
    view: watch::Receiver<Arc<ClusterView>>,
    lost: watch::Receiver<u64>,
    phase: watch::Receiver<Phase>,
    trust_from: watch::Receiver<Option<Instant>>,
    work: JoinSet<ActionOutcome>,
    busy: BTreeSet<PartitionId>,
    acquiring: usize,
    waiting: BTreeMap<PartitionId, HandoverWait>,
    backoffs: Backoffs,
    versions: Versions,
    /// What was owned at the last decision: whatever is missing since then was lost.
    last_owned: BTreeMap<PartitionId, Epoch>,
    /// When durable ends are published next.
    durable_ends_at: Instant,
}

/// An action that has ended.
enum ActionOutcome {
    Acquired { partition: PartitionId, outcome: Result<Epoch, String>, time: Duration },
    Released(PartitionId),
    Published(PartitionId),
}

impl<R: Register, H: PartitionOwner> Rebalancer<R, H> {
    pub(crate) fn new(
        register: Arc<R>,
        owner: Arc<H>,
        me: Member,
        settings: Settings,
        metrics: ClusterMetrics,
        phase: watch::Receiver<Phase>,
        trust_from: watch::Receiver<Option<Instant>>,
    ) -> Rebalancer<R, H> {
        Rebalancer {
            view: register.watch(),
            lost: owner.lost(),
            register,
            owner,
            me,
            settings,
            metrics,
            phase,
            trust_from,
            work: JoinSet::new(),
            busy: BTreeSet::new(),
            acquiring: 0,
            waiting: BTreeMap::new(),
            backoffs: Backoffs::default(),
            versions: Versions::default(),
            last_owned: BTreeMap::new(),
            durable_ends_at: Instant::now() + DURABLE_END_INTERVAL,
        }
    }

    /// Runs until the instance leaves and has released everything.
    pub(crate) async fn run(mut self) {
        loop {
            let leaving = *self.phase.borrow_and_update() != Phase::Running;
            let again = self.rebalance(leaving);
            if leaving && self.busy.is_empty() && self.last_owned.is_empty() {
                return;
            }
            tokio::select! {
                // A fixed order, so that a simulation is deterministic.
                biased;
                Some(done) = self.work.join_next() => match done {
                    Ok(done) => self.finish(done),
                    // A half-done acquisition cannot be continued: the process ends, as with every task that panics.
                    Err(error) => if let Ok(panic) = error.try_into_panic() { resume_unwind(panic) },
                },
                Ok(()) = self.view.changed() => {}
                Ok(()) = self.lost.changed() => {}
                Ok(()) = self.phase.changed() => {}
                Ok(()) = self.trust_from.changed() => {}
                () = sleep_until(again) => {}
            }
        }
    }

    /// Decides, starts the actions, and returns when to decide again.
    fn rebalance(&mut self, leaving: bool) -> Instant {
        let now = Instant::now();
        self.lost.mark_unchanged();
        let owned = self.owner.owned();
        self.count_losses(&owned, now);
        let view = Arc::clone(&self.view.borrow_and_update());
        if let Some(versions) = self.versions.mixed(&view) {
            warn!(versions, "the cluster has instances of several versions; finish the upgrade");
        }
        let trust_from = *self.trust_from.borrow_and_update();
        let observed = Observation {
            view: &view,
            me: &self.me,
            leaving,
            owned: &owned,
            busy: &self.busy,
            waiting: &self.waiting,
            paused: self.backoffs.until(),
            trust_from,
            now,
        };
        let Decision { actions, waiting, again } = decide(&self.settings, &observed);
        self.waiting = waiting;
        self.metrics.owned.set(i64::try_from(owned.len()).unwrap_or(i64::MAX));
        self.metrics.instances.set(i64::try_from(view.members.len()).unwrap_or(i64::MAX));
        for action in actions {
            self.begin(action, &owned);
        }
        if now >= self.durable_ends_at && trust_from.is_some() {
            self.durable_ends_at = now + DURABLE_END_INTERVAL;
            self.publish_durable_ends(&view, &owned);
        }
        self.last_owned = owned.into_iter().filter(|(partition, _)| !self.busy.contains(partition)).collect();
        again.unwrap_or(now + RECHECK_INTERVAL).min(now + RECHECK_INTERVAL)
    }

    fn count_losses(&mut self, owned: &BTreeMap<PartitionId, Epoch>, now: Instant) {
        let lost = self.last_owned.iter().filter(|(partition, _)| !owned.contains_key(partition));
        for (partition, epoch) in lost {
            self.metrics.losses.inc();
            let Settings { backoff_first, backoff_max, .. } = self.settings;
            let pause = self.backoffs.lengthen(*partition, now, backoff_first, backoff_max);
            warn!(%partition, epoch = epoch.0, ?pause, "partition lost: another instance claimed it, or it stopped");
        }
    }

    /// Publishes the durable end of each owned partition where it has moved.
    fn publish_durable_ends(&mut self, view: &ClusterView, owned: &BTreeMap<PartitionId, Epoch>) {
        for (partition, epoch) in owned {
            let published =
                view.ownerships.get(partition).filter(|published| published.is_of(&self.me.id, *epoch));
            let has_moved =
                published.is_some_and(|published| published.durable_end < self.owner.durable_end(*partition));
            if has_moved && !self.busy.contains(partition) {
                let ownership = Ownership::new(Some(self.me.id.clone()), *epoch);
                self.begin(RebalanceAction::Publish(*partition, ownership), owned);
            }
        }
    }

    fn begin(&mut self, action: RebalanceAction, owned: &BTreeMap<PartitionId, Epoch>) {
        let (register, owner) = (Arc::clone(&self.register), Arc::clone(&self.owner));
        match action {
            // Decided again when one of the running acquisitions ends.
            RebalanceAction::Acquire(_) if self.acquiring >= self.settings.acquires_max => {}
            RebalanceAction::Acquire(partition) => {
                self.acquiring += 1;
                self.busy.insert(partition);
                let me = self.me.id.clone();
                let durable_end =
                    self.view.borrow().ownerships.get(&partition).and_then(|published| published.durable_end);
                self.work.spawn(async move {
                    let begun = Instant::now();
                    let outcome = owner.acquire(partition, durable_end).await;
                    let time = begun.elapsed();
                    if let Ok(epoch) = outcome {
                        let durable_end = owner.durable_end(partition);
                        publish(&*register, partition, Ownership { owner: Some(me), epoch, durable_end })
                            .await;
                    }
                    ActionOutcome::Acquired { partition, outcome, time }
                });
            }
            RebalanceAction::Release(partition) => {
                let Some(epoch) = owned.get(&partition).copied() else { return };
                self.busy.insert(partition);
                let drain_timeout = self.settings.drain_timeout;
                self.work.spawn(async move {
                    owner.release(partition, drain_timeout).await;
                    let durable_end = owner.durable_end(partition);
                    publish(&*register, partition, Ownership { owner: None, epoch, durable_end }).await;
                    ActionOutcome::Released(partition)
                });
            }
            RebalanceAction::Publish(partition, mut ownership) => {
                self.busy.insert(partition);
                ownership.durable_end = ownership.owner.as_ref().and_then(|_| owner.durable_end(partition));
                self.work.spawn(async move {
                    publish(&*register, partition, ownership).await;
                    ActionOutcome::Published(partition)
                });
            }
        }
    }

    fn finish(&mut self, done: ActionOutcome) {
        let now = Instant::now();
        match done {
            ActionOutcome::Acquired { partition, outcome, time } => {
                self.acquiring -= 1;
                self.busy.remove(&partition);
                match outcome {
                    Ok(epoch) => self.acquired(partition, epoch, time, now),
                    Err(error) => self.failed(partition, &error, now),
                }
            }
            ActionOutcome::Released(partition) => {
                self.busy.remove(&partition);
                self.metrics.releases.inc();
                self.backoffs.delay(partition, now + PUBLISH_PAUSE);
                info!(%partition, instance = %self.me.id, "partition released");
            }
            ActionOutcome::Published(partition) => {
                self.busy.remove(&partition);
                self.backoffs.delay(partition, now + PUBLISH_VISIBLE_WITHIN);
            }
        }
    }

    fn acquired(&mut self, partition: PartitionId, epoch: Epoch, time: Duration, now: Instant) {
        self.last_owned.insert(partition, epoch);
        self.metrics.acquisitions.inc();
        self.metrics.last_acquire_seconds.set(time.as_secs_f64());
        self.backoffs.delay(partition, now + PUBLISH_VISIBLE_WITHIN);
        info!(%partition, epoch = epoch.0, ?time, instance = %self.me.id, "partition acquired");
    }

    fn failed(&mut self, partition: PartitionId, error: &str, now: Instant) {
        self.metrics.acquire_failures.inc();
        let Settings { backoff_first, backoff_max, .. } = self.settings;
        let pause = self.backoffs.lengthen(partition, now, backoff_first, backoff_max);
        warn!(%partition, error, ?pause, "acquiring a partition failed");
    }
}

/// Publishes the owner of a partition. If all tries fail, the next decision notices it and publishes again.
async fn publish<R: Register>(register: &R, partition: PartitionId, ownership: Ownership) {
    for attempt in 1..=PUBLISH_TRIES {
        match timeout(PUBLISH_TIMEOUT, register.publish(partition, ownership.clone())).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => warn!(%partition, %error, "publishing the owner of a partition failed"),
            Err(_) => warn!(%partition, "publishing the owner of a partition timed out"),
        }
        if attempt < PUBLISH_TRIES {
            sleep(PUBLISH_PAUSE).await;
        }
    }
}
