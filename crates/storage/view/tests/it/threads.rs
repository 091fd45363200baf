//! Concurrency: one writer per partition, readers everywhere, the view's own thread in between.

use std::sync::atomic::{AtomicU32, Ordering};

use types::{PartitionId, Seq};
use view::{RunQuery, Settings, View};

use crate::common::{FINAL, id, query, run};

const WRITERS: u32 = 3;
const RUNS: u32 = 3000;

#[test]
fn readers_see_each_run_from_the_moment_it_is_written_and_never_half_of_one() {
    let dir = tempfile::tempdir().unwrap();
    // Small, so that memtables are flushed and tables compacted constantly.
    let view = View::open(
        dir.path(),
        Settings { memtable_bytes_total: 100_000, cache_bytes: 100_000, ..Settings::default() },
    )
    .unwrap();
    for number in 0..WRITERS {
        view.open_partition(PartitionId(number as u16)).unwrap();
    }
    let written: Vec<_> = (0..WRITERS).map(|_| AtomicU32::new(0)).collect();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (view, written) = (&view, &written);
            scope.spawn(move || write(view, writer, &written[writer as usize]));
        }
        for _ in 0..2 {
            let (view, written) = (&view, &written);
            scope.spawn(move || while read(view, written) < WRITERS * RUNS {});
        }
    });
    assert_eq!(read(&view, &written), WRITERS * RUNS);
    for writer in 0..WRITERS {
        view.flush(PartitionId(writer as u16), Seq(u64::from(RUNS))).unwrap();
        view.verify(PartitionId(writer as u16)).unwrap();
    }
}

fn write(view: &View, writer: u32, written: &AtomicU32) {
    let own = PartitionId(writer as u16);
    for number in 0..RUNS {
        view.put_ended(own, &run(number * WRITERS + writer)).unwrap();
        written.store(number + 1, Ordering::Release);
        if number % 1000 == 500 {
            view.flush(own, Seq(number.into())).unwrap();
        }
    }
}

/// Reads the expected data; returns how many runs were written when it began.
fn read(view: &View, written: &[AtomicU32]) -> u32 {
    let counts: Vec<_> = written.iter().map(|each| each.load(Ordering::Acquire)).collect();
    let mut newest = Vec::new();
    for (writer, count) in (0..).zip(&counts) {
        for number in [0, count / 2, count.saturating_sub(1)].into_iter().filter(|number| number < count) {
            let run = run(number * WRITERS + writer);
            assert_eq!(view.run(&run.id, None).unwrap().as_ref(), Some(&run));
            assert_eq!(view.seen(&run.id, None).unwrap(), Some(run.body_hash));
            newest.push(run.version);
        }
    }
    let page = view.list(&RunQuery { limit: 50, ..query() }).unwrap();
    assert!(page.rows.is_sorted_by(|a, b| a.accepted_at > b.accepted_at));
    assert!(newest.iter().max().copied() <= page.rows.first().map(|row| row.version));
    let by_status = view.list(&RunQuery { limit: 50, status: Some(FINAL[0]), ..query() }).unwrap();
    for row in page.rows.iter().chain(&by_status.rows) {
        assert_eq!(*row, run(row.version).summary());
        assert_eq!(view.run(&id(row.version), None).unwrap(), Some(run(row.version)));
    }
    counts.iter().sum()
}
