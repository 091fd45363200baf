//! Situations, and what an instance does in each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use types::{Epoch, PartitionId};

use super::{Decision, HandoverWait, Observation, RebalanceAction, decide};
use crate::{ClusterView, InstanceId, Member, Ownership, Roles, Settings};

/// The partition that the stories are about: with two ordinals, `me` has its ordinal and that of no other partition.
const P: PartitionId = PartitionId(0);

/// One instance's situation.
struct Story {
    settings: Settings,
    me: Member,
    view: ClusterView,
    owned: BTreeMap<PartitionId, Epoch>,
    busy: BTreeSet<PartitionId>,
    waiting: BTreeMap<PartitionId, HandoverWait>,
    paused: BTreeMap<PartitionId, Instant>,
    trust_from: Option<Instant>,
    leaving: bool,
    now: Instant,
}

fn member(name: &str, ordinal: u32) -> Member {
    let id = InstanceId(name.to_owned());
    Member { id, address: String::new(), roles: Roles::ALL, ordinal: Some(ordinal), version: None }
}

/// `me` and `you` are alive; nobody owns anything; partition 0 is mine, control (an odd number) yours.
fn story() -> Story {
    let now = Instant::now() + Duration::from_secs(1000);
    let (me, you) = (member("me", 0), member("you", 1));
    let members = [&me, &you].map(|member| (member.id.clone(), member.clone()));
    Story {
        settings: Settings { ordinals: Some(2), ..Settings::new(1) },
        me,
        view: ClusterView { known: true, active: true, members: members.into(), ownerships: BTreeMap::new() },
        owned: BTreeMap::new(),
        busy: BTreeSet::new(),
        waiting: BTreeMap::new(),
        paused: BTreeMap::new(),
        trust_from: Some(now),
        leaving: false,
        now,
    }
}

impl Story {
    fn published(mut self, owner: &str, epoch: u64) -> Story {
        let owner = (!owner.is_empty()).then(|| InstanceId(owner.to_owned()));
        self.view.ownerships.insert(P, Ownership::new(owner, Epoch(epoch)));
        self
    }

    fn owning(mut self, partition: PartitionId, epoch: u64) -> Story {
        self.owned.insert(partition, Epoch(epoch));
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Story)) -> Story {
        change(&mut self);
        self
    }

    fn decide(&self) -> Decision {
        let observed = Observation {
            view: &self.view,
            me: &self.me,
            leaving: self.leaving,
            owned: &self.owned,
            busy: &self.busy,
            waiting: &self.waiting,
            paused: &self.paused,
            trust_from: self.trust_from,
            now: self.now,
        };
        decide(&self.settings, &observed)
    }

    fn does(&self, actions: &[RebalanceAction]) {
        assert_eq!(self.decide().actions, actions);
    }

    fn waits_until(&self, at: Instant) {
        let decision = self.decide();
        assert_eq!((decision.actions, decision.again), (Vec::new(), Some(at)));
    }
}

fn acquire() -> [RebalanceAction; 1] {
    [RebalanceAction::Acquire(P)]
}

fn release() -> [RebalanceAction; 1] {
    [RebalanceAction::Release(P)]
}

fn note(owner: Option<&str>, epoch: u64) -> [RebalanceAction; 1] {
    let owner = owner.map(|owner| InstanceId(owner.to_owned()));
    [RebalanceAction::Publish(P, Ownership::new(owner, Epoch(epoch)))]
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn what_nobody_holds_is_taken_at_once() {
    story().does(&acquire());
    story().published("", 4).does(&acquire());
    story().published("dead", 4).does(&acquire());
    story().published("me", 4).does(&acquire());
}

#[test]
fn what_belongs_to_another_is_left_alone() {
    story()
        .with(|story| story.me.ordinal = Some(1))
        .with(seen_as_me)
        .does(&[RebalanceAction::Acquire(PartitionId::CONTROL)]);
    story().with(|story| story.settings.partitions = 0).does(&[]);
}

/// The others see this instance as it is.
fn seen_as_me(story: &mut Story) {
    let you = story.view.members.values_mut().find(|member| member.id != story.me.id).unwrap();
    you.ordinal = story.me.ordinal.map(|ordinal| 1 - ordinal);
    story.view.members.insert(story.me.id.clone(), story.me.clone());
}

// guards: 39
#[test]
fn a_holder_that_lives_gets_its_time_and_no_more() {
    let first = story().published("you", 4);
    let until = first.now + first.settings.handover_timeout;
    first.waits_until(until);
    let later = |seconds: u32, epoch: u64| {
        let mut story = story().published("you", epoch);
        story.waiting =
            BTreeMap::from([(P, HandoverWait { epoch: Epoch(4), since: story.now - SECOND * seconds })]);
        story
    };
    let nearly = later(19, 4);
    nearly.waits_until(nearly.now + SECOND);
    later(20, 4).does(&acquire());
    // A later epoch is a new wait.
    let again = later(20, 5);
    again.waits_until(again.now + again.settings.handover_timeout);
}

#[test]
fn waiting_is_not_forgotten_while_a_take_is_paused() {
    let story = story().published("you", 4).with(|story| {
        story.waiting =
            BTreeMap::from([(P, HandoverWait { epoch: Epoch(4), since: story.now - SECOND * 30 })]);
        story.paused = BTreeMap::from([(P, story.now + SECOND * 5)]);
    });
    assert_eq!(story.decide().waiting, story.waiting);
    story.waits_until(story.now + SECOND * 5);
}

#[test]
fn what_is_owned_and_should_not_be_is_released() {
    story().owning(P, 4).published("me", 4).does(&[]);
    let control = story().owning(PartitionId::CONTROL, 4);
    control.does(&[RebalanceAction::Release(PartitionId::CONTROL), RebalanceAction::Acquire(P)]);
    story().owning(P, 4).published("you", 5).does(&release());
}

#[test]
fn a_region_that_is_not_active_holds_nothing() {
    story().with(|story| story.view.active = false).does(&[]);
    story().owning(P, 4).published("me", 4).with(|story| story.view.active = false).does(&release());
}

#[test]
fn one_that_leaves_releases_everything_whatever_it_sees() {
    let leaves = |story: &mut Story| story.leaving = true;
    story().with(leaves).does(&[]);
    story().owning(P, 4).published("me", 4).with(leaves).does(&release());
    story().owning(P, 4).with(leaves).with(|story| story.view.known = false).does(&release());
    story().owning(P, 4).with(leaves).with(|story| story.trust_from = None).does(&release());
}

// guards: 40
#[test]
fn nothing_is_decided_by_what_is_not_known_or_old() {
    let unknown = |story: &mut Story| story.view = ClusterView::default();
    story().with(unknown).does(&[]);
    story().owning(P, 4).with(unknown).does(&[]);
    let unheard = |story: &mut Story| story.trust_from = None;
    story().with(unheard).does(&[]);
    story().owning(PartitionId::CONTROL, 4).with(unheard).does(&[]);
}

// guards: 40
#[test]
fn after_silence_others_get_time_to_be_seen_again() {
    let story = story().with(|story| story.trust_from = Some(story.now + SECOND * 3));
    let gone = story.published("unseen", 4);
    gone.waits_until(gone.now + SECOND * 3);
    gone.published("", 4).does(&acquire());
}

#[test]
fn one_that_does_not_see_itself_keeps_what_it_has_and_takes_nothing() {
    let unseen = |story: &mut Story| drop(story.view.members.remove(&story.me.id));
    story().with(unseen).does(&[]);
    story().owning(P, 4).published("me", 4).with(unseen).does(&[]);
}

#[test]
fn what_is_in_progress_or_paused_is_not_begun_again() {
    story().with(|story| story.busy = BTreeSet::from([P])).does(&[]);
    let paused = story().with(|story| story.paused = BTreeMap::from([(P, story.now + SECOND)]));
    paused.waits_until(paused.now + SECOND);
}

#[test]
fn a_note_that_is_wrong_is_put_right() {
    story().owning(P, 4).does(&note(Some("me"), 4));
    story().owning(P, 4).published("", 4).does(&note(Some("me"), 4));
    story().owning(P, 4).published("you", 3).does(&note(Some("me"), 4));
    let mine_no_more = story().published("me", 4).with(|story| story.me.ordinal = Some(1)).with(seen_as_me);
    mine_no_more.with(|story| story.busy = BTreeSet::from([PartitionId::CONTROL])).does(&note(None, 4));
}
