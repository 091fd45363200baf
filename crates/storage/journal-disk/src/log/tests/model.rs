//! The expected contents of a log, how to read it back, and a random source that a seed repeats.

use std::sync::Arc;

use bytes::Bytes;
use journal::{ReadError, Snapshot};
use types::{Epoch, Seq};

use crate::index::Stream;
use crate::log::{Log, LogCompletion, LogOperation, LogRequest, LogResult};
use crate::reader::LogReader;
use crate::settings::Settings;
use crate::simdisk::SimDisk;
use crate::snapshots::Snapshots;

pub const PARTITIONS: u16 = 3;
pub const SLOTS: u16 = PARTITIONS + 1;

pub fn settings(segment_bytes: u64) -> Settings {
    Settings { segment_bytes, reserve_bytes: 8 << 10, cache_bytes: 4 << 10, ..Settings::new(PARTITIONS) }
}

pub fn open(disk: &SimDisk, settings: &Settings) -> Result<Log, journal::OpenError> {
    Log::open(Arc::new(disk.clone()), settings)
}

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub fn bytes(&mut self) -> Bytes {
        let length = match self.below(8) {
            0 => 0,
            1 => self.below(6000),
            _ => self.below(300),
        };
        (0..length).map(|_| self.next() as u8).collect()
    }
}

/// The expected contents of one partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    pub epoch: u64,
    pub events: Vec<Bytes>,
    pub inbox: Vec<Bytes>,
    pub events_trimmed: u64,
    pub inbox_trimmed: u64,
    pub snapshot: Option<u64>,
}

/// The expected contents of the whole log, by slot.
pub type Model = Vec<Held>;

/// What a snapshot of a partition at a position looks like.
pub fn snapshot_at(slot: u16, through: u64) -> Snapshot {
    let bytes = format!("{slot}/{through}/").repeat(40 + through as usize % 50);
    Snapshot { through: Seq(through), bytes: Bytes::from(bytes) }
}

/// A group of random requests that will all be granted, and the model after them.
pub fn random_group(random: &mut Random, model: &Model) -> (Vec<LogRequest>, Model, Vec<LogResult>) {
    let mut after = model.clone();
    let mut requests = Vec::new();
    let mut answers = Vec::new();
    for _ in 0..1 + random.below(6) {
        let slot = random.below(u64::from(SLOTS)) as u16;
        let held = &mut after[usize::from(slot)];
        let (ask, done) = match random.below(10) {
            0 => {
                held.epoch += 1;
                let claim =
                    journal::Claim { epoch: Epoch(held.epoch), events_tail: Seq(held.events.len() as u64) };
                (LogOperation::Claim, LogCompletion::Claimed(claim))
            }
            1 => {
                let events = random.below(held.events.len() as u64 + 1);
                let inbox = random.below(held.inbox.len() as u64 + 1);
                held.events_trimmed = held.events_trimmed.max(events);
                held.inbox_trimmed = held.inbox_trimmed.max(inbox);
                (
                    LogOperation::Trim { events: Seq(events + 1), inbox: Seq(inbox + 1) },
                    LogCompletion::Trimmed,
                )
            }
            2..6 if held.epoch > 0 => {
                let frame = random.bytes();
                let expected_tail = Seq(held.events.len() as u64);
                held.events.push(frame.clone());
                let ask = LogOperation::Append { epoch: Epoch(held.epoch), expected_tail, frame };
                (ask, LogCompletion::Appended(expected_tail.next()))
            }
            _ => {
                let records: Vec<Bytes> = (0..1 + random.below(4)).map(|_| random.bytes()).collect();
                held.inbox.extend(records.clone());
                (LogOperation::Inbox { records }, LogCompletion::Appended(Seq(held.inbox.len() as u64)))
            }
        };
        requests.push(LogRequest { slot, ask });
        answers.push(Ok(done));
    }
    (requests, after, answers)
}

/// How many records were trimmed, and the remaining ones.
pub fn read_stream(reader: &LogReader, slot: u16, stream: Stream) -> Result<(u64, Vec<Bytes>), ReadError> {
    let mut next = match reader.read(slot, stream, Seq(1), 0) {
        Err(ReadError::Trimmed { first, .. }) => first,
        Err(error) => return Err(error),
        Ok(_) => Seq(1),
    };
    let trimmed = next.0 - 1;
    let mut found = Vec::new();
    loop {
        let records = reader.read(slot, stream, next, 2000)?;
        let Some(last) = records.last() else { return Ok((trimmed, found)) };
        for (number, record) in (next.0..).zip(&records) {
            assert_eq!(record.seq, Seq(number), "numbers are dense");
        }
        next = last.seq.next();
        found.extend(records.into_iter().map(|record| record.bytes));
    }
}

/// Checks that everything of `acked` is there and nothing beyond `tried`; returns the contents.
pub fn check(log: &Log, acked: &Model, tried: &Model) -> Model {
    let reader = LogReader::new(log);
    let snapshots = Snapshots::open(log).expect("the disk lives");
    let mut found = Model::new();
    for slot in 0..SLOTS {
        let (acked, tried) = (&acked[usize::from(slot)], &tried[usize::from(slot)]);
        let (events_trimmed, events) = read_stream(&reader, slot, Stream::Events).expect("no damage");
        let (inbox_trimmed, inbox) = read_stream(&reader, slot, Stream::Inbox).expect("no damage");
        let events = check_stream(&acked.events, &tried.events, events_trimmed, events);
        let inbox = check_stream(&acked.inbox, &tried.inbox, inbox_trimmed, inbox);
        assert!((acked.events_trimmed..=tried.events_trimmed).contains(&events_trimmed));
        assert!((acked.inbox_trimmed..=tried.inbox_trimmed).contains(&inbox_trimmed));
        let snapshot = snapshots.get(slot).expect("no damage");
        let through = snapshot.as_ref().map(|snapshot| snapshot.through.0);
        assert!((acked.snapshot..=tried.snapshot).contains(&through), "the newest snapshot");
        assert_eq!(snapshot, through.map(|through| snapshot_at(slot, through)));
        let epoch = log.marks[usize::from(slot)].epoch;
        assert!((acked.epoch..=tried.epoch).contains(&epoch), "epochs never fall");
        found.push(Held { epoch, events, inbox, events_trimmed, inbox_trimmed, snapshot: through });
    }
    found
}

fn check_stream(acked: &[Bytes], tried: &[Bytes], trimmed: u64, found: Vec<Bytes>) -> Vec<Bytes> {
    let trimmed = trimmed as usize;
    let tail = trimmed + found.len();
    assert!(tail >= acked.len(), "{} records were acknowledged, {tail} are there", acked.len());
    assert!(tail <= tried.len(), "{} records were ever sent, {tail} are there", tried.len());
    assert!(found == tried[trimmed..tail], "every record is what was sent");
    tried[..tail].to_vec()
}
