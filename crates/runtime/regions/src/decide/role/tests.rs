//! Two regions that see each other late or never, moved in every order.

use super::*;

const NAMES: [&str; 2] = ["east", "west"];

#[derive(Debug, Clone, PartialEq, Eq)]
struct World {
    regions: [RegionState; 2],
    /// What each has that no other has: kept or not, before it is deleted.
    tails: [Tail; 2],
    /// Every epoch under which somebody was active, and who.
    active: Vec<(u64, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    None,
    Divergent,
    Kept,
}

#[derive(Debug, Clone, Copy)]
enum PromotionStep {
    /// It sees its pair as it is.
    Look(usize),
    Planned(usize),
    Forced(usize),
    Demote(usize),
    /// It writes something, if it is active.
    Write(usize),
}

impl World {
    fn new() -> World {
        let east = first_state(Side::Odd, true, None);
        let west = first_state(Side::Even, false, Some(east));
        World { regions: [east, west], tails: [Tail::None; 2], active: vec![(east.epoch, 0)] }
    }

    fn take(&mut self, step: PromotionStep) {
        match step {
            PromotionStep::Look(who) => self.look(who),
            PromotionStep::Planned(who) => {
                let pair = self.regions[1 - who];
                if may_promote(self.regions[who], Some(pair)).is_ok() {
                    if pair.role == Role::Active {
                        self.regions[1 - who].role = Role::Fenced;
                    }
                    if self.regions[who].role == Role::Standby {
                        // The mirror has everything by now.
                        self.tails[1 - who] = Tail::None;
                    }
                    self.rise(who, self.regions[who].epoch.max(pair.epoch));
                }
            }
            PromotionStep::Forced(who) => {
                if may_promote(self.regions[who], None).is_ok() {
                    self.rise(who, self.regions[who].epoch);
                }
            }
            PromotionStep::Demote(who) => {
                if self.regions[who].role == Role::Active {
                    self.regions[who].role = Role::Fenced;
                }
            }
            PromotionStep::Write(who) => {
                if self.regions[who].role == Role::Active {
                    self.tails[who] = Tail::Divergent;
                }
            }
        }
    }

    fn rise(&mut self, who: usize, known: u64) {
        let epoch = Side::of(NAMES[who], NAMES[1 - who]).epoch_above(known);
        self.regions[who] = RegionState { role: Role::Active, epoch };
        self.active.push((epoch, who));
    }

    fn look(&mut self, who: usize) {
        match on_pair(self.regions[who], self.regions[1 - who]) {
            RoleChange::Stay => {}
            RoleChange::Fence => self.regions[who].role = Role::Fenced,
            RoleChange::AdoptEpoch { epoch } => self.regions[who].epoch = epoch,
            RoleChange::Rejoin { epoch } => {
                if self.tails[who] == Tail::Divergent {
                    self.tails[who] = Tail::Kept;
                }
                self.regions[who] = RegionState { role: Role::Standby, epoch };
            }
        }
    }
}

fn every_story(depth: usize, world: &World, check: &mut impl FnMut(&World)) {
    check(world);
    if depth == 0 {
        return;
    }
    for who in 0..2 {
        let steps = [
            PromotionStep::Look(who),
            PromotionStep::Planned(who),
            PromotionStep::Forced(who),
            PromotionStep::Demote(who),
            PromotionStep::Write(who),
        ];
        for step in steps {
            let mut next = world.clone();
            next.take(step);
            if next != *world {
                every_story(depth - 1, &next, check);
            }
        }
    }
}

// guards: 43
#[test]
fn no_epoch_has_two_active_regions() {
    every_story(7, &World::new(), &mut |world| {
        for (epoch, who) in &world.active {
            assert!(!world.active.iter().any(|(other, by)| other == epoch && by != who), "{world:?}");
        }
    });
}

// guards: 43
#[test]
fn of_two_active_regions_one_fences_as_soon_as_it_looks() {
    every_story(7, &World::new(), &mut |world| {
        let mut world = world.clone();
        world.look(0);
        world.look(1);
        let active = world.regions.iter().filter(|region| region.role == Role::Active).count();
        assert!(active <= 1, "{world:?}");
    });
}

// guards: 45
#[test]
fn a_region_that_mirrors_has_kept_what_only_it_had() {
    every_story(7, &World::new(), &mut |world| {
        for who in 0..2 {
            let mirrors = world.regions[who].role == Role::Standby;
            assert!(!mirrors || world.tails[who] != Tail::Divergent, "{world:?}");
        }
    });
}

#[test]
fn an_overtaken_region_cannot_be_promoted_before_it_mirrors() {
    let here = RegionState { role: Role::Fenced, epoch: 1 };
    let pair = RegionState { role: Role::Active, epoch: 2 };
    assert!(may_promote(here, Some(pair)).is_err());
    assert!(may_promote(RegionState { role: Role::Standby, epoch: 2 }, Some(pair)).is_ok());
}

#[test]
fn a_region_without_a_past_is_active_only_at_home_and_only_when_its_pair_has_none() {
    let active = Some(RegionState { role: Role::Active, epoch: 2 });
    assert_eq!(first_state(Side::Odd, true, None), RegionState { role: Role::Active, epoch: 1 });
    assert_eq!(first_state(Side::Odd, false, None), RegionState { role: Role::Standby, epoch: 0 });
    assert_eq!(first_state(Side::Odd, true, active), RegionState { role: Role::Standby, epoch: 2 });
    let fresh = Some(RegionState { role: Role::Standby, epoch: 0 });
    assert_eq!(first_state(Side::Odd, true, fresh), RegionState { role: Role::Active, epoch: 1 });
}

#[test]
fn epochs_alternate_between_the_sides() {
    let (odd, even) = (Side::of("a", "b"), Side::of("b", "a"));
    assert_eq!(
        [odd.epoch_above(0), even.epoch_above(1), odd.epoch_above(2), odd.epoch_above(3)],
        [1, 2, 3, 5]
    );
}

#[test]
fn who_cannot_know_of_its_pair_must_have_had_everything() {
    let state = |role| RegionState { role, epoch: 2 };
    assert!(must_be_level(state(Role::Standby), Some(state(Role::Active))));
    assert!(must_be_level(state(Role::Fenced), None), "it may have been overtaken");
    assert!(!must_be_level(state(Role::Fenced), Some(state(Role::Standby))));
}
