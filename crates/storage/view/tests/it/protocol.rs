//! The protocol with the owner: flush, marks, losses, closing.

use crate::common::{id, open, partition, query, run};
use types::{PartitionId, RunStatus, Seq, Timestamp};
use view::{EndedRun, Error, OpenError, Settings, View};

const P: PartitionId = PartitionId(0);

// guards: 13
#[test]
fn what_was_written_before_a_flush_is_there_after_a_crash_and_the_rest_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    assert_eq!(view.flushed_through(P).unwrap(), None);
    view.put_ended(P, &run(1)).unwrap();
    view.flush(P, Seq(17)).unwrap();
    view.put_ended(P, &run(2)).unwrap();
    assert_eq!(view.run(&id(2), None).unwrap(), Some(run(2)));
    drop(view);

    let view = open(dir.path(), 1);
    assert_eq!(view.flushed_through(P).unwrap(), Some(Seq(17)));
    assert_eq!(view.run(&id(1), None).unwrap(), Some(run(1)));
    assert_eq!(view.run(&id(2), None).unwrap(), None);
    assert_eq!(view.seen(&id(1), None).unwrap(), Some(run(1).body_hash));
    assert_eq!(view.seen(&id(2), None).unwrap(), None);
}

#[test]
fn an_entry_written_after_a_reopening_replaces_the_older_one() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    for round in 0..3 {
        view.put_ended(P, &EndedRun { version: round, ..run(1) }).unwrap();
    }
    view.flush(P, Seq(1)).unwrap();
    drop(view);
    let view = open(dir.path(), 1);
    view.put_ended(P, &EndedRun { version: 9, ..run(1) }).unwrap();
    assert_eq!(view.run(&id(1), None).unwrap().unwrap().version, 9);
    view.flush(P, Seq(2)).unwrap();
    assert_eq!(view.run(&id(1), None).unwrap().unwrap().version, 9);
    assert_eq!(view.list(&query()).unwrap().rows.len(), 1);
}

#[test]
fn a_lost_tree_has_no_mark() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    view.flush(P, Seq(5)).unwrap();
    drop(view);
    std::fs::remove_dir_all(dir.path().join("p-00000")).unwrap();
    assert_eq!(open(dir.path(), 1).flushed_through(P).unwrap(), None);
}

#[test]
fn a_flush_through_the_same_sequence_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    view.put_ended(P, &run(1)).unwrap();
    view.flush(P, Seq(5)).unwrap();
    drop(view);
    let tables = || {
        let entries = std::fs::read_dir(dir.path().join("p-00000/tables")).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
    };
    let before = tables();
    let view = open(dir.path(), 1);
    view.flush(P, Seq(5)).unwrap();
    drop(view);
    assert_eq!(tables(), before);
    let view = open(dir.path(), 1);
    view.flush(P, Seq(6)).unwrap();
    drop(view);
    assert_ne!(tables(), before);
}

#[test]
fn a_second_view_on_the_same_directory_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 0);
    assert!(matches!(View::open(dir.path(), Settings::default()), Err(OpenError::InUse { .. })));
    drop(view);
    open(dir.path(), 0);
}

#[test]
fn a_partition_that_is_not_open_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    let closed = view.put_ended(PartitionId(1), &run(1)).unwrap_err();
    assert!(matches!(closed, Error::Closed { partition: PartitionId(1) }), "{closed}");
    view.put_ended(P, &run(1)).unwrap();
    view.close();
    assert!(matches!(view.put_ended(P, &run(1)), Err(Error::Closed { .. })));
    assert!(matches!(view.open_partition(P), Err(Error::Closed { .. })));
    assert_eq!(view.run(&id(1), None).unwrap(), None);
}

#[test]
fn a_hint_is_only_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 4);
    for number in 0..40 {
        view.put_ended(partition(&run(number), 4), &run(number)).unwrap();
    }
    for number in 0..40 {
        let own = partition(&run(number), 4);
        for hint in [None, Some(P), Some(own), Some(PartitionId(99))] {
            assert_eq!(view.run(&id(number), hint).unwrap(), Some(run(number)));
            assert_eq!(view.seen(&id(number), hint).unwrap(), Some(run(number).body_hash));
        }
        for each in 0..4 {
            let seen = view.seen_in(PartitionId(each), &id(number)).unwrap();
            assert_eq!(seen.is_some(), PartitionId(each) == own);
        }
    }
}

#[test]
fn setting_a_partition_aside_keeps_its_bytes_and_starts_empty() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 2);
    for number in 0..2 {
        let own = PartitionId(number as u16);
        view.put_ended(own, &run(number)).unwrap();
        view.flush(own, Seq(3)).unwrap();
    }
    let aside = view.set_aside(P).unwrap();
    assert!(aside.join("current").exists());
    assert_eq!(view.run(&id(1), None).unwrap(), Some(run(1)));
    view.open_partition(P).unwrap();
    assert_eq!(view.flushed_through(P).unwrap(), None);
    assert_eq!(view.run(&id(0), None).unwrap(), None);
    view.put_ended(P, &run(2)).unwrap();
    view.flush(P, Seq(4)).unwrap();
    assert_ne!(view.set_aside(P).unwrap(), aside);
}

#[test]
#[should_panic(expected = "run run-000001 ends as parked")]
fn a_run_that_has_not_ended_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    drop(view.put_ended(P, &EndedRun { status: RunStatus::Parked, ..run(1) }));
}

#[test]
fn forgetting_removes_the_oldest_in_bounded_steps_and_all_that_points_to_them() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    for number in 0..100 {
        view.put_ended(P, &run(number)).unwrap();
    }
    view.flush(P, Seq(1)).unwrap();
    let time = run(60).accepted_at;
    // Accepted first, ended last: it stays until its end is old enough.
    view.put_ended(P, &EndedRun { ended_at: Timestamp(time.0 + 5), ..run(0) }).unwrap();

    let first = view.forget_before(P, time, 7).unwrap();
    assert_eq!((first.runs, first.more), (7, true));
    let forget_all = |time| {
        let mut runs = 0;
        loop {
            let forgotten = view.forget_before(P, time, 7).unwrap();
            assert!(forgotten.runs <= 7);
            runs += forgotten.runs;
            if !forgotten.more {
                return runs;
            }
        }
    };
    let runs = first.runs + forget_all(time);
    // Runs end 500 ms, fifty runs, after they were accepted.
    assert_eq!(runs, 9);
    let left: Vec<_> = view.list(&query()).unwrap().rows.into_iter().map(|row| row.id).collect();
    assert_eq!(left, (10..100).rev().chain([0]).map(id).collect::<Vec<_>>());
    for status in crate::common::FINAL {
        let query = view::RunQuery { status: Some(status), ..query() };
        let page = view.list(&query).unwrap();
        assert!(page.rows.iter().all(|row| left.contains(&row.id)));
        assert_eq!(page.entries_read, page.rows.len(), "entries of forgotten runs were left behind");
    }
    assert_eq!(view.seen(&id(5), None).unwrap(), None);
    assert_eq!(view.run(&id(5), None).unwrap(), None);

    // A run that a replay restores is removed again, and so is the skipped one, once it is old enough;
    // run 10 with it.
    view.put_ended(P, &run(5)).unwrap();
    assert_eq!(forget_all(time), 1);
    assert_eq!(forget_all(Timestamp(time.0 + 6)), 2);
    assert_eq!(view.seen(&id(0), None).unwrap(), None);
    view.flush(P, Seq(2)).unwrap();
    drop(view);
    assert_eq!(open(dir.path(), 1).list(&query()).unwrap().rows.len(), 89);
}

#[test]
fn memory_over_budget_goes_to_disk_by_itself_and_the_mark_stays() {
    let dir = tempfile::tempdir().unwrap();
    let view =
        View::open(dir.path(), Settings { memtable_bytes_total: 50_000, ..Settings::default() }).unwrap();
    for number in 0..4 {
        view.open_partition(PartitionId(number)).unwrap();
    }
    view.flush(P, Seq(1)).unwrap();
    for number in 0..4000 {
        view.put_ended(PartitionId(number as u16 % 4), &run(number)).unwrap();
    }
    // 4,000 runs of about 1 KB with their indexes, and at most two budgets in memory, unless the disk stalls.
    let sizes = view.sizes();
    assert!(sizes.tables > 0 && sizes.disk_bytes > 100_000, "{sizes:?}");
    assert_eq!(sizes.partitions[0].flushed_through, Some(Seq(1)));
    assert_eq!(sizes.partitions.iter().map(|each| each.memtable_bytes).sum::<u64>(), sizes.memtable_bytes);
    for number in 0..4000 {
        assert_eq!(view.run(&id(number), None).unwrap(), Some(run(number)));
    }
    assert!(view.verify(P).unwrap() > 0);
    drop(view);
    assert_eq!(open(dir.path(), 4).flushed_through(P).unwrap(), Some(Seq(1)));
}
