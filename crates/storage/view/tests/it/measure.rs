//! Figures, not tests: `cargo test --release -p view -- --ignored --nocapture measure`.

use std::hint::black_box;
use std::time::Instant;

use bytes::Bytes;
use types::{BodyHash, PartitionId, Seq};
use view::{EndedRun, Ids, RunQuery, Settings, View};

use crate::common::{id, query, run};

const PARTITIONS: u16 = 32;

#[test]
#[ignore = "a measurement"]
fn measure_puts_lists_and_ids() {
    let dir = tempfile::tempdir_in(std::env::var("MEASURE_DIR").unwrap_or("/tmp".into())).unwrap();
    let view = View::open(dir.path(), Settings::default()).unwrap();
    for number in 0..PARTITIONS {
        view.open_partition(PartitionId(number)).unwrap();
    }
    let text: String =
        (0..60).map(|n| format!("{{\"step\":{n},\"at\":{},\"status\":200}},", n * 7919)).collect();
    let count: u32 = std::env::var("MEASURE_RUNS").map_or(500_000, |text| text.parse().unwrap());
    let (start, start_us) = (Instant::now(), processor_us());
    for number in 0..count {
        let mut detail = text.as_bytes()[..1500 - 8].to_vec();
        detail.extend_from_slice(&u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        let run = EndedRun { detail: Bytes::from(detail), ..run(number) };
        view.put_ended(PartitionId((number % u32::from(PARTITIONS)) as u16), &run).unwrap();
        if number % 100_000 == 99_999 {
            let rate = f64::from(number) / start.elapsed().as_secs_f64();
            let each_us = (processor_us() - start_us) / f64::from(number);
            eprintln!("{number} runs, {rate:.0} put_ended/s, {each_us:.1} µs each, {:?}", short(&view));
        }
    }
    let start = Instant::now();
    for number in 0..PARTITIONS {
        view.flush(PartitionId(number), Seq(1)).unwrap();
    }
    eprintln!("flush of {PARTITIONS} partitions: {:?}, {:?}", start.elapsed(), short(&view));
    for (what, query) in [
        ("all, 50", RunQuery { limit: 50, ..query() }),
        ("all, 1000", query()),
        ("workflow, 50", RunQuery { limit: 50, workflow: Some(run(0).workflow), ..query() }),
        ("status, 50", RunQuery { limit: 50, status: Some(run(0).status), ..query() }),
        ("status, 1000", RunQuery { status: Some(run(0).status), ..query() }),
        ("key, 50", RunQuery { limit: 50, key: Some(run(0).key), ..query() }),
    ] {
        let first = timed(|| drop(view.list(&query).unwrap()));
        let mean = timed(|| (0..200).for_each(|_| drop(view.list(&query).unwrap()))) / 200.0;
        eprintln!("list {what}: first {first:.0} µs, then {mean:.0} µs");
    }
    let miss = timed(|| {
        (count..count + 10_000).for_each(|n| _ = black_box(view.seen_in(PartitionId(3), &id(n)).unwrap()))
    });
    eprintln!("seen_in, miss: {:.2} µs", miss / 10_000.0);
    let hit = timed(|| (0..10_000).for_each(|n| _ = black_box(view.seen(&id(n * 7 % count), None).unwrap())));
    eprintln!("seen, hit somewhere: {:.2} µs", hit / 10_000.0);
    eprintln!("resident with the view: {} MiB", resident_mib());

    let ids = Ids::new();
    let before = resident_mib();
    let start = timed(|| {
        (0..1_000_000).for_each(|n| _ = black_box(ids.reserve(&id(n), BodyHash([1; 16]), PartitionId(1))))
    });
    eprintln!(
        "reserve: {:.2} µs; 1 M ids: {} MiB, resident {} MiB more",
        start / 1e6,
        ids.memory_bytes() >> 20,
        resident_mib() - before
    );
}

/// Microseconds of CPU time, so that other processes on the machine do not count.
fn timed(work: impl FnOnce()) -> f64 {
    let start = processor_us();
    work();
    processor_us() - start
}

fn processor_us() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse::<f64>().unwrap() / 1000.0
}

fn short(view: &View) -> (u64, u64, usize) {
    let sizes = view.sizes();
    (sizes.memtable_bytes >> 20, sizes.disk_bytes >> 20, sizes.tables)
}

fn resident_mib() -> i64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: i64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096 / 1024 / 1024
}
