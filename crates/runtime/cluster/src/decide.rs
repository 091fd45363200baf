//! What an instance does next, from what it sees and what it holds. Time comes in; nothing is done here.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;
use types::{Epoch, PartitionId};

use crate::assignment::{Owners, assign};
use crate::{Holding, Member, Settings, Sight};

/// Something to be done with a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Take(PartitionId),
    Release(PartitionId),
    /// The register says something else than what is so.
    Note(PartitionId, Holding),
}

/// A holder that lives is being waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The term of the holder; another one is waited for anew.
    pub epoch: Epoch,
    pub since: Instant,
}

/// What this instance knows when it decides.
#[derive(Debug, Clone)]
pub struct Outlook<'a> {
    pub sight: &'a Sight,
    pub me: &'a Member,
    /// Whether this instance is about to end.
    pub leaving: bool,
    pub held: &'a BTreeMap<PartitionId, Epoch>,
    /// Partitions that something is being done with already.
    pub busy: &'a BTreeSet<PartitionId>,
    pub waiting: &'a BTreeMap<PartitionId, Wait>,
    /// Partitions that are not taken, nor noted, before their time.
    pub paused: &'a BTreeMap<PartitionId, Instant>,
    /// From when on an instance that cannot be seen is dead. `None` while the register does not hear this instance:
    /// then what is seen is old.
    pub trust_from: Option<Instant>,
    pub now: Instant,
}

/// What follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    pub actions: Vec<Action>,
    pub waiting: BTreeMap<PartitionId, Wait>,
    /// When to look again, if nothing else happens before.
    pub again: Option<Instant>,
}

/// Decides about all partitions.
pub fn decide(settings: &Settings, outlook: &Outlook<'_>) -> Decision {
    let mut decision = Decision::default();
    let desired = Desired::of(settings, outlook);
    for partition in settings.all().filter(|partition| !outlook.busy.contains(partition)) {
        match of_partition(settings, outlook, &desired, partition) {
            Verdict::Leave => {}
            Verdict::Do(action) => decision.actions.push(action),
            Verdict::LookAgain(at) => decision.look_again(at),
            Verdict::Wait(wait, until) => {
                decision.look_again(until);
                decision.waiting.insert(partition, wait);
            }
        }
    }
    decision
}

impl Decision {
    fn look_again(&mut self, at: Instant) {
        self.again = Some(self.again.map_or(at, |again| again.min(at)));
    }
}

/// Who should own each partition.
struct Desired<'a> {
    /// Among those that are seen to live.
    seen: Owners<'a>,
    /// Among those and this instance. It counts itself among the living even when its own sign of life is not to be seen
    /// for a moment: to give everything away and take it back is worse than to be overtaken.
    with_me: Option<Owners<'a>>,
}

impl<'a> Desired<'a> {
    fn of(settings: &Settings, outlook: &Outlook<'a>) -> Desired<'a> {
        let Outlook { sight, me, .. } = *outlook;
        let among = |members: &mut dyn Iterator<Item = &'a Member>| {
            assign(members, settings.ordinals, settings.all())
        };
        let seen = among(&mut sight.members.values());
        let with_me =
            (!sight.members.contains_key(&me.id)).then(|| among(&mut sight.members.values().chain([me])));
        Desired { seen, with_me }
    }

    fn to_take(&self, me: &Member, partition: PartitionId) -> bool {
        self.seen.get(&partition) == Some(&&me.id)
    }

    fn to_keep(&self, me: &Member, partition: PartitionId) -> bool {
        self.with_me.as_ref().unwrap_or(&self.seen).get(&partition) == Some(&&me.id)
    }
}

enum Verdict {
    /// All is as it should be, or none of our concern.
    Leave,
    Do(Action),
    LookAgain(Instant),
    Wait(Wait, Instant),
}

fn of_partition(
    settings: &Settings,
    outlook: &Outlook<'_>,
    desired: &Desired<'_>,
    partition: PartitionId,
) -> Verdict {
    let held = outlook.held.get(&partition).copied();
    let must_go = outlook.leaving || (outlook.sight.known && !outlook.sight.active);
    match held {
        Some(_) if must_go => Verdict::Do(Action::Release(partition)),
        // Whoever is not heard sees the past: it neither gives away nor grabs by that.
        _ if !outlook.sight.known || outlook.trust_from.is_none() => Verdict::Leave,
        Some(_) if !desired.to_keep(outlook.me, partition) => Verdict::Do(Action::Release(partition)),
        Some(epoch) => of_held(outlook, partition, epoch),
        None => {
            let wanted = !must_go && desired.to_take(outlook.me, partition);
            of_missing(settings, outlook, partition, wanted)
        }
    }
}

fn of_held(outlook: &Outlook<'_>, partition: PartitionId, epoch: Epoch) -> Verdict {
    let Outlook { sight, me, .. } = outlook;
    match sight.holdings.get(&partition) {
        Some(noted) if noted.is_of(&me.id, epoch) => Verdict::Leave,
        // Another has it since; the journal refuses what is done here, but does not say so while nothing is done.
        Some(noted) if noted.epoch > epoch => Verdict::Do(Action::Release(partition)),
        Some(_) | None => note(outlook, partition, Holding::new(Some(me.id.clone()), epoch)),
    }
}

fn of_missing(settings: &Settings, outlook: &Outlook<'_>, partition: PartitionId, wanted: bool) -> Verdict {
    let Outlook { sight, me, now, .. } = outlook;
    let noted = sight.holdings.get(&partition);
    let holder = noted.and_then(|noted| noted.holder.as_ref());
    match (wanted, holder, noted) {
        // Calls for it would be sent here in vain.
        (false, Some(holder), Some(noted)) if *holder == me.id => {
            note(outlook, partition, Holding::new(None, noted.epoch))
        }
        (false, _, _) => Verdict::Leave,
        (true, Some(holder), Some(noted)) if *holder != me.id => {
            if !sight.members.contains_key(holder) {
                return take(outlook, partition, outlook.trust_from);
            }
            let known = outlook.waiting.get(&partition).filter(|wait| wait.epoch == noted.epoch);
            let wait = known.copied().unwrap_or(Wait { epoch: noted.epoch, since: *now });
            match take(outlook, partition, Some(wait.since + settings.yield_within)) {
                Verdict::LookAgain(at) => Verdict::Wait(wait, at),
                verdict => verdict,
            }
        }
        (true, _, _) => take(outlook, partition, None),
    }
}

fn take(outlook: &Outlook<'_>, partition: PartitionId, not_before: Option<Instant>) -> Verdict {
    let start = not_before.max(outlook.paused.get(&partition).copied());
    unless_early(outlook, start, Action::Take(partition))
}

fn note(outlook: &Outlook<'_>, partition: PartitionId, holding: Holding) -> Verdict {
    let start = outlook.paused.get(&partition).copied();
    unless_early(outlook, start, Action::Note(partition, holding))
}

fn unless_early(outlook: &Outlook<'_>, start: Option<Instant>, action: Action) -> Verdict {
    match start {
        Some(start) if start > outlook.now => Verdict::LookAgain(start),
        Some(_) | None => Verdict::Do(action),
    }
}

#[cfg(test)]
mod tests;
