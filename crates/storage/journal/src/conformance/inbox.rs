//! Promises about the inbox: whole batches, in order, followed by a watch.

use std::sync::Arc;

use bytes::Bytes;
use tokio::task::JoinSet;
use types::{PartitionId, Seq};

use super::{ALL, Factory, ONE, OTHER, assert_counted, batch, bytes, inbox_read_all, record};
use crate::{AppendError, Journal, RECORD_BYTES_MAX};

pub async fn batches_are_whole_and_in_order<F: Factory>(factory: &mut F) {
    let journal = factory.open().await;
    for partition in ALL {
        let three = vec![bytes("a"), bytes(""), bytes("c")];
        let first = journal.inbox_append(partition, three).await.expect("accepted");
        assert_counted::<F>(first, 3);
        assert_eq!(journal.inbox_append(partition, vec![]).await, Ok(first), "nothing is appended");
        let second = journal.inbox_append(partition, vec![bytes("d")]).await.expect("accepted");
        assert_counted::<F>(second, 4);
        assert!(second > first, "{second} follows {first}");
        let expected = [batch(first, &["a", "", "c"]), batch(second, &["d"])].concat();
        assert_eq!(inbox_read_all(&journal, partition, Seq(1)).await, expected);
        assert_eq!(inbox_read_all(&journal, partition, first).await, expected[2..], "from within a batch");
        let within = expected[1].seq;
        assert_eq!(journal.inbox_read(partition, within, 2).await, Ok(expected[1..].to_vec()));
        assert_eq!(journal.inbox_read(partition, within, 1).await, Ok(expected[1..3].to_vec()));
        assert_eq!(journal.inbox_read(partition, second.next(), 100).await, Ok(vec![]));
        assert_eq!(journal.inbox_read(partition, first.next(), 100).await, Ok(expected[3..].to_vec()));
    }
}

pub async fn concurrent_batches_do_not_mix<F: Factory>(factory: &mut F) {
    let journal = Arc::new(factory.open().await);
    let mut appends = JoinSet::new();
    for name in 0..64 {
        let journal = Arc::clone(&journal);
        let batch: Vec<Bytes> = (0..5).map(|n| bytes(&format!("{name}/{n}"))).collect();
        appends.spawn(async move { (name, journal.inbox_append([ONE, OTHER][name % 2], batch).await) });
    }
    let answers = appends.join_all().await;
    for (name, answer) in answers {
        let last = answer.expect("accepted");
        let found = journal.inbox_read([ONE, OTHER][name % 2], Seq(last.0 - 4), 20).await.expect("read");
        let expected: Vec<_> = (0..5).map(|n| record(last.0 - 4 + n, &format!("{name}/{n}"))).collect();
        assert_eq!(found[..5], expected, "the batch lies side by side where its answer said");
    }
    let all = inbox_read_all(&*journal, ONE, Seq(1)).await;
    assert_eq!(all.len(), 160);
    assert!(all.is_sorted_by(|before, after| before.seq < after.seq), "numbers rise");
    assert_counted::<F>(all[159].seq, 160);
}

pub async fn a_batch_that_is_too_large_leaves_nothing<F: Factory>(factory: &mut F) {
    let journal = factory.open().await;
    let half = Bytes::from(vec![7; RECORD_BYTES_MAX / 2 + 1]);
    let refused = journal.inbox_append(ONE, vec![half.clone(), half]).await;
    let too_large = AppendError::TooLarge { bytes: RECORD_BYTES_MAX + 2, bytes_max: RECORD_BYTES_MAX };
    assert_eq!(refused, Err(too_large));
    assert_eq!(inbox_read_all(&journal, ONE, Seq(1)).await, []);
    let accepted = journal.inbox_append(ONE, vec![bytes("a")]).await.expect("accepted");
    assert_counted::<F>(accepted, 1);
    assert_eq!(inbox_read_all(&journal, ONE, Seq(1)).await, batch(accepted, &["a"]));
}

pub async fn the_tail_can_be_followed<F: Factory>(factory: &mut F) {
    let mut journal = factory.open().await;
    let mut tail = journal.inbox_tail(ONE);
    assert_eq!(*tail.borrow_and_update(), Seq::ZERO);
    let accepted = journal.inbox_append(ONE, vec![bytes("a"), bytes("b")]).await.expect("accepted");
    assert_counted::<F>(accepted, 2);
    tail.changed().await.expect("the journal is open");
    assert_eq!(*tail.borrow_and_update(), accepted);
    journal.inbox_append(OTHER, vec![bytes("x")]).await.expect("accepted");
    assert!(!tail.has_changed().expect("the journal is open"), "another partition is another tail");
    journal = factory.reopen(journal).await;
    assert_eq!(*journal.inbox_tail(ONE).borrow(), accepted, "the tail is known after a restart");
}

pub async fn accepted_survives_reopen<F: Factory>(factory: &mut F) {
    let mut journal = factory.open().await;
    let mut expected = Vec::new();
    for round in 0..6u64 {
        for partition in ALL {
            let batch: Vec<Bytes> =
                (0..=round).map(|n| Bytes::from(vec![round as u8; (n * 311) as usize])).collect();
            if partition == PartitionId::CONTROL {
                expected.extend(batch.clone());
            }
            journal.inbox_append(partition, batch).await.expect("accepted");
        }
        journal = factory.reopen(journal).await;
    }
    for partition in ALL {
        let found: Vec<Bytes> = inbox_read_all(&journal, partition, Seq(1))
            .await
            .into_iter()
            .map(|record| record.bytes)
            .collect();
        assert!(found == expected, "partition {partition} has what was accepted, byte for byte");
    }
}
