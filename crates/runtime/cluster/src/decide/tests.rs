//! Situations, and what an instance does in each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use types::{Epoch, PartitionId};

use super::{Action, Decision, Outlook, Wait, decide};
use crate::{Holding, InstanceId, Member, Roles, Settings, Sight};

/// The partition that the stories are about: with two places, `me` is at the place of it and of no other.
const P: PartitionId = PartitionId(0);

/// One instance's situation.
struct Story {
    settings: Settings,
    me: Member,
    sight: Sight,
    held: BTreeMap<PartitionId, Epoch>,
    busy: BTreeSet<PartitionId>,
    waiting: BTreeMap<PartitionId, Wait>,
    paused: BTreeMap<PartitionId, Instant>,
    trust_from: Option<Instant>,
    leaving: bool,
    now: Instant,
}

fn member(name: &str, ordinal: u32) -> Member {
    let id = InstanceId(name.to_owned());
    Member { id, address: String::new(), roles: Roles::ALL, ordinal: Some(ordinal), version: None }
}

/// `me` and `you` live; nobody holds anything; partition 0 is mine, control (an odd number) yours.
fn story() -> Story {
    let now = Instant::now() + Duration::from_secs(1000);
    let (me, you) = (member("me", 0), member("you", 1));
    let members = [&me, &you].map(|member| (member.id.clone(), member.clone()));
    Story {
        settings: Settings { ordinals: Some(2), ..Settings::new(1) },
        me,
        sight: Sight { known: true, active: true, members: members.into(), holdings: BTreeMap::new() },
        held: BTreeMap::new(),
        busy: BTreeSet::new(),
        waiting: BTreeMap::new(),
        paused: BTreeMap::new(),
        trust_from: Some(now),
        leaving: false,
        now,
    }
}

impl Story {
    fn noted(mut self, holder: &str, epoch: u64) -> Story {
        let holder = (!holder.is_empty()).then(|| InstanceId(holder.to_owned()));
        self.sight.holdings.insert(P, Holding::new(holder, Epoch(epoch)));
        self
    }

    fn holding(mut self, partition: PartitionId, epoch: u64) -> Story {
        self.held.insert(partition, Epoch(epoch));
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Story)) -> Story {
        change(&mut self);
        self
    }

    fn decide(&self) -> Decision {
        let outlook = Outlook {
            sight: &self.sight,
            me: &self.me,
            leaving: self.leaving,
            held: &self.held,
            busy: &self.busy,
            waiting: &self.waiting,
            paused: &self.paused,
            trust_from: self.trust_from,
            now: self.now,
        };
        decide(&self.settings, &outlook)
    }

    fn does(&self, actions: &[Action]) {
        assert_eq!(self.decide().actions, actions);
    }

    fn waits_until(&self, at: Instant) {
        let decision = self.decide();
        assert_eq!((decision.actions, decision.again), (Vec::new(), Some(at)));
    }
}

fn take() -> [Action; 1] {
    [Action::Take(P)]
}

fn release() -> [Action; 1] {
    [Action::Release(P)]
}

fn note(holder: Option<&str>, epoch: u64) -> [Action; 1] {
    let holder = holder.map(|holder| InstanceId(holder.to_owned()));
    [Action::Note(P, Holding::new(holder, Epoch(epoch)))]
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn what_nobody_holds_is_taken_at_once() {
    story().does(&take());
    story().noted("", 4).does(&take());
    story().noted("dead", 4).does(&take());
    story().noted("me", 4).does(&take());
}

#[test]
fn what_belongs_to_another_is_left_alone() {
    story()
        .with(|story| story.me.ordinal = Some(1))
        .with(seen_as_me)
        .does(&[Action::Take(PartitionId::CONTROL)]);
    story().with(|story| story.settings.partitions = 0).does(&[]);
}

/// The others see this instance as it is.
fn seen_as_me(story: &mut Story) {
    let you = story.sight.members.values_mut().find(|member| member.id != story.me.id).unwrap();
    you.ordinal = story.me.ordinal.map(|ordinal| 1 - ordinal);
    story.sight.members.insert(story.me.id.clone(), story.me.clone());
}

// guards: 39
#[test]
fn a_holder_that_lives_gets_its_time_and_no_more() {
    let first = story().noted("you", 4);
    let until = first.now + first.settings.yield_within;
    first.waits_until(until);
    let later = |seconds: u32, epoch: u64| {
        let mut story = story().noted("you", epoch);
        story.waiting = BTreeMap::from([(P, Wait { epoch: Epoch(4), since: story.now - SECOND * seconds })]);
        story
    };
    let nearly = later(19, 4);
    nearly.waits_until(nearly.now + SECOND);
    later(20, 4).does(&take());
    // Another term of it is another holder.
    let anew = later(20, 5);
    anew.waits_until(anew.now + anew.settings.yield_within);
}

#[test]
fn waiting_is_not_forgotten_while_a_take_is_paused() {
    let story = story().noted("you", 4).with(|story| {
        story.waiting = BTreeMap::from([(P, Wait { epoch: Epoch(4), since: story.now - SECOND * 30 })]);
        story.paused = BTreeMap::from([(P, story.now + SECOND * 5)]);
    });
    assert_eq!(story.decide().waiting, story.waiting);
    story.waits_until(story.now + SECOND * 5);
}

#[test]
fn what_is_held_and_should_not_be_is_let_go() {
    story().holding(P, 4).noted("me", 4).does(&[]);
    let control = story().holding(PartitionId::CONTROL, 4);
    control.does(&[Action::Release(PartitionId::CONTROL), Action::Take(P)]);
    story().holding(P, 4).noted("you", 5).does(&release());
}

#[test]
fn a_region_that_is_not_active_holds_nothing() {
    story().with(|story| story.sight.active = false).does(&[]);
    story().holding(P, 4).noted("me", 4).with(|story| story.sight.active = false).does(&release());
}

#[test]
fn one_that_leaves_lets_go_whatever_it_sees() {
    let leaves = |story: &mut Story| story.leaving = true;
    story().with(leaves).does(&[]);
    story().holding(P, 4).noted("me", 4).with(leaves).does(&release());
    story().holding(P, 4).with(leaves).with(|story| story.sight.known = false).does(&release());
    story().holding(P, 4).with(leaves).with(|story| story.trust_from = None).does(&release());
}

// guards: 40
#[test]
fn nothing_is_decided_by_what_is_not_known_or_old() {
    let unknown = |story: &mut Story| story.sight = Sight::default();
    story().with(unknown).does(&[]);
    story().holding(P, 4).with(unknown).does(&[]);
    let unheard = |story: &mut Story| story.trust_from = None;
    story().with(unheard).does(&[]);
    story().holding(PartitionId::CONTROL, 4).with(unheard).does(&[]);
}

// guards: 40
#[test]
fn after_silence_others_get_time_to_be_seen_again() {
    let story = story().with(|story| story.trust_from = Some(story.now + SECOND * 3));
    let gone = story.noted("unseen", 4);
    gone.waits_until(gone.now + SECOND * 3);
    gone.noted("", 4).does(&take());
}

#[test]
fn one_that_does_not_see_itself_keeps_what_it_has_and_takes_nothing() {
    let unseen = |story: &mut Story| drop(story.sight.members.remove(&story.me.id));
    story().with(unseen).does(&[]);
    story().holding(P, 4).noted("me", 4).with(unseen).does(&[]);
}

#[test]
fn what_is_under_way_or_paused_is_not_begun_again() {
    story().with(|story| story.busy = BTreeSet::from([P])).does(&[]);
    let paused = story().with(|story| story.paused = BTreeMap::from([(P, story.now + SECOND)]));
    paused.waits_until(paused.now + SECOND);
}

#[test]
fn a_note_that_is_wrong_is_put_right() {
    story().holding(P, 4).does(&note(Some("me"), 4));
    story().holding(P, 4).noted("", 4).does(&note(Some("me"), 4));
    story().holding(P, 4).noted("you", 3).does(&note(Some("me"), 4));
    let mine_no_more = story().noted("me", 4).with(|story| story.me.ordinal = Some(1)).with(seen_as_me);
    mine_no_more.with(|story| story.busy = BTreeSet::from([PartitionId::CONTROL])).does(&note(None, 4));
}
