//! Promises about the events: order, ownership, durability.

use bytes::Bytes;
use types::{PartitionId, Seq};

use super::{ALL, Factory, ONE, OTHER, bytes, read_all, record};
use crate::{AppendError, Journal, RECORD_BYTES_MAX};

pub async fn numbers_are_dense<F: Factory>(factory: &mut F) {
    let journal = factory.open().await;
    for partition in ALL {
        let claim = journal.claim(partition).await.expect("a new partition can be claimed");
        assert_eq!(claim.events_tail, Seq::ZERO, "a new partition is empty");
        assert_eq!(journal.read(partition, Seq(1), 100).await, Ok(vec![]));
        for number in 1..=5 {
            let appended = journal.append(partition, claim.epoch, Seq(number - 1), bytes("event")).await;
            assert_eq!(appended, Ok(Seq(number)));
        }
        let empty = journal.append(partition, claim.epoch, Seq(5), Bytes::new()).await;
        assert_eq!(empty, Ok(Seq(6)), "an empty record is a record");
        let mut expected: Vec<_> = (1..=5).map(|number| record(number, "event")).collect();
        expected.push(record(6, ""));
        assert_eq!(read_all(&journal, partition, Seq(1)).await, expected);
        assert_eq!(read_all(&journal, partition, Seq::ZERO).await, expected, "zero reads from the first");
    }
}

pub async fn a_wrong_tail_is_a_conflict<F: Factory>(factory: &mut F) {
    let journal = factory.open().await;
    let epoch = journal.claim(ONE).await.expect("claimed").epoch;
    journal.append(ONE, epoch, Seq::ZERO, bytes("a")).await.expect("appended");
    for wrong in [Seq::ZERO, Seq(2)] {
        let refused = journal.append(ONE, epoch, wrong, bytes("b")).await;
        assert_eq!(refused, Err(AppendError::Conflict { partition: ONE, tail: Seq(1) }));
    }
    assert_eq!(read_all(&journal, ONE, Seq(1)).await, [record(1, "a")], "a refused frame leaves nothing");
    assert_eq!(journal.append(ONE, epoch, Seq(1), bytes("c")).await, Ok(Seq(2)));
}

pub async fn a_claim_fences_the_owner_before<F: Factory>(factory: &mut F) {
    let journal = factory.open().await;
    let unclaimed = journal.append(OTHER, types::Epoch(0), Seq::ZERO, bytes("x")).await;
    assert_eq!(unclaimed, Err(AppendError::Fenced { partition: OTHER }), "nobody owns it yet");

    let before = journal.claim(ONE).await.expect("claimed");
    journal.append(ONE, before.epoch, Seq::ZERO, bytes("a")).await.expect("appended");
    let after = journal.claim(ONE).await.expect("claimed again");
    assert!(after.epoch > before.epoch, "{after:?} follows {before:?}");
    assert_eq!(after.events_tail, Seq(1));
    let zombie = journal.append(ONE, before.epoch, Seq(1), bytes("zombie")).await;
    assert_eq!(zombie, Err(AppendError::Fenced { partition: ONE }));
    let impostor = journal.append(ONE, types::Epoch(after.epoch.0 + 1), Seq(1), bytes("x")).await;
    assert_eq!(impostor, Err(AppendError::Fenced { partition: ONE }), "an epoch that nobody was given");
    assert_eq!(journal.append(ONE, after.epoch, Seq(1), bytes("b")).await, Ok(Seq(2)));
    assert_eq!(read_all(&journal, ONE, Seq(1)).await, [record(1, "a"), record(2, "b")]);
}

pub async fn epochs_grow_across_reopen<F: Factory>(factory: &mut F) {
    let mut journal = factory.open().await;
    for partition in ALL {
        let mut last = journal.claim(partition).await.expect("claimed").epoch;
        for _ in 0..3 {
            journal = factory.reopen(journal).await;
            let zombie = journal.append(partition, types::Epoch(last.0 - 1), Seq::ZERO, bytes("x")).await;
            assert_eq!(zombie, Err(AppendError::Fenced { partition }));
            let next = journal.claim(partition).await.expect("claimed").epoch;
            assert!(next > last, "{next:?} follows {last:?}");
            last = next;
        }
    }
}

pub async fn reads_are_exact_ranges<F: Factory>(factory: &mut F) {
    let journal = factory.open().await;
    let epoch = journal.claim(ONE).await.expect("claimed").epoch;
    for number in 0..10 {
        journal.append(ONE, epoch, Seq(number), bytes("0123456789")).await.expect("appended");
    }
    let read = async |from, bytes_max| {
        let records = journal.read(ONE, Seq(from), bytes_max).await.expect("read");
        records.iter().map(|record| record.seq.0).collect::<Vec<_>>()
    };
    assert_eq!(read(1, 35).await, [1, 2, 3]);
    assert_eq!(read(4, 30).await, [4, 5, 6]);
    assert_eq!(read(4, 0).await, [4], "at least one");
    assert_eq!(read(9, 1000).await, [9, 10]);
    assert_eq!(read(11, 1000).await, [0; 0], "past the tail");
    assert_eq!(read(1000, 1000).await, [0; 0], "far past the tail");
}

pub async fn appended_survives_reopen<F: Factory>(factory: &mut F) {
    let mut journal = factory.open().await;
    let contents: Vec<Bytes> = (0..40usize).map(|n| Bytes::from(vec![n as u8; n * n * 7 % 5000])).collect();
    let mut tail = Seq::ZERO;
    for part in contents.chunks(10) {
        for partition in ALL {
            let claim = journal.claim(partition).await.expect("claimed");
            assert_eq!(claim.events_tail, tail);
            let mut expected = tail;
            for frame in part {
                expected =
                    journal.append(partition, claim.epoch, expected, frame.clone()).await.expect("appended");
            }
        }
        tail = Seq(tail.0 + part.len() as u64);
        journal = factory.reopen(journal).await;
    }
    for partition in ALL {
        let found: Vec<Bytes> =
            read_all(&journal, partition, Seq(1)).await.into_iter().map(|record| record.bytes).collect();
        assert!(found == contents, "partition {partition} has what was appended, byte for byte");
    }
}

pub async fn partitions_are_independent<F: Factory>(factory: &mut F) {
    let journal = factory.open().await;
    let one = journal.claim(ONE).await.expect("claimed");
    let other = journal.claim(OTHER).await.expect("claimed");
    journal.claim(OTHER).await.expect("claimed again");
    assert_eq!(journal.append(ONE, one.epoch, Seq::ZERO, bytes("one")).await, Ok(Seq(1)));
    let fenced = journal.append(OTHER, other.epoch, Seq::ZERO, bytes("x")).await;
    assert_eq!(fenced, Err(AppendError::Fenced { partition: OTHER }));
    journal.inbox_append(PartitionId::CONTROL, vec![bytes("a"), bytes("b")]).await.expect("accepted");
    assert_eq!(*journal.inbox_tail(ONE).borrow(), Seq::ZERO);
    assert_eq!(read_all(&journal, OTHER, Seq(1)).await, []);
    assert_eq!(read_all(&journal, PartitionId::CONTROL, Seq(1)).await, []);
    assert_eq!(read_all(&journal, ONE, Seq(1)).await, [record(1, "one")]);
}

pub async fn a_large_record_fits_and_a_larger_is_refused<F: Factory>(factory: &mut F) {
    let mut journal = factory.open().await;
    let epoch = journal.claim(ONE).await.expect("claimed").epoch;
    let large = Bytes::from((0..RECORD_BYTES_MAX).map(|n| (n % 251) as u8).collect::<Vec<u8>>());
    assert_eq!(journal.append(ONE, epoch, Seq::ZERO, large.clone()).await, Ok(Seq(1)));
    let refused = journal.append(ONE, epoch, Seq(1), Bytes::from(vec![0; RECORD_BYTES_MAX + 1])).await;
    let too_large = AppendError::TooLarge { bytes: RECORD_BYTES_MAX + 1, bytes_max: RECORD_BYTES_MAX };
    assert_eq!(refused, Err(too_large));
    journal = factory.reopen(journal).await;
    let found = journal.read(ONE, Seq(1), 1).await.expect("read");
    assert!(found.len() == 1 && found[0].bytes == large, "the large record comes back as it was");
}
