//! Damage: whatever happens to the bytes, the view serves the right data or names the damaged file.

use std::fs;
use std::path::{Path, PathBuf};

use types::{PartitionId, Seq};
use view::{Error, ListError, RunQuery, Settings, View};

use crate::common::{FINAL, all_rows, expected, id, query, run};

const P: PartitionId = PartitionId(0);
const RUNS: u32 = 300;

/// A view of one partition with some tables, flushed and merged ones, closed.
fn fill(dir: &Path) {
    let view = View::open(dir, Settings::default()).unwrap();
    view.open_partition(P).unwrap();
    for number in 0..RUNS {
        view.put_ended(P, &run(number)).unwrap();
        if number < 210 && number % 30 == 29 {
            view.flush(P, Seq(number.into())).unwrap();
        }
    }
    // Seven tables, of which four or more are merged into one.
    while view.sizes().tables > 4 {
        std::thread::yield_now();
    }
    view.flush(P, Seq(RUNS.into())).unwrap();
}

/// Reads and checks everything, or returns the first error.
fn read_all(dir: &Path) -> Result<(), Error> {
    let view = View::open(dir, Settings::default()).unwrap();
    view.open_partition(P)?;
    let runs: Vec<_> = (0..RUNS).map(run).collect();
    assert_eq!(view.flushed_through(P)?, Some(Seq(RUNS.into())), "a wrong mark was served");
    for run in &runs {
        assert_eq!(view.run(&run.id, None)?.as_ref(), Some(run), "a wrong run was served");
        assert_eq!(view.seen(&run.id, None)?, Some(run.body_hash), "a wrong hash was served");
    }
    assert_eq!(view.run(&id(RUNS), None)?, None);
    for status in [None, Some(FINAL[0]), Some(FINAL[1])] {
        let query = RunQuery { status, ..query() };
        match view.list(&query) {
            Ok(_) => assert_eq!(all_rows(&view, &query), expected(&runs, &query), "a wrong list was served"),
            Err(ListError::View(error)) => return Err(error),
            Err(ListError::BadCursor) => unreachable!("no cursor was given"),
        }
    }
    view.verify(P)?;
    view.forget_before(P, run(5).accepted_at, 10)?;
    view.flush(P, Seq(RUNS.into()))
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, target).unwrap();
    }
}

/// The ways in which a file is damaged at an offset.
fn damages(bytes: &[u8], at: usize) -> Vec<(&'static str, Vec<u8>)> {
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut copy = bytes.to_vec();
        change(&mut copy);
        copy
    };
    let end = (at + 64).min(bytes.len());
    vec![
        ("bit", changed(&|bytes| bytes[at] ^= 1 << (at % 8))),
        ("byte", changed(&|bytes| bytes[at] = !bytes[at])),
        ("zeros", changed(&|bytes| bytes[at..end].fill(0))),
        ("ones", changed(&|bytes| bytes[at..end].fill(255))),
        ("cut", changed(&|bytes| bytes.truncate(at))),
    ]
}

/// Offsets all over the file, denser near its end, where its directory lies.
fn offsets(length: usize) -> Vec<usize> {
    let step = (length / 25).max(1);
    let near_end = (length.saturating_sub(240)..length).step_by(7);
    let mut offsets: Vec<_> = (0..length).step_by(step).chain(near_end).collect();
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

// guards: 11
#[test]
fn damage_at_any_offset_of_any_file_is_found_and_nothing_wrong_is_served() {
    let whole = tempfile::tempdir().unwrap();
    fill(whole.path());
    read_copy(whole.path()).unwrap();
    let (mut found, mut tried) = (0, 0);
    for file in files(&whole.path().join("p-00000")) {
        let bytes = fs::read(&file).unwrap();
        for at in offsets(bytes.len()) {
            for (what, damaged) in damages(&bytes, at).into_iter().filter(|(_, damaged)| *damaged != bytes) {
                fs::write(&file, damaged).unwrap();
                tried += 1;
                let context = format!("{what} at {at} of {} in {}", bytes.len(), file.display());
                match read_copy(whole.path()) {
                    Ok(()) => eprintln!("not found: {context}"),
                    Err(Error::Damaged { partition, .. }) => {
                        assert_eq!(partition, P);
                        found += 1;
                    }
                    Err(error) => panic!("{context}: {error}"),
                }
            }
        }
        fs::write(&file, bytes).unwrap();
    }
    eprintln!("{found} of {tried} damages found");
    assert_eq!(found, tried, "reading a whole table finds any damage in it");
}

/// Reads a copy, because opening a view cleans up its directory.
fn read_copy(dir: &Path) -> Result<(), Error> {
    let scratch = tempfile::tempdir().unwrap();
    copy(dir, scratch.path());
    read_all(scratch.path())
}

#[test]
fn a_missing_file_is_damage_that_names_it() {
    let whole = tempfile::tempdir().unwrap();
    fill(whole.path());
    for file in files(&whole.path().join("p-00000")) {
        let scratch = tempfile::tempdir().unwrap();
        copy(whole.path(), scratch.path());
        let gone = scratch.path().join(file.strip_prefix(whole.path()).unwrap());
        fs::remove_file(&gone).unwrap();
        match read_all(scratch.path()) {
            Err(Error::Damaged { file, .. }) => assert_eq!(file, gone),
            other => panic!("{}: {other:?}", gone.display()),
        }
    }
}

#[test]
fn damage_in_a_table_is_reported_with_the_name_of_the_file_and_stops_only_its_partition() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path());
    let tables = files(&dir.path().join("p-00000/tables"));
    let table = tables.iter().max_by_key(|table| fs::metadata(table).unwrap().len()).unwrap();
    let mut bytes = fs::read(table).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 1;
    fs::write(table, bytes).unwrap();

    let view = View::open(dir.path(), Settings::default()).unwrap();
    view.open_partition(P).unwrap();
    view.open_partition(PartitionId(1)).unwrap();
    let errors: Vec<_> = (0..RUNS).filter_map(|number| view.run(&id(number), Some(P)).err()).collect();
    assert!(!errors.is_empty() && errors.len() < RUNS as usize, "{} errors", errors.len());
    for error in errors {
        assert!(matches!(&error, Error::Damaged { file, .. } if file == table), "{error}");
    }
    assert!(matches!(view.put_ended(P, &run(1)), Err(Error::Damaged { .. })));
    assert!(matches!(view.flush(P, Seq(999)), Err(Error::Damaged { .. })));
    assert!(view.sizes().partitions[0].stopped.is_some());
    view.put_ended(PartitionId(1), &run(1000)).unwrap();
    view.flush(PartitionId(1), Seq(1)).unwrap();
    assert_eq!(view.run(&id(1000), Some(PartitionId(1))).unwrap(), Some(run(1000)));
}

/// The tree would allocate the memory before it compares the checksum, and abort.
#[test]
fn a_directory_that_claims_billions_of_entries_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path());
    for table in files(&dir.path().join("p-00000/tables")) {
        let whole = fs::read(&table).unwrap();
        let mut bytes = whole.clone();
        let at = bytes.windows(4).rposition(|window| window == b"TOC!").unwrap() + 4;
        bytes[at..at + 4].fill(255);
        fs::write(&table, bytes).unwrap();
        match read_copy(dir.path()) {
            Err(Error::Damaged { file, .. }) => assert_eq!(file.file_name(), table.file_name()),
            other => panic!("{other:?}"),
        }
        fs::write(&table, whole).unwrap();
    }
}

#[test]
fn a_stray_directory_among_the_tables_is_damage_not_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path());
    fs::create_dir(dir.path().join("p-00000/tables/77")).unwrap();
    assert!(matches!(read_all(dir.path()), Err(Error::Damaged { .. })));
}

#[test]
fn files_that_a_crash_leaves_are_not_damage() {
    let dir = tempfile::tempdir().unwrap();
    let tables = dir.path().join("p-00000/tables");
    // During the creation of a tree.
    fs::create_dir_all(&tables).unwrap();
    fs::write(dir.path().join("p-00000/v0"), b"torn").unwrap();
    fill(dir.path());
    // During the writing of a table.
    fs::write(tables.join("900"), b"torn").unwrap();
    fs::write(dir.path().join("p-00000/v900"), b"torn").unwrap();
    read_all(dir.path()).unwrap();
}
