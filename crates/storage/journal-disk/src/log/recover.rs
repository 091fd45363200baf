//! Opens the log: which segments belong together, what they contain, and where to continue.

mod move_tail;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

use journal::OpenError;

use super::roll::mark_bytes_max;
use super::scan::{ReadableEnd, Scan, SegmentBytes, Unreadable};
use super::{Active, Log, SpareState};
use crate::disk::Disk;
use crate::format::segment_header::{PartitionMark, SegmentEnd, SegmentHeader};
use crate::format::superblock::{LoadedSuperblock, Superblock};
use crate::index::{Index, Stream};
use crate::limits::OPENING_SEGMENT_BYTES;
use crate::segment::{self, Spare, SpareJob};
use crate::settings::Settings;
use crate::space::Space;

pub fn open(disk: Arc<dyn Disk>, settings: &Settings) -> Result<Log, OpenError> {
    let superblock = match Superblock::load(&*disk)? {
        LoadedSuperblock::Superblock(superblock) => superblock,
        LoadedSuperblock::Nothing => create(&*disk, settings)?,
    };
    if superblock.partitions != settings.partitions {
        return Err(OpenError::Fixed {
            dir: disk.place(),
            setting: "the number of partitions",
            fixed: superblock.partitions.to_string(),
            asked: settings.partitions.to_string(),
        });
    }
    let opening = Opening {
        slots: usize::from(superblock.partitions) + 1,
        space: Arc::new(Space::new(settings.reserve_bytes)),
        disk,
        settings,
        superblock,
    };
    opening.run()
}

fn create(disk: &dyn Disk, settings: &Settings) -> Result<Superblock, OpenError> {
    let mut superblock = Superblock {
        sequence: 0,
        installation: disk.unique(),
        partitions: settings.partitions,
        segment: 0,
        durable_through: 0,
    };
    let created = disk.create_dir(segment::DIR).and_then(|()| superblock.store(disk));
    created.map_err(io_error(disk, "creating", ""))?;
    Ok(superblock)
}

struct Opening<'a> {
    disk: Arc<dyn Disk>,
    settings: &'a Settings,
    superblock: Superblock,
    slots: usize,
    space: Arc<Space>,
}

/// The result of the scan that the log continues from.
struct Recovered {
    index: Index,
    marks: Vec<PartitionMark>,
    segment_began: Vec<u64>,
    lsn: u64,
    chain: u32,
    active: Active,
    kept: Vec<(u32, u64)>,
    kept_from: Option<u32>,
}

impl Opening<'_> {
    fn run(mut self) -> Result<Log, OpenError> {
        let numbers = segment::list(&*self.disk).map_err(self.io("listing", segment::DIR))?;
        let next_segment = numbers.last().map_or(1, |last| last + 1);
        let headers = self.read_headers(&numbers)?;
        let chain = self.chain_of(&headers, &numbers)?;
        let recovered = match chain.as_slice() {
            [] => {
                // A segment whose superblock is not durable would look like a log without one.
                Superblock::secure(&*self.disk).map_err(self.io("syncing", "superblock"))?;
                self.begin(next_segment)?
            }
            chain => self.recover(chain, next_segment)?,
        };
        self.settle(&recovered, &numbers)?;
        let slots = self.slots;
        for (_, size) in &recovered.kept {
            self.space.add_used(*size);
        }
        Ok(Log {
            index: Arc::new(recovered.index),
            space: self.space,
            sync: self.settings.sync,
            segment_bytes: self.settings.segment_bytes,
            cache_bytes_max: self.settings.cache_bytes,
            superblock: self.superblock,
            marks: recovered.marks,
            segment_began: recovered.segment_began,
            lsn: recovered.lsn,
            chain: recovered.chain,
            marked: recovered.lsn,
            next_segment: next_segment.max(recovered.active.number + 1),
            active: recovered.active,
            segments: VecDeque::from(recovered.kept),
            spare: SpareState::None,
            may_remove: true,
            kept_from: recovered.kept_from,
            buffer: Vec::new(),
            frames: Vec::new(),
            cached: VecDeque::new(),
            cached_bytes: 0,
            inboxes: vec![Vec::new(); slots],
            failed: false,
            disk: self.disk,
        })
    }

    fn read_headers(&self, numbers: &[u32]) -> Result<BTreeMap<u32, SegmentHeader>, OpenError> {
        let mut headers = BTreeMap::new();
        for number in numbers {
            let path = segment::path(*number);
            let file = self.disk.open(&path).map_err(self.io("opening", &path))?;
            let length = file.size().map_err(self.io("measuring", &path))?;
            let mut bytes = vec![0; length.min(SegmentHeader::data_start(self.slots)) as usize];
            file.read_at(&mut bytes, 0).map_err(self.io("reading", &path))?;
            let header = SegmentHeader::decode(self.superblock.installation, *number, self.slots, &bytes);
            headers.extend(header.map(|header| (*number, header)));
        }
        Ok(headers)
    }

    /// The segments of the chain, oldest first. A segment that was started and never completed, or
    /// replaced during recovery, is not among them.
    fn chain_of(
        &self,
        headers: &BTreeMap<u32, SegmentHeader>,
        numbers: &[u32],
    ) -> Result<Vec<SegmentHeader>, OpenError> {
        let Some((newest, _)) = headers.last_key_value() else {
            return match self.superblock.segment {
                0 => Ok(Vec::new()),
                used => Err(self.damaged(used, "the file is missing or its header cannot be read")),
            };
        };
        if *newest < self.superblock.segment {
            let detail = "the file is missing or its header cannot be read";
            return Err(self.damaged(self.superblock.segment, detail));
        }
        let mut chain = VecDeque::new();
        let mut next = *newest;
        while let Some(header) = headers.get(&next) {
            next = header.previous.segment;
            chain.push_front(header.clone());
        }
        if numbers.contains(&next) {
            return Err(self.damaged(next, "its header cannot be read"));
        }
        Ok(chain.into())
    }

    /// The first segment of a new directory.
    fn begin(&self, number: u32) -> Result<Recovered, OpenError> {
        let marks = vec![PartitionMark::default(); self.slots];
        let spare = self.make_spare(number, 0)?;
        self.write_header(&spare, SegmentEnd::default(), marks.clone())?;
        let position = SegmentHeader::data_start(self.slots);
        Ok(Recovered {
            index: Index::new(self.slots),
            segment_began: vec![0; self.slots],
            marks,
            lsn: 0,
            chain: 0,
            kept: vec![(number, spare.size)],
            active: Active { number, size: spare.size, file: spare.file, position },
            kept_from: None,
        })
    }

    fn recover(&self, chain: &[SegmentHeader], next_segment: u32) -> Result<Recovered, OpenError> {
        let index = Index::new(self.slots);
        let [.., last] = chain else { unreachable!("the chain has a segment") };
        let mut scan =
            Scan::new(self.superblock.installation, &index, &chain[0], self.superblock.durable_through);
        let mut bytes = Vec::new();
        let mut tail = ReadableEnd { position: 0, is_clean: true };
        for (number, header) in chain.iter().enumerate() {
            if number > 0 {
                scan.enter(header).map_err(|error| self.unreadable(&error))?;
            }
            let sealed_at = chain.get(number + 1).map(|next| next.previous.offset);
            self.read_segment(header, sealed_at, &mut bytes)?;
            let segment = SegmentBytes { header, bytes: &bytes, sealed_at };
            tail = scan.read(&segment).map_err(|error| self.unreadable(&error))?;
        }
        if scan.durable > scan.lsn {
            let detail = format!("it ends before frame {}, which was durable", scan.durable);
            return Err(self.damaged(last.number, &detail));
        }
        scan.finish().map_err(|error| self.unreadable(&error))?;
        self.check_oldest(&chain[0], &scan)?;
        self.fill_index(&index, &scan);

        let mut kept: Vec<(u32, u64)> = chain.iter().map(|header| (header.number, header.size)).collect();
        let kept_from = scan.first_damage.as_ref().map(|(segment, _)| *segment);
        // The header of a segment became durable with its first frames, or before the superblock named it.
        let is_begun =
            tail.position > SegmentHeader::data_start(self.slots) || self.superblock.segment == last.number;
        let is_confirmed = scan.unconfirmed.is_empty();
        let goes_on = is_begun && tail.is_clean && is_confirmed && kept_from.is_none();
        let (active, segment_began) = if goes_on {
            let path = segment::path(last.number);
            let file = self.disk.open(&path).map_err(self.io("opening", &path))?;
            let began = last.marks.iter().map(|mark| mark.frame_number).collect();
            (Active { number: last.number, size: last.size, file, position: tail.position }, began)
        } else {
            let moved = self.move_tail(&index, &scan, last, &tail, &bytes, next_segment)?;
            if moved.replaces_last {
                kept.pop();
            }
            kept.push((moved.active.number, moved.active.size));
            scan.chain = moved.chain;
            (moved.active, moved.segment_began)
        };
        let (marks, lsn, chain) = (std::mem::take(&mut scan.marks), scan.lsn, scan.chain);
        Ok(Recovered { index, marks, segment_began, lsn, chain, active, kept, kept_from })
    }

    /// Everything before the oldest segment must have been trimmed.
    fn check_oldest(&self, oldest: &SegmentHeader, scan: &Scan) -> Result<(), OpenError> {
        let is_missed = |(began, now): (&PartitionMark, &PartitionMark)| {
            began.events_tail > now.events_trimmed || began.inbox_tail > now.inbox_trimmed
        };
        if oldest.previous.segment != 0 && oldest.marks.iter().zip(&scan.marks).any(is_missed) {
            return Err(self.damaged(oldest.previous.segment, "the file is missing"));
        }
        Ok(())
    }

    fn fill_index(&self, index: &Index, scan: &Scan) {
        for (slot, mark) in scan.marks.iter().enumerate() {
            let slot = slot as u16;
            index.set_bounds(slot, Stream::Events, mark.events_trimmed, mark.events_tail);
            index.set_bounds(slot, Stream::Inbox, mark.inbox_trimmed, mark.inbox_tail);
            index.publish_tail(slot);
        }
        for (slot, reason) in &scan.stopped {
            index.stop(*slot, reason.clone());
        }
    }

    fn read_segment(
        &self,
        header: &SegmentHeader,
        sealed_at: Option<u64>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), OpenError> {
        let path = segment::path(header.number);
        let file = self.disk.open(&path).map_err(self.io("opening", &path))?;
        let length = file.size().map_err(self.io("measuring", &path))?;
        if sealed_at.is_none() && length < header.size {
            let detail = format!("it has {length} of its {} bytes", header.size);
            return Err(self.damaged(header.number, &detail));
        }
        bytes.clear();
        bytes.resize(length.min(sealed_at.unwrap_or(header.size)) as usize, 0);
        file.read_at(bytes, 0).map_err(self.io("reading", &path))
    }

    /// Makes the recovered log durable, then removes files that are not part of it.
    fn settle(&mut self, recovered: &Recovered, numbers: &[u32]) -> Result<(), OpenError> {
        self.superblock.segment = recovered.active.number;
        self.superblock.durable_through = recovered.lsn;
        let settled = self.disk.sync_dir(segment::DIR).and_then(|()| Superblock::secure(&*self.disk));
        settled.map_err(self.io("syncing", segment::DIR))?;
        self.superblock.store(&*self.disk).map_err(self.io("syncing", "superblock"))?;
        if recovered.kept_from.is_some() {
            return Ok(());
        }
        for number in numbers {
            if !recovered.kept.iter().any(|(kept, _)| kept == number) {
                let path = segment::path(*number);
                segment::remove(&*self.disk, *number).map_err(self.io("removing", &path))?;
            }
        }
        Ok(())
    }

    fn unreadable(&self, error: &Unreadable) -> OpenError {
        self.damaged(error.segment, &error.detail)
    }

    fn damaged(&self, segment: u32, detail: &str) -> OpenError {
        let file = format!("{}/{}", self.disk.place(), segment::path(segment));
        OpenError::Damaged { file, detail: detail.to_owned() }
    }

    fn io(&self, doing: &'static str, path: &str) -> impl FnOnce(io::Error) -> OpenError {
        io_error(&*self.disk, doing, path)
    }
}

/// Creates new segments.
impl Opening<'_> {
    /// A new segment for at least `bytes` of frames; on a full disk the reserve is used.
    fn make_spare(&self, number: u32, bytes: u64) -> Result<Spare, OpenError> {
        let needed = SegmentHeader::data_start(self.slots) + bytes + mark_bytes_max(self.slots);
        let size = self.settings.segment_bytes.min(OPENING_SEGMENT_BYTES).max(needed);
        let path = segment::path(number);
        let make = |size| SpareJob { number, size }.run(&*self.disk);
        let made = match make(size) {
            Err(error) if segment::is_full(&error) => {
                self.space.set_full();
                let released = self.space.release_reserve(&*self.disk);
                released.map_err(self.io("releasing", "reserve"))?;
                make(size).or_else(|_| make(needed))
            }
            made => made,
        };
        made.map_err(self.io("preparing", &path))
    }

    /// Makes the segment part of the log.
    fn write_header(
        &self,
        spare: &Spare,
        previous: SegmentEnd,
        marks: Vec<PartitionMark>,
    ) -> Result<(), OpenError> {
        let header = SegmentHeader { number: spare.number, size: spare.size, previous, marks };
        let mut bytes = Vec::new();
        header.encode(self.superblock.installation, &mut bytes);
        self.write_synced(spare, &bytes, 0)
    }

    fn write_synced(&self, spare: &Spare, bytes: &[u8], at: u64) -> Result<(), OpenError> {
        let written = spare.file.write_at(bytes, at).and_then(|()| spare.file.sync_data());
        written.map_err(self.io("writing", &segment::path(spare.number)))
    }
}

fn io_error(disk: &dyn Disk, doing: &'static str, path: &str) -> impl FnOnce(io::Error) -> OpenError {
    let path = format!("{}/{path}", disk.place());
    move |source| OpenError::Io { doing, path, source }
}
