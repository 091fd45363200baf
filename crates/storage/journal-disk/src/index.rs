//! Positions of the records: a few bytes per frame, and the newest inbox frames themselves.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use journal::{ReadError, Record};
use tokio::sync::watch;
use types::{PartitionId, Seq};

use crate::format::frame;
use crate::limits::FRAME_ALIGN;

/// The index of all partitions. The writer adds durable frames; readers look them up.
pub struct Index {
    parts: Vec<PartitionIndex>,
}

struct PartitionIndex {
    /// Locked for a look-up or an insertion, never for I/O.
    streams: Mutex<Streams>,
    inbox_tail: watch::Sender<Seq>,
    /// Damage was found; the reason is in `streams`.
    stopped: AtomicBool,
}

#[derive(Default)]
struct Streams {
    events: Positions,
    inbox: Positions,
    /// The newest inbox frames, dense up to the tail.
    cached: VecDeque<CachedFrame>,
    stopped: Option<String>,
}

#[derive(Default)]
struct Positions {
    trimmed: u64,
    tail: u64,
    frames: VecDeque<Position>,
}

/// The position of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Its first record.
    pub first: u64,
    pub segment: u32,
    units: u32,
}

struct CachedFrame {
    first: u64,
    payload: Bytes,
}

/// Which of a partition's two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Events,
    Inbox,
}

/// How a range can be read.
pub enum Lookup {
    /// In memory; empty past the tail.
    Records(Vec<Record>),
    /// From these frames, in order; more may follow.
    Frames(Vec<Position>),
}

impl Position {
    pub fn new(first: u64, segment: u32, offset: u64) -> Position {
        let units = u32::try_from(offset / FRAME_ALIGN as u64).expect("a segment is smaller than 32 GiB");
        Position { first, segment, units }
    }

    pub fn offset(self) -> u64 {
        u64::from(self.units) * FRAME_ALIGN as u64
    }
}

impl Index {
    pub fn new(slots: usize) -> Index {
        let part = || PartitionIndex {
            streams: Mutex::default(),
            inbox_tail: watch::Sender::new(Seq::ZERO),
            stopped: AtomicBool::new(false),
        };
        Index { parts: std::iter::repeat_with(part).take(slots).collect() }
    }

    pub fn slots(&self) -> usize {
        self.parts.len()
    }

    /// The slot of a partition that exists.
    pub fn slot(&self, partition: PartitionId) -> u16 {
        let control = self.parts.len() - 1;
        if partition == PartitionId::CONTROL {
            return control as u16;
        }
        assert!(usize::from(partition.0) < control, "partition {partition} of {control}");
        partition.0
    }

    pub fn partition(&self, slot: u16) -> PartitionId {
        if usize::from(slot) + 1 == self.parts.len() { PartitionId::CONTROL } else { PartitionId(slot) }
    }

    fn streams(&self, slot: u16) -> MutexGuard<'_, Streams> {
        self.parts[usize::from(slot)].streams.lock().expect("no holder of the lock panics")
    }

    /// Adds a durable frame of `count` records.
    pub fn add(&self, slot: u16, stream: Stream, position: Position, count: u64) {
        self.streams(slot).positions(stream).add(position, count);
    }

    /// Adds a durable inbox frame and keeps its payload.
    pub fn add_cached(&self, slot: u16, position: Position, count: u64, payload: Bytes) {
        let mut streams = self.streams(slot);
        streams.inbox.add(position, count);
        streams.cached.push_back(CachedFrame { first: position.first, payload });
    }

    /// Drops the oldest cached frame of a partition.
    pub fn evict(&self, slot: u16) {
        self.streams(slot).cached.pop_front();
    }

    /// A frame was copied to another position.
    pub fn relocate(&self, slot: u16, stream: Stream, position: Position) {
        let mut streams = self.streams(slot);
        let frames = &mut streams.positions(stream).frames;
        if let Some(moved) = frames.iter_mut().rev().find(|frame| frame.first == position.first) {
            *moved = position;
        }
    }

    /// Sets the position of a stream without adding a frame: at recovery.
    pub fn set_bounds(&self, slot: u16, stream: Stream, trimmed: u64, tail: u64) {
        let mut streams = self.streams(slot);
        let positions = streams.positions(stream);
        positions.tail = tail;
        positions.trim(trimmed);
    }

    pub fn trim(&self, slot: u16, events: u64, inbox: u64) {
        let mut streams = self.streams(slot);
        streams.events.trim(events);
        streams.inbox.trim(inbox);
    }

    /// Notifies the followers of an inbox of its tail.
    pub fn publish_tail(&self, slot: u16) {
        let tail = Seq(self.streams(slot).inbox.tail);
        self.parts[usize::from(slot)].inbox_tail.send_replace(tail);
    }

    pub fn inbox_tail(&self, slot: u16) -> watch::Receiver<Seq> {
        self.parts[usize::from(slot)].inbox_tail.subscribe()
    }

    /// Stops the partition.
    pub fn stop(&self, slot: u16, reason: String) {
        tracing::error!(partition = %self.partition(slot), reason, "damage found: the partition is stopped");
        self.streams(slot).stopped.get_or_insert(reason);
        self.parts[usize::from(slot)].stopped.store(true, Ordering::Release);
    }

    /// Why the partition is stopped, if it is.
    pub fn stopped(&self, slot: u16) -> Option<String> {
        if !self.parts[usize::from(slot)].stopped.load(Ordering::Acquire) {
            return None;
        }
        self.streams(slot).stopped.clone()
    }

    /// The lowest segment that contains a record of any partition.
    pub fn segment_needed(&self) -> Option<u32> {
        (0..self.parts.len() as u16)
            .filter_map(|slot| {
                let streams = self.streams(slot);
                let first = |positions: &Positions| positions.frames.front().map(|frame| frame.segment);
                first(&streams.events).into_iter().chain(first(&streams.inbox)).min()
            })
            .min()
    }

    /// The first number of the events that is not trimmed.
    pub fn events_first(&self, slot: u16) -> Seq {
        Seq(self.streams(slot).events.trimmed + 1)
    }

    /// Where to read from `from` on.
    pub fn look_up(
        &self,
        slot: u16,
        stream: Stream,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Lookup, ReadError> {
        const FRAMES_MAX: usize = 128;
        let partition = self.partition(slot);
        let mut streams = self.streams(slot);
        if let Some(detail) = streams.stopped.clone() {
            return Err(ReadError::Damaged { partition, detail });
        }
        let positions = streams.positions(stream);
        let first = Seq(positions.trimmed + 1);
        if from < first {
            return Err(ReadError::Trimmed { partition, from, first });
        }
        if from.0 > positions.tail {
            return Ok(Lookup::Records(Vec::new()));
        }
        let start = positions.frames.partition_point(|frame| frame.first <= from.0) - 1;
        if stream == Stream::Inbox && streams.cached.front().is_some_and(|frame| frame.first <= from.0) {
            return Ok(Lookup::Records(streams.read_cached(from, bytes_max)));
        }
        let frames = &streams.positions(stream).frames;
        Ok(Lookup::Frames(frames.range(start..).take(FRAMES_MAX).copied().collect()))
    }
}

impl Streams {
    fn positions(&mut self, stream: Stream) -> &mut Positions {
        match stream {
            Stream::Events => &mut self.events,
            Stream::Inbox => &mut self.inbox,
        }
    }

    fn read_cached(&self, from: Seq, bytes_max: usize) -> Vec<Record> {
        let mut answer = RecordCollector::new(from, bytes_max);
        let start = self.cached.partition_point(|frame| frame.first <= from.0) - 1;
        for frame in self.cached.range(start..) {
            if !answer.take_inbox(frame.first, &frame.payload) {
                break;
            }
        }
        answer.records
    }
}

impl Positions {
    fn add(&mut self, position: Position, count: u64) {
        self.tail = position.first + count - 1;
        self.frames.push_back(position);
    }

    fn trim(&mut self, trimmed: u64) {
        self.trimmed = self.trimmed.max(trimmed);
        // A frame is dropped when the next one starts at or before the first retained record.
        while self.frames.get(1).map_or(self.tail + 1, |next| next.first) <= self.trimmed + 1 {
            if self.frames.pop_front().is_none() {
                break;
            }
        }
    }
}

/// Records gathered for a reader, up to its limit.
pub struct RecordCollector {
    next: u64,
    bytes: usize,
    bytes_max: usize,
    pub records: Vec<Record>,
}

impl RecordCollector {
    pub fn new(from: Seq, bytes_max: usize) -> RecordCollector {
        RecordCollector { next: from.0, bytes: 0, bytes_max, records: Vec::new() }
    }

    /// The number of the next record to gather.
    pub fn next(&self) -> Seq {
        Seq(self.next)
    }

    /// Adds the record if there is room; false if there is none.
    pub fn take(&mut self, bytes: Bytes) -> bool {
        self.bytes += bytes.len();
        if self.bytes > self.bytes_max && !self.records.is_empty() {
            return false;
        }
        self.records.push(Record { seq: Seq(self.next), bytes });
        self.next += 1;
        true
    }

    /// Adds the requested records of a verified inbox payload; false once there is no room.
    pub fn take_inbox(&mut self, first: u64, payload: &Bytes) -> bool {
        for (number, range) in (first..).zip(frame::inbox_records(payload)) {
            let range = range.expect("the payload is what was written");
            if number >= self.next && !self.take(payload.slice(range)) {
                return false;
            }
        }
        true
    }
}
