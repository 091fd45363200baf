//! Reads records, from memory or from the segments, and verifies each frame before returning it.

use std::io;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use journal::{ReadError, Record};
use types::Seq;

use crate::disk::{Disk, DiskFile};
use crate::format::frame::{self, FrameHeader, FrameKind, HEADER_BYTES};
use crate::index::{Index, Lookup, Position, RecordCollector, Stream};
use crate::limits::{READ_AHEAD_BYTES, READ_FILES_MAX};
use crate::log::Log;
use crate::segment;

/// Reads the durable records of a log.
pub struct LogReader {
    disk: Arc<dyn Disk>,
    index: Arc<Index>,
    installation: u128,
    /// The most recently used files, the newest at the end; locked to look up or to add one.
    files: Mutex<Vec<(u32, Arc<dyn DiskFile>)>>,
}

enum ReadFault {
    /// The bytes are not the ones that were written.
    Damage(String),
    /// They could not be read this time.
    Io(io::Error),
}

impl LogReader {
    pub fn new(log: &Log) -> LogReader {
        LogReader {
            disk: Arc::clone(log.disk()),
            index: Arc::clone(log.index()),
            installation: log.installation(),
            files: Mutex::new(Vec::new()),
        }
    }

    /// Records from `from` on, up to `bytes_max` and at least one, or none past the tail.
    pub fn read(
        &self,
        slot: u16,
        stream: Stream,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        match self.look_up(slot, stream, from, bytes_max)? {
            Lookup::Records(records) => Ok(records),
            Lookup::Frames(frames) => self.read_frames(slot, stream, from, bytes_max, frames),
        }
    }

    /// The answer if it needs no disk access, or the frames to read.
    pub fn look_up(
        &self,
        slot: u16,
        stream: Stream,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Lookup, ReadError> {
        self.index.look_up(slot, stream, from.max(Seq(1)), bytes_max)
    }

    /// Reads from the frames that a look-up has found, and from the frames after them.
    pub fn read_frames(
        &self,
        slot: u16,
        stream: Stream,
        from: Seq,
        bytes_max: usize,
        mut frames: Vec<Position>,
    ) -> Result<Vec<Record>, ReadError> {
        let mut answer = RecordCollector::new(from.max(Seq(1)), bytes_max);
        loop {
            for position in frames {
                let payload = match self.read_frame(slot, stream, position) {
                    Ok(payload) => payload,
                    Err(fault) => return self.fail(slot, stream, from, fault),
                };
                let has_room = match stream {
                    Stream::Events => answer.take(payload),
                    Stream::Inbox => answer.take_inbox(position.first, &payload),
                };
                if !has_room {
                    return Ok(answer.records);
                }
            }
            frames = match self.index.look_up(slot, stream, answer.next(), 0) {
                Ok(Lookup::Frames(frames)) => frames,
                // The rest is in memory or does not exist: the next read gets it.
                Ok(Lookup::Records(_)) | Err(_) => return Ok(answer.records),
            };
        }
    }

    /// A frame that cannot be read was trimmed meanwhile, or the disk has failed.
    fn fail(&self, slot: u16, stream: Stream, from: Seq, fault: ReadFault) -> Result<Vec<Record>, ReadError> {
        self.index.look_up(slot, stream, from.max(Seq(1)), 0)?;
        let detail = match fault {
            ReadFault::Damage(detail) => {
                self.index.stop(slot, detail.clone());
                detail
            }
            ReadFault::Io(error) => error.to_string(),
        };
        Err(ReadError::Damaged { partition: self.index.partition(slot), detail })
    }

    fn read_frame(&self, slot: u16, stream: Stream, position: Position) -> Result<Bytes, ReadFault> {
        let file = self.file(position.segment).map_err(ReadFault::Io)?;
        let damage =
            || ReadFault::Damage(format!("{} at {}", segment::path(position.segment), position.offset()));
        let length = file.size().map_err(ReadFault::Io)?;
        let there = length.saturating_sub(position.offset());
        let mut bytes = vec![0; there.min(READ_AHEAD_BYTES as u64) as usize];
        file.read_at(&mut bytes, position.offset()).map_err(ReadFault::Io)?;
        let (header, _) =
            FrameHeader::decode(self.installation, position.segment, &bytes).ok_or_else(damage)?;
        let kind = match stream {
            Stream::Events => FrameKind::Events,
            Stream::Inbox => FrameKind::Inbox,
        };
        if (header.kind, header.slot, header.first_seq) != (kind, slot, position.first) {
            return Err(damage());
        }
        let end = HEADER_BYTES + header.payload_bytes as usize;
        if end as u64 > there {
            return Err(damage());
        }
        let read = bytes.len().min(end);
        bytes.resize(end, 0);
        file.read_at(&mut bytes[read..], position.offset() + read as u64).map_err(ReadFault::Io)?;
        if header.payload(&bytes).is_none() {
            return Err(damage());
        }
        let payload = Bytes::from(bytes).slice(HEADER_BYTES..);
        if stream == Stream::Inbox && frame::inbox_records(&payload).any(|record| record.is_none()) {
            return Err(damage());
        }
        Ok(payload)
    }

    fn file(&self, number: u32) -> io::Result<Arc<dyn DiskFile>> {
        let mut files = self.files.lock().expect("no holder of the lock panics");
        if let Some(at) = files.iter().position(|(known, _)| *known == number) {
            let known = files.remove(at);
            files.push(known);
        } else {
            let file = self.disk.open(&segment::path(number))?;
            if files.len() == READ_FILES_MAX {
                files.remove(0);
            }
            files.push((number, file));
        }
        let (_, file) = files.last().expect("it was just pushed");
        Ok(Arc::clone(file))
    }
}
