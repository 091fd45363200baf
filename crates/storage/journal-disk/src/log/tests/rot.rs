//! Damage at one position of one file: acknowledged records are never lost silently, and wrong bytes never served.

use std::collections::BTreeSet;

use journal::{OpenError, ReadError};

use super::model::{
    Held, Model, PARTITIONS, Random, SLOTS, check, open, random_group, read_stream, settings, snapshot_at,
};
use crate::index::Stream;
use crate::log::{Log, LogOperation, LogRequest};
use crate::reader::LogReader;
use crate::simdisk::{SECTOR_BYTES, SimDisk};
use crate::snapshots::Snapshots;

const SEGMENT_BYTES: u64 = 40 << 10;

/// How the process ended before the damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Closed,
    /// Killed after it was idle for a moment.
    Marked,
}

/// A log of a few segments, with every frame in them acknowledged.
fn build(seed: u64, left: Left) -> (SimDisk, Model) {
    let disk = SimDisk::new(seed);
    let mut random = Random(seed);
    let mut model: Model = vec![Held::default(); usize::from(SLOTS)];
    let mut log = open(&disk, &settings(SEGMENT_BYTES)).unwrap();
    let snapshots = Snapshots::open(&log).unwrap();
    for _ in 0..20 {
        let (requests, after, _) = random_group(&mut random, &model);
        log.write_group(&requests, &mut Vec::new()).unwrap();
        model = after;
        log.tend().unwrap();
    }
    for slot in [0, 1, 1] {
        let through = model[slot].events.len() as u64 - u64::from(model[slot].snapshot.is_none());
        snapshots.put(slot as u16, &snapshot_at(slot as u16, through)).unwrap();
        model[slot].snapshot = Some(through);
    }
    match left {
        Left::Closed => log.close().unwrap(),
        Left::Marked => {
            log.mark().unwrap();
            // The kernel writes the mark back eventually.
            log.active.file.sync_data().unwrap();
        }
    }
    check(&log, &model, &model);
    (disk, model)
}

#[derive(Debug, Default)]
struct Outcomes {
    unharmed: u64,
    stopped: u64,
    unopened: u64,
    snapshot_lost: u64,
}

/// Opens the damaged disk and reads everything that it serves.
fn judge(disk: &SimDisk, model: &Model, outcomes: &mut Outcomes) {
    let before = disk.operations();
    let mut log = match open(disk, &settings(SEGMENT_BYTES)) {
        Ok(log) => log,
        Err(OpenError::Damaged { .. }) => {
            assert_eq!(disk.operations(), before, "what cannot be understood is not changed");
            outcomes.unopened += 1;
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let stopped = serve(&log, model, outcomes);
    for slot in 0..SLOTS {
        let answer = &mut Vec::new();
        log.write_group(&[LogRequest { slot, ask: LogOperation::Claim }], answer).unwrap();
        assert_eq!(answer[0].is_err(), stopped.contains(&slot), "{answer:?}");
    }
    log.tend().unwrap();
    disk.kill();
    let log = open(disk, &settings(SEGMENT_BYTES)).expect("what was opened once opens again");
    assert_eq!(serve(&log, model, outcomes), stopped, "what is stopped stays stopped, the rest goes on");
    if stopped.is_empty() { outcomes.unharmed += 1 } else { outcomes.stopped += 1 }
}

/// The partitions that refuse; all others serve every acknowledged record.
fn serve(log: &Log, model: &Model, outcomes: &mut Outcomes) -> BTreeSet<u16> {
    let reader = LogReader::new(log);
    let snapshots = Snapshots::open(log).unwrap();
    let mut stopped = BTreeSet::new();
    for slot in 0..SLOTS {
        let held = &model[usize::from(slot)];
        let streams = [
            (Stream::Events, &held.events, held.events_trimmed),
            (Stream::Inbox, &held.inbox, held.inbox_trimmed),
        ];
        for (stream, records, trimmed) in streams {
            match read_stream(&reader, slot, stream) {
                Ok((found_trimmed, found)) => {
                    assert_eq!(found_trimmed, trimmed);
                    assert!(found == records[trimmed as usize..], "slot {slot} {stream:?} is complete");
                }
                Err(ReadError::Damaged { .. }) => {
                    stopped.insert(slot);
                }
                Err(error) => panic!("{error}"),
            }
        }
        match snapshots.get(slot) {
            Ok(snapshot) => {
                let through = snapshot.as_ref().map(|snapshot| snapshot.through.0);
                assert_eq!(snapshot, through.map(|through| snapshot_at(slot, through)));
                assert!(
                    through == held.snapshot || through.unwrap_or(0) >= held.events_trimmed,
                    "an older snapshot only with the events since"
                );
            }
            Err(ReadError::Damaged { .. }) => outcomes.snapshot_lost += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(stopped.len() <= usize::from(PARTITIONS) + 1);
    stopped
}

/// Applies `change` at sampled positions of every file.
fn rot_everywhere(left: Left, step: usize, change: impl Fn(&mut Vec<u8>, usize)) -> Outcomes {
    let mut outcomes = Outcomes::default();
    for seed in 1..=2 {
        let (disk, model) = build(seed, left);
        for (path, size) in disk.files() {
            for at in (0..size).step_by(step) {
                let damaged = disk.copy(seed);
                damaged.rot(&path, |bytes| change(bytes, at));
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    judge(&damaged, &model, &mut outcomes);
                }));
                if let Err(panic) = outcome {
                    eprintln!("{left:?}, seed {seed}, {path} of {size} at {at}");
                    std::panic::resume_unwind(panic);
                }
            }
        }
    }
    eprintln!("{left:?} {outcomes:?}");
    outcomes
}

#[test]
fn an_unharmed_log_is_served_whole() {
    for left in [Left::Closed, Left::Marked] {
        let (disk, model) = build(1, left);
        let mut outcomes = Outcomes::default();
        judge(&disk, &model, &mut outcomes);
        assert_eq!(outcomes.unharmed, 1);
    }
}

// guards: 11
#[test]
fn a_flipped_bit_is_never_silent() {
    for left in [Left::Closed, Left::Marked] {
        let outcomes = rot_everywhere(left, 131, |bytes, at| bytes[at] ^= 1 << (at % 8));
        assert!(outcomes.stopped > 100 && outcomes.unharmed > 100, "{outcomes:?}");
        assert_eq!(outcomes.unopened, 0, "one bit can always be pinned on a partition");
        assert!(outcomes.snapshot_lost > 0);
    }
}

#[test]
fn a_zeroed_sector_is_never_silent() {
    for left in [Left::Closed, Left::Marked] {
        let outcomes = rot_everywhere(left, SECTOR_BYTES, |bytes, at| {
            let end = (at + SECTOR_BYTES).min(bytes.len());
            bytes[at..end].fill(0);
        });
        assert!(outcomes.stopped > 50, "{outcomes:?}");
    }
}

#[test]
fn a_misdirected_page_is_never_silent() {
    let outcomes = rot_everywhere(Left::Closed, 4096, |bytes, at| {
        let other = (at + 4096) % bytes.len().next_multiple_of(4096);
        if at + 4096 <= bytes.len() && other + 4096 <= bytes.len() {
            let moved = bytes[at..at + 4096].to_vec();
            bytes[other..other + 4096].copy_from_slice(&moved);
        }
    });
    assert!(outcomes.stopped + outcomes.unopened > 10, "{outcomes:?}");
}

#[test]
fn a_cut_file_is_never_silent() {
    for left in [Left::Closed, Left::Marked] {
        let outcomes = rot_everywhere(left, 1021, |bytes, at| bytes.truncate(at));
        assert!(outcomes.stopped > 10 && outcomes.unopened > 10, "{outcomes:?}");
    }
}

#[test]
fn a_lost_segment_is_never_silent() {
    let (disk, model) = build(1, Left::Closed);
    let mut outcomes = Outcomes::default();
    for (path, _) in disk.files() {
        if path.starts_with(crate::segment::DIR) {
            let damaged = disk.copy(1);
            crate::disk::Disk::remove(&damaged, &path).unwrap();
            judge(&damaged, &model, &mut outcomes);
        }
    }
    assert!(outcomes.unopened > 1, "{outcomes:?}");
}

#[test]
fn segments_with_damage_are_never_removed() {
    let (disk, model) = build(1, Left::Closed);
    let first = disk.files().into_iter().find(|(path, _)| path.starts_with(crate::segment::DIR)).unwrap().0;
    let start = crate::format::segment_header::SegmentHeader::data_start(usize::from(SLOTS)) as usize;
    let content = |disk: &SimDisk| {
        let mut content = Vec::new();
        disk.rot(&first, |bytes| content = bytes.clone());
        content
    };
    disk.rot(&first, |bytes| bytes[start + 100..start + 200].fill(0xee));
    let before = content(&disk);
    let mut log = open(&disk, &settings(SEGMENT_BYTES)).unwrap();
    for slot in 0..SLOTS {
        let held = &model[usize::from(slot)];
        let (events, inbox) = (held.events.len() as u64 + 1, held.inbox.len() as u64 + 1);
        let ask = LogOperation::Trim { events: types::Seq(events), inbox: types::Seq(inbox) };
        log.write_group(&[LogRequest { slot, ask }], &mut Vec::new()).unwrap();
    }
    log.tend().unwrap();
    disk.power_cut();
    assert!(content(&disk) == before, "the bytes are kept for whoever looks into it");
}
