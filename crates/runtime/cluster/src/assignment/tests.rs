//! What assignment promises: few partitions move, every one has an owner, and all instances agree.

use proptest::collection::btree_set;
use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, proptest};
use types::PartitionId;

use super::{Owners, assign};
use crate::{InstanceId, Member, Roles};

fn member(name: &str) -> Member {
    let id = InstanceId(name.to_owned());
    Member { id, address: format!("http://{name}:7070"), roles: Roles::ALL, ordinal: None, version: None }
}

fn at(name: &str, ordinal: u32) -> Member {
    Member { ordinal: Some(ordinal), ..member(name) }
}

fn names() -> impl Strategy<Value = Vec<Member>> {
    btree_set("[a-z0-9-]{1,12}", 1..9).prop_map(|names| names.iter().map(|name| member(name)).collect())
}

fn assigned(members: &[Member], ordinals: Option<u32>) -> Owners<'_> {
    assign(members, ordinals, all())
}

fn all() -> impl Iterator<Item = PartitionId> {
    (0..32).map(PartitionId).chain([PartitionId::CONTROL])
}

proptest! {
    // guards: 41
    #[test]
    fn everything_has_an_owner_and_nobody_more_than_its_share(members in names()) {
        let owners = assigned(&members, None);
        prop_assert_eq!(owners.len(), all().count());
        let share = all().count().div_ceil(members.len());
        for member in &members {
            prop_assert!(owners.values().filter(|owner| **owner == &member.id).count() <= share);
        }
    }

    #[test]
    fn the_order_of_instances_does_not_matter(members in names(), ordinals in 0u32..4) {
        let mut turned = members.clone();
        turned.reverse();
        prop_assert_eq!(assigned(&members, Some(ordinals)), assigned(&turned, Some(ordinals)));
    }

    #[test]
    fn a_partition_always_has_an_owner_at_its_place_or_elsewhere(
        places in btree_set(0u32..6, 1..6),
        count in 1u32..6,
    ) {
        let members: Vec<Member> = places.iter().map(|place| at(&format!("m{place}"), *place)).collect();
        let owners = assigned(&members, Some(count));
        for partition in all() {
            let place = u32::from(partition.0) % count;
            prop_assert!(owners.contains_key(&partition));
            if places.contains(&place) {
                prop_assert_eq!(owners[&partition], &InstanceId(format!("m{place}")));
            }
        }
    }
}

// guards: 41
#[test]
fn one_that_goes_moves_little_beside_its_own_partitions() {
    let (mut moved, mut fleets) = (0, 0);
    for fleet in 0..200 {
        let members: Vec<Member> = (0..5).map(|n| member(&format!("sortie-{fleet}-{n}"))).collect();
        let (before, after) = (assigned(&members, None), assigned(&members[1..], None));
        let gone = &members[0].id;
        moved += all().filter(|one| before[one] != gone && before[one] != after[one]).count();
        fleets += 1;
    }
    assert!(moved < 3 * fleets, "{moved} partitions of remaining instances moved in {fleets} fleets of five");
}

// guards: 41
#[test]
fn the_answer_is_the_same_in_every_build() {
    let members = [member("a"), member("b"), member("c")];
    let owners: String = assigned(&members, None).values().map(|id| id.0.as_str()).collect();
    assert_eq!(owners, "abaccaaababcaccabbabacabbccbccbbc");
}

#[test]
fn only_instances_with_an_engine_own_anything() {
    let mut edge = member("edge");
    edge.roles.engine = false;
    assert!(assign([&edge], None, all()).is_empty());
    let engine = member("engine");
    let owners = assign([&edge, &engine], None, all());
    assert!(all().all(|partition| owners[&partition] == &engine.id));
}
