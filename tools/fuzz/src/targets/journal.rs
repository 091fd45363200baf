//! A whole journal with damaged files: it opens or says why not, and what it serves was once written.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use journal::{ReadError, Snapshot};
use journal_disk::Settings;
use journal_disk::index::Stream;
use journal_disk::log::{Log, LogOperation, LogRequest};
use journal_disk::reader::LogReader;
use journal_disk::simdisk::SimDisk;
use journal_disk::snapshots::Snapshots;
use types::{Epoch, Seq};

use crate::Target;
use crate::input::Input;

pub const TARGET: Target = Target {
    name: "journal",
    run,
    seeds,
    words: &["SJf1", "SJseg1\0\0", "SortieJ\0", "SJsnap1\0"],
    inputs: 250,
};

const PARTITIONS: u16 = 2;
const SLOTS: u16 = PARTITIONS + 1;
const SEGMENT_BYTES: u64 = 24 << 10;
const EDITS_MAX: usize = 8;

/// A journal of a few segments, and what was acknowledged of it.
struct Sample {
    disk: SimDisk,
    events: Vec<Vec<Bytes>>,
    inbox: Vec<Vec<Bytes>>,
}

fn run(bytes: &[u8]) {
    static SAMPLE: OnceLock<Sample> = OnceLock::new();
    let sample = SAMPLE.get_or_init(build);
    let disk = sample.disk.copy(1);
    let files = disk.files();
    let mut input = Input::new(bytes);
    let mut edits = 0;
    while !input.is_empty() && edits < EDITS_MAX {
        let (path, _) = &files[usize::from(input.u8()) % files.len()];
        disk.rot(path, |content| edit(&mut input, content));
        edits += 1;
    }
    let Ok(log) = Log::open(Arc::new(disk.clone()), &settings()) else { return };
    for slot in 0..SLOTS {
        check(&log, slot, Stream::Events, &sample.events[usize::from(slot)], edits);
        check(&log, slot, Stream::Inbox, &sample.inbox[usize::from(slot)], edits);
    }
    let snapshots = Snapshots::open(&log).expect("the disk lives");
    for slot in 0..SLOTS {
        if let Ok(Some(found)) = snapshots.get(slot) {
            assert_eq!(found, snapshot(slot, found.through), "a snapshot is whole or not there");
        }
    }
    drop(log);
    disk.kill();
    assert!(Log::open(Arc::new(disk), &settings()).is_ok(), "what was opened once opens again");
}

/// One change of a file: some bytes others, zeros, a shorter file, or a piece of it in another place.
fn edit(input: &mut Input<'_>, content: &mut Vec<u8>) {
    let at = usize::from(input.u16()) * 8 % content.len().max(1);
    match input.u8() % 4 {
        0 => {
            for (n, byte) in input.bytes(64).iter().enumerate() {
                if let Some(place) = content.get_mut(at + n) {
                    *place ^= byte;
                }
            }
        }
        1 => {
            let end = (at + 8 * usize::from(input.u8())).min(content.len());
            content[at..end].fill(0);
        }
        2 => content.truncate(at),
        _ => {
            let from = usize::from(input.u16()) * 8 % content.len().max(1);
            let length = (8 * usize::from(input.u8())).min(content.len() - from.max(at));
            content.copy_within(from..from + length, at);
        }
    }
}

/// What is served is a prefix of what was acknowledged. After a single change it is all of it: one damaged position can be
/// distinguished from a torn end, several together cannot.
fn check(log: &Log, slot: u16, stream: Stream, written: &[Bytes], edits: usize) {
    let reader = LogReader::new(log);
    let mut found: Vec<Bytes> = Vec::new();
    loop {
        match reader.read(slot, stream, Seq(found.len() as u64 + 1), 2000) {
            Ok(records) if records.is_empty() => break,
            Ok(records) => found.extend(records.into_iter().map(|record| record.bytes)),
            Err(ReadError::Damaged { .. }) => return,
            Err(error) => panic!("slot {slot} {stream:?}: {error}"),
        }
    }
    assert!(written.starts_with(&found), "slot {slot} {stream:?} serves what was never written");
    assert!(edits > 1 || found.len() == written.len(), "slot {slot} {stream:?} has silently lost records");
}

fn settings() -> Settings {
    Settings {
        segment_bytes: SEGMENT_BYTES,
        reserve_bytes: 8 << 10,
        cache_bytes: 4 << 10,
        ..Settings::new(PARTITIONS)
    }
}

fn snapshot(slot: u16, through: Seq) -> Snapshot {
    Snapshot { through, bytes: Bytes::from(format!("{slot}/{}/", through.0).repeat(30)) }
}

fn build() -> Sample {
    let disk = SimDisk::new(1);
    let mut log = Log::open(Arc::new(disk.clone()), &settings()).expect("an empty disk opens");
    let mut sample = Sample { disk, events: vec![Vec::new(); 3], inbox: vec![Vec::new(); 3] };
    write(&mut log, (0..SLOTS).map(|slot| LogRequest { slot, ask: LogOperation::Claim }).collect());
    for n in 0..24u16 {
        let slot = n % SLOTS;
        let (events, inbox) = (&mut sample.events[usize::from(slot)], &mut sample.inbox[usize::from(slot)]);
        let frame = Bytes::from(vec![n as u8; usize::from(n) * 90]);
        let records = vec![Bytes::from(vec![n as u8; 40]), Bytes::from(format!("{{\"n\":{n}}}"))];
        let expected_tail = Seq(events.len() as u64);
        events.push(frame.clone());
        inbox.extend(records.clone());
        let append = LogOperation::Append { epoch: Epoch(1), expected_tail, frame };
        write(
            &mut log,
            vec![LogRequest { slot, ask: append }, LogRequest { slot, ask: LogOperation::Inbox { records } }],
        );
    }
    let snapshots = Snapshots::open(&log).expect("the disk lives");
    for through in [2, 5] {
        snapshots.put(0, &snapshot(0, Seq(through))).expect("there is room");
    }
    log.close().expect("the disk lives");
    sample
}

fn write(log: &mut Log, requests: Vec<LogRequest>) {
    let mut answers = Vec::new();
    log.write_group(&requests, &mut answers).expect("the disk lives");
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    log.tend().expect("the disk lives");
}

fn seeds() -> Vec<Vec<u8>> {
    // Each file in turn, each kind of change.
    let one = |file: u8, kind: u8| vec![file, 0x40, 0x01, kind, 4, 0, 0xff, 1, 2, 3];
    (0..8).flat_map(|file| (0..4).map(move |kind| one(file, kind))).collect()
}
