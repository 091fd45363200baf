//! Forms a group: which requests may append, their sequence numbers, and the bytes.

use journal::{AppendError, Claim};
use types::{Epoch, Seq};

use super::{FormedFrame, Log, LogCompletion, LogOperation, LogRequest, LogResult};
use crate::format::frame::{FrameHeader, FrameKind, HEADER_BYTES};
use crate::format::segment_header::PartitionMark;
use crate::limits::{FRAME_ALIGN, GROUP_BYTES_MAX, PAGE_BYTES};

/// Which requests there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    All,
    /// No new work, so that running work can finish.
    AllButInbox,
    Nothing,
}

impl Admission {
    fn admits(self, ask: &LogOperation) -> bool {
        match self {
            Admission::All => true,
            Admission::AllButInbox => !matches!(ask, LogOperation::Inbox { .. }),
            Admission::Nothing => false,
        }
    }
}

/// How many of the waiting requests form the next group.
pub fn group_length(requests: &[LogRequest]) -> usize {
    let mut bytes = 0;
    let whole = requests.iter().position(|request| {
        let is_full = bytes > GROUP_BYTES_MAX;
        bytes += bytes_of_one(&request.ask);
        is_full
    });
    whole.unwrap_or(requests.len())
}

/// The most bytes that a group of the admitted requests can take.
pub fn bytes_of(requests: &[LogRequest], admission: Admission) -> u64 {
    let admitted = requests.iter().filter(|request| admission.admits(&request.ask));
    let bytes: usize = admitted.map(|request| bytes_of_one(&request.ask)).sum();
    bytes.next_multiple_of(PAGE_BYTES) as u64
}

fn bytes_of_one(ask: &LogOperation) -> usize {
    let payload = match ask {
        LogOperation::Claim => 0,
        LogOperation::Append { frame, .. } => frame.len(),
        LogOperation::Inbox { records } => records.iter().map(|record| 4 + record.len()).sum(),
        LogOperation::Trim { .. } => 16,
    };
    HEADER_BYTES + payload + FRAME_ALIGN
}

impl Log {
    /// Answers each request and writes the frames of the granted ones to the buffer.
    pub(super) fn form_group(
        &mut self,
        requests: &[LogRequest],
        admission: Admission,
        answers: &mut Vec<LogResult>,
    ) {
        let mut inbox_slots = Vec::new();
        let mut trimmed_slots = Vec::new();
        for (number, request) in requests.iter().enumerate() {
            let before = self.marks[usize::from(request.slot)];
            let answer = self.grant(request, admission);
            let after = self.marks[usize::from(request.slot)];
            if after.inbox_tail != before.inbox_tail {
                let waiting = &mut self.inboxes[usize::from(request.slot)];
                if waiting.is_empty() {
                    inbox_slots.push(request.slot);
                }
                waiting.push(number as u32);
            }
            let trims = |mark: &PartitionMark| (mark.events_trimmed, mark.inbox_trimmed);
            if trims(&after) != trims(&before) && !trimmed_slots.contains(&request.slot) {
                trimmed_slots.push(request.slot);
            }
            answers.push(answer);
        }
        for slot in inbox_slots {
            self.form_inbox(slot, requests);
        }
        // After the records that they trim: if only a prefix of a group survives, it must not have trimmed the rest.
        for slot in trimmed_slots {
            self.form_trim(slot);
        }
        self.seal_group();
    }

    fn grant(&mut self, request: &LogRequest, admission: Admission) -> LogResult {
        let slot = request.slot;
        let partition = self.index.partition(slot);
        if let Some(detail) = self.index.stopped(slot) {
            return Err(AppendError::Damaged { partition, detail });
        }
        if !admission.admits(&request.ask) {
            return Err(AppendError::Full);
        }
        let mark = &mut self.marks[usize::from(slot)];
        match &request.ask {
            LogOperation::Claim => {
                mark.epoch += 1;
                let claim = Claim { epoch: Epoch(mark.epoch), events_tail: Seq(mark.events_tail) };
                self.form(slot, FrameKind::Claim, 0, 0, |_| {});
                Ok(LogCompletion::Claimed(claim))
            }
            LogOperation::Append { epoch, expected_tail, frame } => {
                if epoch.0 != mark.epoch || epoch.0 == 0 {
                    return Err(AppendError::Fenced { partition });
                }
                if expected_tail.0 != mark.events_tail {
                    return Err(AppendError::Conflict { partition, tail: Seq(mark.events_tail) });
                }
                mark.events_tail += 1;
                let seq = mark.events_tail;
                self.form(slot, FrameKind::Events, seq, 1, |buffer| buffer.extend_from_slice(frame));
                Ok(LogCompletion::Appended(Seq(seq)))
            }
            LogOperation::Inbox { records } => {
                mark.inbox_tail += records.len() as u64;
                Ok(LogCompletion::Appended(Seq(mark.inbox_tail)))
            }
            LogOperation::Trim { events, inbox } => {
                let trimmed =
                    |first: Seq, trimmed: u64, tail: u64| first.0.saturating_sub(1).min(tail).max(trimmed);
                let before = *mark;
                mark.events_trimmed = trimmed(*events, before.events_trimmed, before.events_tail);
                mark.inbox_trimmed = trimmed(*inbox, before.inbox_trimmed, before.inbox_tail);
                Ok(LogCompletion::Trimmed)
            }
        }
    }

    fn form_trim(&mut self, slot: u16) {
        let mark = self.marks[usize::from(slot)];
        self.form(slot, FrameKind::Trim, 0, 0, |buffer| {
            buffer.extend_from_slice(&mark.events_trimmed.to_le_bytes());
            buffer.extend_from_slice(&mark.inbox_trimmed.to_le_bytes());
        });
    }

    /// One frame for all records to the inbox of one partition.
    fn form_inbox(&mut self, slot: u16, requests: &[LogRequest]) {
        let mut waiting = std::mem::take(&mut self.inboxes[usize::from(slot)]);
        let batches = waiting.iter().map(|number| match &requests[*number as usize].ask {
            LogOperation::Inbox { records } => records,
            other => unreachable!("{other:?} waits for the inbox"),
        });
        let count: usize = batches.clone().map(Vec::len).sum();
        let first = self.marks[usize::from(slot)].inbox_tail + 1 - count as u64;
        self.form(slot, FrameKind::Inbox, first, count as u32, |buffer| {
            for record in batches.flatten() {
                buffer.extend_from_slice(&(record.len() as u32).to_le_bytes());
                buffer.extend_from_slice(record);
            }
        });
        waiting.clear();
        self.inboxes[usize::from(slot)] = waiting;
    }

    fn form(
        &mut self,
        slot: u16,
        kind: FrameKind,
        first_seq: u64,
        count: u32,
        fill: impl FnOnce(&mut Vec<u8>),
    ) {
        let at = self.buffer.len();
        let payload_at = at + HEADER_BYTES;
        self.buffer.resize(payload_at, 0);
        fill(&mut self.buffer);
        let payload = &self.buffer[payload_at..];
        let (payload_bytes, payload_checksum) = (payload.len() as u32, crc32c::crc32c(payload));
        self.buffer.resize(self.buffer.len().next_multiple_of(FRAME_ALIGN), 0);
        let durable_through = self.lsn - self.frames.len() as u64;
        self.lsn += 1;
        let mark = &mut self.marks[usize::from(slot)];
        mark.frame_number += 1;
        let header = FrameHeader {
            kind,
            last_of_group: false,
            slot,
            lsn: self.lsn,
            frame_number: mark.frame_number,
            first_seq,
            count,
            payload_bytes,
            epoch: mark.epoch,
            durable_through,
            previous: 0,
            payload_checksum,
            segment: self.active.number,
        };
        self.frames.push(FormedFrame { header, at });
    }

    /// Chains the frames, closes the group and fills its last page. A group without frames has no bytes.
    fn seal_group(&mut self) {
        let count = self.frames.len();
        for (number, formed) in self.frames.iter_mut().enumerate() {
            formed.header.previous = self.chain;
            formed.header.last_of_group = number + 1 == count;
            self.chain = formed.header.encode(self.superblock.installation, &mut self.buffer[formed.at..]);
        }
        self.buffer.resize(self.buffer.len().next_multiple_of(PAGE_BYTES), 0);
    }
}
