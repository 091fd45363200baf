//! Tests of damaged snapshots.

use super::*;
use crate::log::{LogOperation, LogRequest};
use crate::settings::Settings;
use crate::simdisk::SimDisk;

/// Ten events, snapshots at five and nine, the newest of them damaged.
fn damaged_newest() -> (Log, Snapshots) {
    let disk = SimDisk::new(1);
    let settings = Settings { segment_bytes: 64 << 10, reserve_bytes: 0, ..Settings::new(1) };
    let mut log = Log::open(Arc::new(disk.clone()), &settings).unwrap();
    ask(&mut log, LogOperation::Claim);
    for number in 0..10 {
        let frame = Bytes::from_static(b"event");
        ask(&mut log, LogOperation::Append { epoch: types::Epoch(1), expected_tail: Seq(number), frame });
    }
    let snapshots = Snapshots::open(&log).unwrap();
    for through in [5, 9] {
        snapshots.put(0, &at(through)).unwrap();
    }
    disk.rot(&path(0, 9), |bytes| bytes[HEADER_BYTES + 1] ^= 1);
    (log, snapshots)
}

fn at(through: u64) -> Snapshot {
    Snapshot { through: Seq(through), bytes: Bytes::from(format!("state at {through}")) }
}

fn ask(log: &mut Log, ask: LogOperation) {
    let mut answers = Vec::new();
    log.write_group(&[LogRequest { slot: 0, ask }], &mut answers).unwrap();
    assert!(answers[0].is_ok(), "{answers:?}");
}

#[test]
fn an_older_snapshot_serves_while_the_events_since_are_there() {
    let (mut log, snapshots) = damaged_newest();
    assert_eq!(snapshots.get(0), Ok(Some(at(5))));
    ask(&mut log, LogOperation::Trim { events: Seq(6), inbox: Seq(1) });
    assert_eq!(snapshots.get(0), Ok(Some(at(5))), "event 6 is still there");
}

#[test]
fn an_older_snapshot_with_a_gap_after_it_is_damage() {
    let (mut log, snapshots) = damaged_newest();
    ask(&mut log, LogOperation::Trim { events: Seq(7), inbox: Seq(1) });
    match snapshots.get(0) {
        Err(ReadError::Damaged { detail, .. }) => assert_eq!(detail, path(0, 9)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_newest_two_are_kept() {
    let (_, snapshots) = damaged_newest();
    snapshots.put(0, &at(10)).unwrap();
    assert_eq!(snapshots.positions(0).unwrap(), [9, 10]);
    assert_eq!(snapshots.get(0), Ok(Some(at(10))));
}
