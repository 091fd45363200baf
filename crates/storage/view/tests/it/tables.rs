//! Tables that move: data written here is read there, and no data of one tree ever reaches another.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use types::{PartitionId, Seq};
use view::{Error, Settings, View};

use crate::common::{all_rows, expected, id, open, query, run};

const P: PartitionId = PartitionId(0);

/// A view whose memtables are flushed and whose tables are compacted constantly.
fn busy(dir: &Path) -> View {
    let settings = Settings { memtable_bytes_total: 100_000, cache_bytes: 100_000, ..Settings::default() };
    let view = View::open(dir, settings).unwrap();
    view.open_partition(P).unwrap();
    view
}

/// The files below a directory with their contents.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

/// Ends the writer when the test ends, even if it fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn what_was_written_is_read_elsewhere_while_writing_and_compacting_go_on() {
    const CHECKPOINTS: u32 = 12;
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (view, other) = (busy(here.path()), busy(there.path()));
    let (written, done) = (AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in (0..).take_while(|_| !done.load(Ordering::Acquire)) {
                view.put_ended(P, &run(number)).unwrap();
                written.store(number + 1, Ordering::Release);
            }
        });
        let _done = Done(&done);
        for round in 1..=CHECKPOINTS {
            while written.load(Ordering::Acquire) < round * 700 && !writer.is_finished() {
                std::thread::yield_now();
            }
            let before = written.load(Ordering::Acquire);
            let staging = other.staging(P).unwrap();
            view.checkpoint(P, Seq(before.into()), staging.path()).unwrap();
            other.discard(P).unwrap();
            other.adopt(P, staging.path()).unwrap();
            other.open_partition(P).unwrap();
            assert_eq!(other.flushed_through(P).unwrap(), Some(Seq(before.into())));
            for number in (0..before).step_by(97).chain([before - 1]) {
                assert_eq!(other.run(&id(number), None).unwrap(), Some(run(number)), "round {round}");
            }
            other.verify(P).unwrap();
        }
    });
    assert!(view.sizes().tables > 0);
    // The copy continues there independently.
    other.put_ended(P, &run(1_000_000)).unwrap();
    other.flush(P, Seq(1_000_000)).unwrap();
    assert_eq!(view.run(&id(1_000_000), None).unwrap(), None);
}

#[test]
fn a_checkpoint_shares_its_tables_with_the_one_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    let (first, second) = (view.staging(P).unwrap(), view.staging(P).unwrap());
    view.put_ended(P, &run(1)).unwrap();
    view.checkpoint(P, Seq(1), first.path()).unwrap();
    view.put_ended(P, &run(2)).unwrap();
    view.checkpoint(P, Seq(2), second.path()).unwrap();
    let (before, after) = (files(first.path()), files(second.path()));
    let is_table = |name: &&String| name.starts_with("tables/");
    assert_eq!((before.keys().filter(is_table).count(), after.keys().filter(is_table).count()), (1, 2));
    for name in before.keys().filter(is_table) {
        assert_eq!(before[name], after[name], "{name}");
        let inode = |dir: &Path| fs::metadata(dir.join(name)).unwrap().ino();
        assert_eq!(inode(first.path()), inode(second.path()), "{name} was copied");
    }
    assert_ne!(before["current"], after["current"]);
}

#[test]
fn a_partition_that_was_discarded_is_empty_and_what_it_adopts_stays() {
    let dir = tempfile::tempdir().unwrap();
    let view = open(dir.path(), 1);
    (0..300).for_each(|number| view.put_ended(P, &run(number)).unwrap());
    let carried = tempfile::tempdir().unwrap();
    view.checkpoint(P, Seq(1), carried.path()).unwrap();
    view.discard(P).unwrap();
    assert!(matches!(view.put_ended(P, &run(1)), Err(Error::Closed { .. })));
    view.open_partition(P).unwrap();
    assert_eq!(view.flushed_through(P).unwrap(), None);
    assert_eq!(view.run(&id(1), None).unwrap(), None);
    assert!(matches!(view.adopt(P, carried.path()), Err(Error::Io { .. })), "it is open");
    view.discard(P).unwrap();
    view.adopt(P, carried.path()).unwrap();
    drop(view);
    // Discarded data stays away, adopted data is found again, also by the next process.
    fs::create_dir_all(dir.path().join("staging/p-00000-9/tables")).unwrap();
    let view = open(dir.path(), 1);
    assert!(!dir.path().join("staging").exists());
    assert_eq!(all_rows(&view, &query()), expected(&(0..300).map(run).collect::<Vec<_>>(), &query()));
    let trees = fs::read_dir(dir.path()).unwrap().flatten();
    assert_eq!(trees.filter(|entry| entry.file_name().to_str().unwrap().starts_with("p-")).count(), 1);
}

/// Opens `P` of a new view with a modified checkpoint.
fn adopt_changed(change: impl Fn(&Path)) -> Error {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (view, other) = (open(here.path(), 1), View::open(there.path(), Settings::default()).unwrap());
    (0..300).for_each(|number| view.put_ended(P, &run(number)).unwrap());
    let staging = other.staging(P).unwrap();
    view.checkpoint(P, Seq(1), staging.path()).unwrap();
    change(staging.path());
    other.adopt(P, staging.path()).and_then(|()| other.open_partition(P)).unwrap_err()
}

#[test]
fn damage_on_the_way_is_an_error_that_names_the_file() {
    let is_named =
        |error: &Error, name: &str| matches!(error, Error::Damaged { file, .. } if file.ends_with(name));
    let table = |dir: &Path| fs::read_dir(dir.join("tables")).unwrap().next().unwrap().unwrap().path();
    let missing = adopt_changed(|dir| fs::remove_file(dir.join("current")).unwrap());
    assert!(is_named(&missing, "current"), "{missing}");
    let missing = adopt_changed(|dir| fs::remove_file(table(dir)).unwrap());
    assert!(missing.to_string().contains("tables/"), "{missing}");
    let cut = adopt_changed(|dir| {
        // Not through the link, which the other view shares.
        let (table, bytes) = (table(dir), fs::read(table(dir)).unwrap());
        fs::remove_file(&table).unwrap();
        fs::write(&table, &bytes[..bytes.len() / 2]).unwrap();
    });
    assert!(cut.to_string().contains("tables/"), "{cut}");
    let nothing = adopt_changed(|dir| {
        fs::remove_dir_all(dir).unwrap();
        fs::create_dir(dir).unwrap();
    });
    assert!(is_named(&nothing, "current"), "{nothing}");
}
