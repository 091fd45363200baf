//! Promises about snapshots, trimming and room.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use types::Seq;

use super::{ALL, Factory, ONE, OTHER, assert_counted, batch, bytes, inbox_read_all, read_all, record};
use crate::{Journal, ReadError, Snapshot};

pub async fn the_newest_snapshot_wins<F: Factory>(factory: &mut F) {
    let mut journal = factory.open().await;
    let snapshot = |through, text| Snapshot { through: Seq(through), bytes: bytes(text) };
    for partition in ALL {
        assert_eq!(journal.snapshot_get(partition).await, Ok(None));
        let epoch = journal.claim(partition).await.expect("claimed").epoch;
        for number in 0..12 {
            journal.append(partition, epoch, Seq(number), bytes("event")).await.expect("appended");
        }
        for (through, text) in [(2, "two"), (9, "nine"), (10, "ten")] {
            journal.snapshot_put(partition, epoch, snapshot(through, text)).await.expect("stored");
            assert_eq!(journal.snapshot_get(partition).await, Ok(Some(snapshot(through, text))));
        }
        journal.snapshot_put(partition, epoch, snapshot(11, "")).await.expect("stored");
        assert_eq!(journal.snapshot_get(partition).await, Ok(Some(snapshot(11, ""))), "it may be empty");
        journal.snapshot_put(partition, epoch, snapshot(3, "three")).await.expect("stored");
    }
    journal = factory.reopen(journal).await;
    for partition in ALL {
        assert_eq!(journal.snapshot_get(partition).await, Ok(Some(snapshot(11, ""))), "the newest position");
    }
}

/// A journal that claims to store tables with snapshots returns them, also after a restart.
pub async fn tables_come_back_where_snapshots_carry_them<F: Factory>(factory: &mut F) {
    let mut journal = factory.open().await;
    if !journal.capabilities().snapshots_carry_tables {
        return;
    }
    let (stored, copied) = (directory(), directory());
    fs::write(stored.join("1.table"), "rows").expect("written");
    let epoch = journal.claim(ONE).await.expect("claimed").epoch;
    journal.append(ONE, epoch, Seq(0), bytes("event")).await.expect("appended");
    journal.tables_put(ONE, epoch, Seq(1), stored.clone()).await.expect("stored");
    let snapshot = Snapshot { through: Seq(1), bytes: bytes("one") };
    journal.snapshot_put(ONE, epoch, snapshot).await.expect("stored");
    journal = factory.reopen(journal).await;
    journal.tables_get(ONE, Seq(1), copied.clone()).await.expect("copied");
    let rows = fs::read(copied.join("1.table")).expect("the table came back");
    assert_eq!(rows, b"rows");
    for directory in [stored, copied] {
        fs::remove_dir_all(directory).expect("removed");
    }
}

/// An empty directory.
fn directory() -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("sortie-conformance-{}-{number}", std::process::id()));
    fs::create_dir_all(&path).expect("created");
    path
}

pub async fn trimmed_reads_say_so<F: Factory>(factory: &mut F) {
    let mut journal = factory.open().await;
    let epoch = journal.claim(ONE).await.expect("claimed").epoch;
    for number in 0..6 {
        journal.append(ONE, epoch, Seq(number), bytes("event")).await.expect("appended");
    }
    // A journal that stores whole batches may delete them only whole.
    let [two, one] =
        if F::INBOX_IS_DENSE { [vec!["a", "b", "c"], vec![]] } else { [vec!["a", "b"], vec!["c"]] };
    let texts = |texts: Vec<&str>| texts.into_iter().map(bytes).collect::<Vec<_>>();
    let two = journal.inbox_append(ONE, texts(two)).await.expect("accepted");
    let kept = journal.inbox_append(ONE, texts(one)).await.expect("accepted");
    let before = if F::INBOX_IS_DENSE { Seq(two.0 - 1) } else { two };
    let other = journal.inbox_append(OTHER, vec![bytes("other")]).await.expect("accepted");
    assert_counted::<F>(kept, 3);
    journal.trim(ONE, epoch, Seq(4), kept).await.expect("trimmed");
    journal.trim(ONE, epoch, Seq(2), Seq(1)).await.expect("a lower trim changes nothing");
    for _ in 0..2 {
        let gone = |from, first| Err(ReadError::Trimmed { partition: ONE, from, first });
        assert_eq!(journal.read(ONE, Seq(3), 100).await, gone(Seq(3), Seq(4)));
        assert_eq!(journal.read(ONE, Seq(1), 100).await, gone(Seq(1), Seq(4)));
        assert_eq!(journal.inbox_read(ONE, before, 100).await, gone(before, kept));
        let rest: Vec<_> = (4..=6).map(|number| record(number, "event")).collect();
        assert_eq!(read_all(&journal, ONE, Seq(4)).await, rest);
        assert_eq!(inbox_read_all(&journal, ONE, kept).await, batch(kept, &["c"]));
        assert_eq!(inbox_read_all(&journal, OTHER, Seq(1)).await, batch(other, &["other"]));
        journal = factory.reopen(journal).await;
    }
    let claim = journal.claim(ONE).await.expect("claimed");
    assert_eq!(journal.append(ONE, claim.epoch, claim.events_tail, bytes("next")).await, Ok(Seq(7)));
    let next = journal.inbox_append(ONE, vec![bytes("d")]).await.expect("accepted");
    assert_counted::<F>(next, 4);
    assert!(next > kept, "{next} follows {kept}");
}

pub async fn trimming_is_bounded_by_the_tail<F: Factory>(factory: &mut F) {
    let mut journal = factory.open().await;
    let epoch = journal.claim(ONE).await.expect("claimed").epoch;
    journal.append(ONE, epoch, Seq::ZERO, bytes("a")).await.expect("appended");
    let tail = journal.inbox_append(ONE, vec![bytes("a"), bytes("b")]).await.expect("accepted");
    assert_counted::<F>(tail, 2);
    journal.trim(ONE, epoch, Seq(100), Seq(tail.0 + 100)).await.expect("trimmed");
    for _ in 0..2 {
        assert_eq!(journal.read(ONE, Seq(2), 100).await, Ok(vec![]));
        assert_eq!(journal.inbox_read(ONE, tail.next(), 100).await, Ok(vec![]));
        assert_eq!(*journal.inbox_tail(ONE).borrow(), tail);
        journal = factory.reopen(journal).await;
    }
    let claim = journal.claim(ONE).await.expect("claimed");
    assert_eq!(claim.events_tail, Seq(1), "numbers go on after everything is trimmed");
    assert_eq!(journal.append(ONE, claim.epoch, Seq(1), bytes("b")).await, Ok(Seq(2)));
    let next = journal.inbox_append(ONE, vec![bytes("c")]).await.expect("accepted");
    assert_counted::<F>(next, 3);
    assert_eq!(inbox_read_all(&journal, ONE, tail.next()).await, batch(next, &["c"]));
    assert_eq!(read_all(&journal, ONE, Seq(2)).await, [record(2, "b")]);
}

pub async fn room_is_known<F: Factory>(factory: &mut F) {
    let journal = factory.open().await;
    journal.inbox_append(ONE, vec![bytes("a")]).await.expect("accepted");
    let room = journal.room();
    assert!(room.accepts && room.free_bytes > 0 && room.used_bytes > 0, "{room:?}");
}
