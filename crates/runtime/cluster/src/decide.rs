//! Decides what an instance does with each partition, from its view of the cluster and what it owns. Pure: no clock, no I/O.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;
use types::{Epoch, PartitionId};

use crate::assignment::{Owners, assign};
use crate::{ClusterView, Member, Ownership, Settings};

/// One thing to do with a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RebalanceAction {
    Acquire(PartitionId),
    Release(PartitionId),
    /// The published owner differs from the actual one.
    Publish(PartitionId, Ownership),
}

/// A wait for an owner that is alive to release a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandoverWait {
    /// The epoch of that owner. A later epoch starts a new wait.
    pub epoch: Epoch,
    pub since: Instant,
}

/// What this instance knows when it decides.
#[derive(Debug, Clone)]
pub struct Observation<'a> {
    pub view: &'a ClusterView,
    pub me: &'a Member,
    /// Whether this instance is shutting down.
    pub leaving: bool,
    pub owned: &'a BTreeMap<PartitionId, Epoch>,
    /// Partitions with an action in progress.
    pub busy: &'a BTreeSet<PartitionId>,
    pub waiting: &'a BTreeMap<PartitionId, HandoverWait>,
    /// Partitions that are in backoff: neither acquired nor published before this time.
    pub paused: &'a BTreeMap<PartitionId, Instant>,
    /// From this time on, an instance that is not in the view is dead. `None` while the heartbeats of this instance are not
    /// acknowledged: then the view may be stale.
    pub trust_from: Option<Instant>,
    pub now: Instant,
}

/// What to do now, and when to decide again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    pub actions: Vec<RebalanceAction>,
    pub waiting: BTreeMap<PartitionId, HandoverWait>,
    /// When to decide again, if nothing changes before.
    pub again: Option<Instant>,
}

/// Decides for all partitions.
pub fn decide(settings: &Settings, observed: &Observation<'_>) -> Decision {
    let mut decision = Decision::default();
    let desired = DesiredOwners::of(settings, observed);
    for partition in settings.all().filter(|partition| !observed.busy.contains(partition)) {
        match for_partition(settings, observed, &desired, partition) {
            PartitionDecision::Keep => {}
            PartitionDecision::Do(action) => decision.actions.push(action),
            PartitionDecision::Recheck(at) => decision.recheck_at(at),
            PartitionDecision::Wait(wait, until) => {
                decision.recheck_at(until);
                decision.waiting.insert(partition, wait);
            }
        }
    }
    decision
}

impl Decision {
    fn recheck_at(&mut self, at: Instant) {
        self.again = Some(self.again.map_or(at, |again| again.min(at)));
    }
}

/// Who should own each partition.
struct DesiredOwners<'a> {
    /// Among the members in the view.
    members: Owners<'a>,
    /// Among those and this instance, if the view lacks it. An instance counts itself as alive even if its heartbeat is
    /// missing from the view for a moment: releasing everything and acquiring it again is worse than being fenced.
    with_me: Option<Owners<'a>>,
}

impl<'a> DesiredOwners<'a> {
    fn of(settings: &Settings, observed: &Observation<'a>) -> DesiredOwners<'a> {
        let Observation { view, me, .. } = *observed;
        let among = |members: &mut dyn Iterator<Item = &'a Member>| {
            assign(members, settings.ordinals, settings.all())
        };
        let members = among(&mut view.members.values());
        let with_me =
            (!view.members.contains_key(&me.id)).then(|| among(&mut view.members.values().chain([me])));
        DesiredOwners { members, with_me }
    }

    fn should_acquire(&self, me: &Member, partition: PartitionId) -> bool {
        self.members.get(&partition) == Some(&&me.id)
    }

    fn should_keep(&self, me: &Member, partition: PartitionId) -> bool {
        self.with_me.as_ref().unwrap_or(&self.members).get(&partition) == Some(&&me.id)
    }
}

enum PartitionDecision {
    /// Nothing to do for this instance.
    Keep,
    Do(RebalanceAction),
    Recheck(Instant),
    Wait(HandoverWait, Instant),
}

fn for_partition(
    settings: &Settings,
    observed: &Observation<'_>,
    desired: &DesiredOwners<'_>,
    partition: PartitionId,
) -> PartitionDecision {
    let owned = observed.owned.get(&partition).copied();
    let must_release = observed.leaving || (observed.view.known && !observed.view.active);
    match owned {
        Some(_) if must_release => PartitionDecision::Do(RebalanceAction::Release(partition)),
        // Without acknowledged heartbeats the view may be stale: neither release nor acquire because of it.
        _ if !observed.view.known || observed.trust_from.is_none() => PartitionDecision::Keep,
        Some(_) if !desired.should_keep(observed.me, partition) => {
            PartitionDecision::Do(RebalanceAction::Release(partition))
        }
        Some(epoch) => owned_partition(observed, partition, epoch),
        None => {
            let wanted = !must_release && desired.should_acquire(observed.me, partition);
            unowned_partition(settings, observed, partition, wanted)
        }
    }
}

fn owned_partition(observed: &Observation<'_>, partition: PartitionId, epoch: Epoch) -> PartitionDecision {
    let Observation { view, me, .. } = observed;
    match view.ownerships.get(&partition) {
        Some(published) if published.is_of(&me.id, epoch) => PartitionDecision::Keep,
        // Another instance has claimed it. The journal fences this one, but only when it appends, and it may be idle.
        Some(published) if published.epoch > epoch => {
            PartitionDecision::Do(RebalanceAction::Release(partition))
        }
        Some(_) | None => publish(observed, partition, Ownership::new(Some(me.id.clone()), epoch)),
    }
}

fn unowned_partition(
    settings: &Settings,
    observed: &Observation<'_>,
    partition: PartitionId,
    wanted: bool,
) -> PartitionDecision {
    let Observation { view, me, now, .. } = observed;
    let published = view.ownerships.get(&partition);
    let owner = published.and_then(|published| published.owner.as_ref());
    match (wanted, owner, published) {
        // Otherwise requests for it would still be routed here.
        (false, Some(owner), Some(published)) if *owner == me.id => {
            publish(observed, partition, Ownership::new(None, published.epoch))
        }
        (false, _, _) => PartitionDecision::Keep,
        (true, Some(owner), Some(published)) if *owner != me.id => {
            if !view.members.contains_key(owner) {
                return acquire(observed, partition, observed.trust_from);
            }
            let known = observed.waiting.get(&partition).filter(|wait| wait.epoch == published.epoch);
            let wait = known.copied().unwrap_or(HandoverWait { epoch: published.epoch, since: *now });
            match acquire(observed, partition, Some(wait.since + settings.handover_timeout)) {
                PartitionDecision::Recheck(at) => PartitionDecision::Wait(wait, at),
                decision => decision,
            }
        }
        (true, _, _) => acquire(observed, partition, None),
    }
}

fn acquire(
    observed: &Observation<'_>,
    partition: PartitionId,
    earliest: Option<Instant>,
) -> PartitionDecision {
    let start = earliest.max(observed.paused.get(&partition).copied());
    unless_paused(observed, start, RebalanceAction::Acquire(partition))
}

fn publish(observed: &Observation<'_>, partition: PartitionId, ownership: Ownership) -> PartitionDecision {
    let start = observed.paused.get(&partition).copied();
    unless_paused(observed, start, RebalanceAction::Publish(partition, ownership))
}

fn unless_paused(
    observed: &Observation<'_>,
    start: Option<Instant>,
    action: RebalanceAction,
) -> PartitionDecision {
    match start {
        Some(start) if start > observed.now => PartitionDecision::Recheck(start),
        Some(_) | None => PartitionDecision::Do(action),
    }
}

#[cfg(test)]
mod tests;
