//! Reads the log back: follows the chain of frames, and where it breaks distinguishes a torn tail from damage.

use std::collections::{BTreeMap, VecDeque};

use crate::format::frame::{self, FrameHeader, FrameKind, HEADER_BYTES};
use crate::format::segment_header::{PartitionMark, SegmentHeader};
use crate::index::{Index, Position, Stream};
use crate::limits::{FRAME_ALIGN, PAGE_BYTES};

/// The state of the scan.
pub struct Scan<'a> {
    installation: u128,
    index: &'a Index,
    pub marks: Vec<PartitionMark>,
    pub lsn: u64,
    pub chain: u32,
    /// False after damage, until the next readable frame.
    chain_known: bool,
    /// The highest number that is recorded as synced.
    pub durable: u64,
    /// Frames that were durable and cannot be read at all.
    lost: u64,
    /// Those of them that are known to belong to a stopped partition.
    attributed: u64,
    pub stopped: BTreeMap<u16, String>,
    /// Frames of which only the payload is damaged: slot, stream, last record, position.
    harmed: Vec<(u16, Stream, u64, String)>,
    pub first_damage: Option<(u32, String)>,
    /// The frames of the current segment that are not known to be durable.
    pub unconfirmed: VecDeque<Unconfirmed>,
}

/// A frame that is whole but may not be durable yet, and the state before it.
pub struct Unconfirmed {
    pub at: usize,
    pub header: FrameHeader,
    pub mark_before: PartitionMark,
    pub chain_before: u32,
}

/// Where the readable part of the last segment ends.
pub struct ReadableEnd {
    pub position: u64,
    /// Only zeros, or a mark and zeros, follow.
    pub is_clean: bool,
}

/// Why the log cannot be opened: the file and the problem.
pub struct Unreadable {
    pub segment: u32,
    pub detail: String,
}

/// The available bytes of one segment.
pub struct SegmentBytes<'a> {
    pub header: &'a SegmentHeader,
    pub bytes: &'a [u8],
    /// Where this segment ends according to the next one; none for the last.
    pub sealed_at: Option<u64>,
}

enum ScanStep {
    Next(usize),
    End(ReadableEnd),
}

impl<'a> Scan<'a> {
    /// Starts with the oldest segment.
    pub fn new(installation: u128, index: &'a Index, oldest: &SegmentHeader, durable: u64) -> Scan<'a> {
        Scan {
            installation,
            index,
            marks: oldest.marks.clone(),
            lsn: oldest.previous.lsn,
            chain: oldest.previous.chain,
            chain_known: true,
            durable: durable.max(oldest.previous.lsn),
            lost: 0,
            attributed: 0,
            stopped: BTreeMap::new(),
            harmed: Vec::new(),
            first_damage: None,
            unconfirmed: VecDeque::new(),
        }
    }

    /// Enters the next segment: its header records the position of every partition.
    pub fn enter(&mut self, header: &SegmentHeader) -> Result<(), Unreadable> {
        let unreadable = |detail: &str| Unreadable { segment: header.number, detail: detail.to_owned() };
        if header.previous.lsn < self.lsn {
            return Err(unreadable("the previous segment extends past the start of this one"));
        }
        self.lose_through(header.previous.lsn);
        if self.chain_known && self.chain != header.previous.chain {
            return Err(unreadable("the chain of frames does not lead here"));
        }
        self.durable = self.durable.max(header.previous.lsn);
        self.unconfirmed.clear();
        for (slot, mark) in header.marks.iter().enumerate() {
            self.progress_to(slot as u16, mark.frame_number)
                .map_err(|()| unreadable("a partition is past its position in this header"))?;
            if !self.stopped.contains_key(&(slot as u16)) && self.marks[slot] != *mark {
                return Err(unreadable("the position of a partition differs from this header"));
            }
        }
        self.marks.clone_from(&header.marks);
        self.chain = header.previous.chain;
        self.chain_known = true;
        Ok(())
    }

    /// Reads all frames of a segment; the tail matters for the last one only.
    pub fn read(&mut self, segment: &SegmentBytes) -> Result<ReadableEnd, Unreadable> {
        let end = segment.sealed_at.map_or(segment.bytes.len(), |end| end as usize);
        let mut at = SegmentHeader::data_start(self.marks.len()) as usize;
        while at < end {
            match self.step(segment, at)? {
                ScanStep::Next(next) => at = next,
                ScanStep::End(tail) => return Ok(tail),
            }
        }
        Ok(ReadableEnd { position: at as u64, is_clean: true })
    }

    /// Checks the invariants once everything is read.
    pub fn finish(&mut self) -> Result<(), Unreadable> {
        for (slot, stream, last, place) in std::mem::take(&mut self.harmed) {
            let mark = &self.marks[usize::from(slot)];
            let trimmed = match stream {
                Stream::Events => mark.events_trimmed,
                Stream::Inbox => mark.inbox_trimmed,
            };
            if last > trimmed {
                self.stopped.entry(slot).or_insert(place);
            }
        }
        let (segment, detail) = match &self.first_damage {
            Some((segment, place)) => (*segment, place.clone()),
            None => (0, "frames are missing".to_owned()),
        };
        if self.lost != self.attributed {
            let unknown = self.lost - self.attributed;
            return Err(Unreadable {
                segment,
                detail: format!("{detail}: {unknown} frames are lost, and their partitions are unknown"),
            });
        }
        Ok(())
    }

    fn step(&mut self, segment: &SegmentBytes, at: usize) -> Result<ScanStep, Unreadable> {
        let number = segment.header.number;
        let Some((header, sum)) = self.header_at(segment, at) else {
            return self.broken(segment, at);
        };
        let follows = !self.chain_known || header.previous == self.chain;
        if header.kind == FrameKind::Mark {
            let Some(payload) = header.payload(&segment.bytes[at..]) else {
                return self.broken(segment, at);
            };
            if header.lsn < self.lsn || !follows {
                return self.broken(segment, at);
            }
            self.lose_through(header.lsn);
            self.confirm(header.durable_through);
            for (slot, frame_number) in frame::progress(payload) {
                self.progress_to(slot, frame_number).map_err(|()| contradicts(number, at))?;
            }
            let rest = (at + header.frame_bytes()).next_multiple_of(PAGE_BYTES);
            let is_clean = self.first_damage.is_none() && is_zero(segment.bytes, rest);
            return Ok(ScanStep::End(ReadableEnd { position: at as u64, is_clean }));
        }
        let in_order = if self.chain_known { header.lsn == self.lsn + 1 } else { header.lsn > self.lsn };
        if !in_order || !follows {
            return self.broken(segment, at);
        }
        if usize::from(header.slot) >= self.marks.len() {
            return Err(contradicts(number, at));
        }
        let payload = header.payload(&segment.bytes[at..]);
        if payload.is_none() && !self.is_damage(segment, at, header.lsn) {
            return Ok(ScanStep::End(ReadableEnd { position: at as u64, is_clean: false }));
        }
        self.accept(number, at, &header, sum, payload)?;
        let next = at + header.frame_bytes();
        Ok(ScanStep::Next(if header.last_of_group { next.next_multiple_of(PAGE_BYTES) } else { next }))
    }

    /// The next frame is not at `at`: the tail, or damage.
    fn broken(&mut self, segment: &SegmentBytes, at: usize) -> Result<ScanStep, Unreadable> {
        if !self.is_damage(segment, at, self.lsn + 1) {
            let is_clean = self.first_damage.is_none() && is_zero(segment.bytes, at);
            return Ok(ScanStep::End(ReadableEnd { position: at as u64, is_clean }));
        }
        self.note_damage(segment.header.number, at);
        self.chain_known = false;
        let mut candidates = (at + FRAME_ALIGN..segment.bytes.len()).step_by(FRAME_ALIGN);
        let next = candidates.find(|candidate| {
            self.header_at(segment, *candidate).is_some_and(|(header, _)| match header.kind {
                FrameKind::Mark => {
                    header.lsn >= self.lsn && header.payload(&segment.bytes[*candidate..]).is_some()
                }
                _ => header.lsn > self.lsn,
            })
        });
        match (next, segment.sealed_at) {
            (Some(next), _) => Ok(ScanStep::Next(next)),
            // The header of the next segment records what was lost.
            (None, Some(end)) => Ok(ScanStep::Next(end as usize)),
            (None, None) => {
                self.lose_through(self.durable);
                Ok(ScanStep::End(ReadableEnd { position: at as u64, is_clean: false }))
            }
        }
    }

    /// Whether the frame `lsn`, unreadable at `at`, had been durable.
    fn is_damage(&mut self, segment: &SegmentBytes, at: usize, lsn: u64) -> bool {
        if segment.sealed_at.is_some() || lsn <= self.durable {
            return true;
        }
        if is_zero(segment.bytes, at) {
            return false;
        }
        // A later frame's record of durability is valid even if that frame itself will not be kept.
        for later in (at + FRAME_ALIGN..segment.bytes.len()).step_by(FRAME_ALIGN) {
            if let Some((header, _)) = self.header_at(segment, later) {
                self.durable = self.durable.max(header.durable_through);
            }
        }
        lsn <= self.durable
    }

    fn header_at(&self, segment: &SegmentBytes, at: usize) -> Option<(FrameHeader, u32)> {
        let end = segment.sealed_at.map_or(segment.bytes.len(), |end| end as usize).min(segment.bytes.len());
        FrameHeader::decode(self.installation, segment.header.number, segment.bytes.get(at..end)?)
    }

    fn accept(
        &mut self,
        segment: u32,
        at: usize,
        header: &FrameHeader,
        sum: u32,
        payload: Option<&[u8]>,
    ) -> Result<(), Unreadable> {
        self.lose_through(header.lsn - 1);
        self.progress_to(header.slot, header.frame_number - 1).map_err(|()| contradicts(segment, at))?;
        let mark_before = self.marks[usize::from(header.slot)];
        let unconfirmed = Unconfirmed { at, header: *header, mark_before, chain_before: self.chain };
        self.unconfirmed.push_back(unconfirmed);
        if payload.is_none() {
            self.note_damage(segment, at);
        }
        self.apply(segment, at, header, payload)?;
        self.lsn = header.lsn;
        self.chain = sum;
        self.chain_known = true;
        self.confirm(header.durable_through.max(self.durable));
        Ok(())
    }

    fn apply(
        &mut self,
        segment: u32,
        at: usize,
        header: &FrameHeader,
        payload: Option<&[u8]>,
    ) -> Result<(), Unreadable> {
        let slot = header.slot;
        let is_stopped = self.stopped.contains_key(&slot);
        let mark = &mut self.marks[usize::from(slot)];
        mark.frame_number = header.frame_number;
        mark.epoch = header.epoch;
        let (stream, tail) = match header.kind {
            FrameKind::Events => (Stream::Events, &mut mark.events_tail),
            FrameKind::Inbox => (Stream::Inbox, &mut mark.inbox_tail),
            FrameKind::Trim => {
                match payload.and_then(|payload| payload.split_first_chunk::<8>()) {
                    Some((events, inbox)) if inbox.len() == 8 => {
                        mark.events_trimmed = u64::from_le_bytes(*events);
                        mark.inbox_trimmed = frame_u64(inbox);
                    }
                    _ => {
                        self.stopped.entry(slot).or_insert_with(|| place(segment, at));
                    }
                }
                return Ok(());
            }
            FrameKind::Claim | FrameKind::Mark => return Ok(()),
        };
        if header.first_seq != *tail + 1 && !is_stopped {
            return Err(contradicts(segment, at));
        }
        *tail = header.first_seq + u64::from(header.count) - 1;
        let last = *tail;
        if payload.is_none() {
            self.harmed.push((slot, stream, last, place(segment, at)));
        }
        let position = Position::new(header.first_seq, segment, at as u64);
        self.index.add(slot, stream, position, u64::from(header.count));
        Ok(())
    }

    /// Frames up to `lsn` are lost.
    fn lose_through(&mut self, lsn: u64) {
        if lsn > self.lsn {
            self.lost += lsn - self.lsn;
            self.lsn = lsn;
            self.chain_known = false;
        }
    }

    /// A partition is known to be at `frame_number`: its frames that were not read are lost.
    fn progress_to(&mut self, slot: u16, frame_number: u64) -> Result<(), ()> {
        let mark = self.marks.get_mut(usize::from(slot)).ok_or(())?;
        let missing = frame_number.checked_sub(mark.frame_number).ok_or(())?;
        if missing > 0 {
            mark.frame_number = frame_number;
            self.attributed += missing;
            let place = self.first_damage.as_ref().map_or("frames are missing", |(_, place)| place);
            self.stopped.entry(slot).or_insert_with(|| place.to_owned());
        }
        Ok(())
    }

    fn confirm(&mut self, durable: u64) {
        self.durable = self.durable.max(durable);
        while self.unconfirmed.front().is_some_and(|frame| frame.header.lsn <= self.durable) {
            self.unconfirmed.pop_front();
        }
    }

    fn note_damage(&mut self, segment: u32, at: usize) {
        let place = place(segment, at);
        tracing::error!(place, "damage in the log");
        self.first_damage.get_or_insert((segment, place));
    }
}

fn frame_u64(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn place(segment: u32, at: usize) -> String {
    format!("{} at {at}", crate::segment::path(segment))
}

fn contradicts(segment: u32, at: usize) -> Unreadable {
    Unreadable { segment, detail: format!("the frame at {at} contradicts those before it") }
}

fn is_zero(bytes: &[u8], from: usize) -> bool {
    const ZEROS: &[u8] = &[0; PAGE_BYTES];
    let rest = bytes.get(from..).unwrap_or_default();
    rest.chunks(PAGE_BYTES).all(|page| page == &ZEROS[..page.len()])
}

/// The bytes of a frame that was read before, header and payload.
pub fn payload_of<'a>(bytes: &'a [u8], frame: &Unconfirmed) -> &'a [u8] {
    let start = frame.at + HEADER_BYTES;
    &bytes[start..start + frame.header.payload_bytes as usize]
}
