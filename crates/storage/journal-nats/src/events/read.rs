//! Reading frames: all that were asked for, or an error.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use journal::{ReadError, Record};
use types::Seq;

use super::Events;
use crate::fetch::{self, Lost, Range, fetch};
use crate::frame::{Kind, Message, Position};
use crate::limits::PLACES_MAX;
use crate::wire::{Bounds, Wire};

/// Where a frame is in the stream.
pub(super) enum Located {
    /// Directly after this message, or after claims that follow it.
    After(Position),
    /// At this sequence, the first of the stream: the message before it was trimmed.
    First(u64),
    /// Past the end: the frame does not exist yet.
    NotYet,
}

impl Events {
    pub(crate) async fn read<W: Wire>(
        &self,
        wire: &W,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        let from = from.max(Seq(1));
        let allowed = self.lock().allowed;
        if from < allowed {
            return Err(self.trimmed(from, allowed));
        }
        match self.read_from(wire, from, bytes_max).await {
            // The remembered positions may be of a stream that a forced promotion has replaced.
            Err(ReadError::Damaged { .. }) if self.forget_places() => {
                self.read_from(wire, from, bytes_max).await
            }
            // Only claims were deleted between a remembered position and the frame.
            Err(ReadError::Trimmed { first, .. }) if first <= from && self.forget_places() => {
                self.read_from(wire, from, bytes_max).await
            }
            answer => answer,
        }
    }

    async fn read_from<W: Wire>(
        &self,
        wire: &W,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        let (last, next) = match self.locate(wire, from).await? {
            Located::NotYet => return Ok(Vec::new()),
            Located::After(position) => (Some(position), position.sequence() + 1),
            // There is no previous message against which the first one could be checked.
            Located::First(sequence) => (None, sequence),
        };
        if next > self.known.load(Ordering::Relaxed) {
            self.learn(fetch::bounds(wire, &self.stream).await.last);
        }
        self.read_on(wire, from, last, next, bytes_max).await
    }

    /// The checksum of a frame's message, which identifies its history; 0 before the first frame.
    pub(crate) async fn mark<W: Wire>(&self, wire: &W, frame: Seq) -> Result<u32, ReadError> {
        if frame == Seq::ZERO {
            return Ok(0);
        }
        let absent = || ReadError::Damaged {
            partition: self.partition,
            detail: format!("frame {frame} is not in stream {}", self.stream),
        };
        let mut sequence = match self.locate(wire, frame).await? {
            Located::NotYet => return Err(absent()),
            Located::After(position) => position.sequence() + 1,
            Located::First(sequence) => sequence,
        };
        loop {
            let (message, position) = match self.head(wire, sequence).await {
                Ok(found) => found,
                Err(lost) => return Err(self.read_error(wire, frame, lost).await),
            };
            match message.kind {
                Kind::Frame(_) if message.number == frame => return Ok(position.checksum),
                // There may be claims between frames.
                Kind::Claim if message.number < frame => sequence += 1,
                Kind::Frame(_) | Kind::Claim => return Err(absent()),
            }
        }
    }

    /// Whether the frame with this mark is in the history of the events.
    pub(crate) async fn has<W: Wire>(&self, wire: &W, frame: Seq, mark: u32) -> Result<bool, ReadError> {
        if frame == Seq::ZERO {
            return Ok(true);
        }
        let found = match self.locate(wire, frame).await {
            Ok(Located::NotYet) => return Ok(false),
            Ok(Located::After(_) | Located::First(_)) => self.mark(wire, frame).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(found) => Ok(found == mark),
            // Events are trimmed up to a snapshot of their own history: a snapshot that ends earlier cannot be used.
            Err(ReadError::Trimmed { first, .. }) => Ok(frame.next() >= first),
            Err(error) => Err(error),
        }
    }

    /// The frames from the message at `next` on, which follows `last`.
    async fn read_on<W: Wire>(
        &self,
        wire: &W,
        from: Seq,
        mut last: Option<Position>,
        next: u64,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        let through = self.known.load(Ordering::Relaxed);
        let mut range = Range::new(wire, &self.stream, through, bytes_max);
        let mut records = Vec::new();
        let mut bytes = 0;
        for sequence in next..=through {
            let check = |bytes: &Bytes| self.check_follows(bytes, sequence, last.as_ref());
            let (message, position) = match range.message(sequence, check).await {
                Ok(found) => found,
                Err(lost) => return Err(self.read_error(wire, from, lost).await),
            };
            if let Kind::Frame(frame) = message.kind {
                bytes += frame.len();
                if bytes > bytes_max && !records.is_empty() {
                    break;
                }
                records.push(Record { seq: message.number, bytes: frame });
            }
            last = Some(position);
            if bytes >= bytes_max && !records.is_empty() {
                break;
            }
        }
        if let Some(position) = last {
            self.remember(position);
        }
        Ok(records)
    }

    fn check_follows(
        &self,
        bytes: &Bytes,
        sequence: u64,
        last: Option<&Position>,
    ) -> Result<(Message, Position), String> {
        let (message, checksum) = self.check(bytes, sequence)?;
        if last.is_some_and(|last| !message.follows(last)) {
            return Err("it does not follow the message before it".to_owned());
        }
        let position = message.position(checksum);
        Ok((message, position))
    }

    /// Finds a frame: where an earlier read ended, or by binary search, because numbers rise.
    pub(super) async fn locate<W: Wire>(&self, wire: &W, frame: Seq) -> Result<Located, ReadError> {
        if let Some(place) = self.lock().places.get(&frame) {
            return Ok(Located::After(*place));
        }
        let bounds = fetch::bounds(wire, &self.stream).await;
        self.learn(bounds.last);
        if bounds.last == 0 {
            return Ok(Located::NotYet);
        }
        let lost = async |lost| self.read_error(wire, frame, lost).await;
        let last = self.head(wire, bounds.last).await;
        let Ok((last, _)) = last else { return Err(lost(last.expect_err("it is an error")).await) };
        if last.number < frame {
            return Ok(Located::NotYet);
        }
        let first = self.head(wire, bounds.first).await;
        let Ok((first, _)) = first else { return Err(lost(first.expect_err("it is an error")).await) };
        let first_frame = first_frame(&first);
        if frame < first_frame {
            return Err(self.trimmed(frame, first_frame));
        }
        // The sequence is the number plus the epoch, which is between those of the first and the last message.
        let mut low = bounds.first.max(frame.0 + first.epoch.0);
        let mut high = bounds.last.min(frame.0 + last.epoch.0);
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.head(wire, middle).await;
            let Ok((found, _)) = found else { return Err(lost(found.expect_err("it is an error")).await) };
            if found.number >= frame { high = middle } else { low = middle + 1 }
        }
        if low == 1 {
            return Ok(Located::After(Position::START));
        }
        if low == bounds.first {
            return Ok(Located::First(low));
        }
        match self.head(wire, low - 1).await {
            Ok((_, position)) => Ok(Located::After(position)),
            Err(error) => Err(lost(error).await),
        }
    }

    async fn head<W: Wire>(&self, wire: &W, sequence: u64) -> Result<(Message, Position), Lost> {
        fetch(wire, &self.stream, sequence, |bytes| self.check_follows(bytes, sequence, None)).await
    }

    async fn read_error<W: Wire>(&self, wire: &W, from: Seq, lost: Lost) -> ReadError {
        match lost {
            Lost::Damaged(detail) => ReadError::Damaged { partition: self.partition, detail },
            Lost::Trimmed(bounds) => match self.first_of(wire, bounds).await {
                Ok(first) => self.trimmed(from, first),
                Err(detail) => ReadError::Damaged { partition: self.partition, detail },
            },
        }
    }

    /// The first frame of a stream that may be trimmed at the same time.
    async fn first_of<W: Wire>(&self, wire: &W, mut bounds: Bounds) -> Result<Seq, String> {
        loop {
            match self.head(wire, bounds.first).await {
                Ok((first, _)) => return Ok(first_frame(&first)),
                Err(Lost::Trimmed(newer)) if newer.first <= newer.last => bounds = newer,
                Err(Lost::Trimmed(_)) => return Err(format!("stream {} was emptied", self.stream)),
                Err(Lost::Damaged(detail)) => return Err(detail),
            }
        }
    }

    fn trimmed(&self, from: Seq, first: Seq) -> ReadError {
        ReadError::Trimmed { partition: self.partition, from, first }
    }

    /// Forgets where reads have ended. Returns whether there was anything to forget.
    fn forget_places(&self) -> bool {
        let places = std::mem::take(&mut self.lock().places);
        !places.is_empty()
    }

    fn remember(&self, position: Position) {
        let mut state = self.lock();
        state.places.insert(position.number.next(), position);
        if state.places.len() > PLACES_MAX {
            // Readers move forward, so the lowest position is the least likely to be needed.
            state.places.pop_first();
        }
    }
}

fn first_frame(first: &Message) -> Seq {
    match first.kind {
        Kind::Claim => first.number.next(),
        Kind::Frame(_) => first.number,
    }
}
