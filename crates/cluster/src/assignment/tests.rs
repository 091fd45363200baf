//! What assignment promises: little moves, nothing is left out, and everybody agrees.

use std::collections::BTreeMap;

use proptest::collection::btree_set;
use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, proptest};
use words::PartitionId;

use super::desired;
use crate::{InstanceId, Member, Roles};

fn member(name: &str) -> Member {
    let id = InstanceId(name.to_owned());
    Member { id, address: format!("http://{name}:7070"), roles: Roles::ALL, ordinal: None }
}

fn at(name: &str, ordinal: u32) -> Member {
    Member { ordinal: Some(ordinal), ..member(name) }
}

fn names() -> impl Strategy<Value = Vec<Member>> {
    btree_set("[a-z0-9-]{1,12}", 1..9).prop_map(|names| names.iter().map(|name| member(name)).collect())
}

fn all() -> impl Iterator<Item = PartitionId> {
    (0..32).map(PartitionId).chain([PartitionId::CONTROL])
}

proptest! {
    #[test]
    fn one_that_goes_moves_only_its_own_partitions(members in names(), gone in 0usize..9) {
        let gone = members[gone % members.len()].id.clone();
        let left: Vec<Member> = members.iter().filter(|member| member.id != gone).cloned().collect();
        for partition in all() {
            let before = desired(&members, None, partition);
            let after = desired(&left, None, partition);
            if before == Some(&gone) {
                prop_assert_eq!(after.is_none(), left.is_empty());
            } else {
                prop_assert_eq!(before, after);
            }
        }
    }

    #[test]
    fn the_order_of_instances_does_not_matter(members in names(), ordinals in 0u32..4) {
        let mut turned = members.clone();
        turned.reverse();
        for partition in all() {
            prop_assert_eq!(desired(&members, Some(ordinals), partition), desired(&turned, Some(ordinals), partition));
        }
    }

    #[test]
    fn a_partition_always_has_an_owner_at_its_place_or_elsewhere(
        places in btree_set(0u32..6, 1..6),
        count in 1u32..6,
    ) {
        let members: Vec<Member> = places.iter().map(|place| at(&format!("m{place}"), *place)).collect();
        for partition in all() {
            let place = u32::from(partition.0) % count;
            let owner = desired(&members, Some(count), partition);
            prop_assert!(owner.is_some());
            if places.contains(&place) {
                prop_assert_eq!(owner, Some(&InstanceId(format!("m{place}"))));
            }
        }
    }
}

#[test]
fn the_answer_is_the_same_in_every_build() {
    let members = [member("a"), member("b"), member("c")];
    let owners: String =
        all().map(|partition| desired(&members, None, partition).map_or("-", |id| id.0.as_str())).collect();
    assert_eq!(owners, "abaccaaababcaccabbabacabbccbccbbc");
}

#[test]
fn partitions_spread_evenly() {
    for count in [2u32, 3, 5, 10] {
        let members: Vec<Member> = (0..count).map(|n| member(&format!("sortie-{n}"))).collect();
        let mut shares: BTreeMap<InstanceId, u32> = BTreeMap::new();
        for partition in 0..10_000 {
            let owner = desired(&members, None, PartitionId(partition)).unwrap();
            *shares.entry(owner.clone()).or_default() += 1;
        }
        let even = 10_000 / count;
        let good = even * 9 / 10..even * 11 / 10;
        assert!(shares.len() == count as usize && shares.values().all(|n| good.contains(n)), "{shares:?}");
    }
}

#[test]
fn only_instances_with_an_engine_own_anything() {
    let mut edge = member("edge");
    edge.roles.engine = false;
    assert!(all().all(|partition| desired([&edge], None, partition).is_none()));
    let engine = member("engine");
    assert!(all().all(|partition| desired([&edge, &engine], None, partition) == Some(&engine.id)));
}
