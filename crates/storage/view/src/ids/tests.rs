//! Promises of the register.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::{collection, prop_assert_eq, proptest};

use super::*;

fn id(number: u32) -> RunId {
    RunId::new(&format!("run-{number}")).unwrap()
}

const BODY: BodyHash = BodyHash([1; 16]);
const OTHER: BodyHash = BodyHash([2; 16]);
const P: PartitionId = PartitionId(7);

#[test]
fn a_repeated_request_is_distinguished_from_a_conflicting_one() {
    let ids = Ids::new();
    assert_eq!(ids.reserve(&id(1), BODY, P), IdReservation::New);
    assert_eq!(
        ids.reserve(&id(1), BODY, PartitionId(8)),
        IdReservation::Same { durable: false, partition: P }
    );
    ids.confirm(&id(1));
    assert_eq!(ids.reserve(&id(1), BODY, P), IdReservation::Same { durable: true, partition: P });
    assert_eq!(ids.reserve(&id(1), OTHER, P), IdReservation::Conflict { durable: true, partition: P });
    assert_eq!(ids.find(&id(1)), Some(IdEntry { body_hash: BODY, partition: P, durable: true }));
    ids.release(&id(1));
    assert_eq!((ids.find(&id(1)), ids.len()), (None, 0));
    assert_eq!(ids.reserve(&id(1), OTHER, P), IdReservation::New);
}

#[test]
fn confirming_or_releasing_an_unknown_id_changes_nothing() {
    let ids = Ids::new();
    ids.confirm(&id(1));
    ids.release(&id(2));
    assert!(ids.is_empty());
}

#[test]
fn an_id_counts_once_however_often_it_is_restored_or_released() {
    let ids = Ids::new();
    ids.restore(&id(1), BODY, P);
    ids.restore(&id(1), BODY, P);
    assert_eq!(ids.reserve(&id(2), BODY, P), IdReservation::New);
    ids.restore(&id(2), BODY, P);
    assert_eq!(ids.len(), 2);
    ids.release(&id(1));
    ids.release(&id(1));
    assert_eq!(ids.len(), 1);
}

#[test]
fn a_million_ids_fit_in_64_mib_and_give_their_memory_back() {
    let ids = Ids::new();
    let mut most = 0;
    for number in 0..1_000_000 {
        ids.restore(&id(number), BODY, P);
        if number % 10_000 == 0 || number == 999_999 {
            most = most.max(ids.memory_bytes());
        }
    }
    assert_eq!(ids.len(), 1_000_000);
    assert!(most <= 64 * 1024 * 1024, "{most} bytes");
    for number in 0..1_000_000 {
        ids.release(&id(number));
    }
    assert!(ids.is_empty());
    assert!(ids.memory_bytes() < 256 * 1024, "{} bytes", ids.memory_bytes());
}

// guards: 16
#[test]
fn of_many_threads_exactly_one_reserves_an_id() {
    let ids = Arc::new(Ids::new());
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let ids = ids.clone();
            std::thread::spawn(move || {
                let reserve = |number: &u32| ids.reserve(&id(*number), BODY, PartitionId(thread));
                (0..10_000).filter(|number| reserve(number) == IdReservation::New).count()
            })
        })
        .collect();
    let new: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert_eq!((new, ids.len()), (10_000, 10_000));
}

#[derive(Debug, Clone)]
enum Op {
    Reserve(u32, bool),
    Confirm(u32),
    Release(u32),
    Restore(u32),
}

fn op() -> impl Strategy<Value = Op> {
    let number = || 0u32..400;
    prop_oneof![
        4 => (number(), any::<bool>()).prop_map(|(number, body)| Op::Reserve(number, body)),
        1 => number().prop_map(Op::Confirm),
        3 => number().prop_map(Op::Release),
        1 => number().prop_map(Op::Restore),
    ]
}

proptest! {
    /// One shard's table, so that its slots run into each other.
    #[test]
    fn the_table_is_a_map(ops in collection::vec(op(), 1..2000)) {
        let mut table = IdTable::default();
        let mut model = BTreeMap::new();
        // Few homes and some hashes at the very end, so that probing wraps around.
        let hash = |number: u32| {
            let mut hash = [0; 16];
            hash[..4].copy_from_slice(&number.to_be_bytes());
            hash[8..].copy_from_slice(&(u64::from(number % 7).wrapping_sub(3) << 61).to_be_bytes());
            hash
        };
        for op in ops {
            let (number, entry) = match op {
                Op::Reserve(number, body) => {
                    let body_hash = if body { BODY } else { OTHER };
                    (number, Some(IdEntry { body_hash, partition: P, durable: false }))
                }
                Op::Confirm(number) | Op::Restore(number) => {
                    (number, Some(IdEntry { body_hash: BODY, partition: PartitionId(300), durable: true }))
                }
                Op::Release(number) => (number, None),
            };
            match entry {
                Some(entry) => { table.insert(&hash(number), entry); model.insert(number, entry); }
                None => { table.remove(&hash(number)); model.remove(&number); }
            }
        }
        for number in 0..400 {
            prop_assert_eq!(table.get(&hash(number)), model.get(&number).copied(), "{}", number);
        }
    }
}

#[test]
fn a_released_partition_takes_its_ids_along() {
    let ids = Ids::new();
    let id = |n: u32| RunId::new(&format!("run-{n}")).unwrap();
    for n in 0..2000 {
        ids.restore(&id(n), BodyHash([1; 16]), PartitionId((n % 3) as u16));
    }
    ids.forget(PartitionId(1));
    for n in 0..2000 {
        assert_eq!(ids.find(&id(n)).is_some(), n % 3 != 1, "{n}");
    }
    assert_eq!(ids.len(), (0..2000).filter(|n| n % 3 != 1).count());
}

#[test]
fn a_partition_without_a_state_is_owned_alone_and_elsewhere_in_a_cluster() {
    let ids = Ids::new();
    assert_eq!(ids.partition_state(PartitionId(0)), PartitionState::Held);
    ids.hold_none();
    ids.set_partition_state(PartitionId(1), PartitionState::Held);
    assert_eq!(
        [0, 1].map(|n| ids.partition_state(PartitionId(n))),
        [PartitionState::Elsewhere, PartitionState::Held]
    );
}
