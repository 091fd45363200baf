//! Reading and trimming the inbox.

use bytes::Bytes;
use journal::{ReadError, Record};
use types::Seq;

use super::Inbox;
use crate::batch;
use crate::fetch::{self, Lost, Range, fetch};
use crate::jetstream::JetStreamError;
use crate::wire::Wire;

impl Inbox {
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
        if *self.tail.borrow() < from {
            self.learn(fetch::bounds(wire, &self.stream).await.last);
        }
        let through = batch::sequence_of(*self.tail.borrow());
        let mut range = Range::new(wire, &self.stream, through, bytes_max);
        let mut records: Vec<Record> = Vec::new();
        let mut bytes = 0;
        for sequence in batch::sequence_of(from)..=through {
            let check = |bytes: &Bytes| self.check(bytes, sequence);
            let batch = match range.message(sequence, check).await {
                Ok(batch) => batch,
                Err(lost) => return Err(self.read_error(wire, from, lost).await),
            };
            for record in batch.into_iter().filter(|record| record.seq >= from) {
                bytes += record.bytes.len();
                if bytes > bytes_max && !records.is_empty() {
                    self.note_read(sequence);
                    return Ok(records);
                }
                records.push(record);
            }
        }
        self.note_read(through);
        Ok(records)
    }

    /// Deletes the messages all of whose requests are below `first`, for an owner that claimed its partition while the streams
    /// were open under this epoch of the region.
    pub(crate) async fn trim<W: Wire>(
        &self,
        wire: &W,
        opened: Option<u64>,
        first: Seq,
    ) -> Result<(), JetStreamError> {
        let first = {
            // Records past the tail are not affected.
            let tail = *self.tail.borrow();
            let mut state = self.lock();
            let first = first.min(tail.next());
            if first <= state.allowed.max(Seq(1)) {
                return Ok(());
            }
            state.allowed = first;
            first
        };
        fetch::purge(wire, &self.stream, opened, batch::sequence_of(first)).await
    }

    fn check(&self, bytes: &Bytes, sequence: u64) -> Result<Vec<Record>, String> {
        batch::decode(bytes, self.partition, sequence).map_err(|bad| bad.to_string())
    }

    async fn read_error<W: Wire>(&self, wire: &W, from: Seq, lost: Lost) -> ReadError {
        let partition = self.partition;
        let mut bounds = match lost {
            Lost::Damaged(detail) => return ReadError::Damaged { partition, detail },
            Lost::Trimmed(bounds) => bounds,
        };
        loop {
            if bounds.first > bounds.last {
                return self.trimmed(from, batch::last_number(bounds.last).next());
            }
            let check = |bytes: &Bytes| self.check(bytes, bounds.first);
            match fetch(wire, &self.stream, bounds.first, check).await {
                Ok(records) => {
                    let first = records.first().map_or(batch::last_number(bounds.first), |first| first.seq);
                    return self.trimmed(from, first);
                }
                Err(Lost::Trimmed(newer)) => bounds = newer,
                Err(Lost::Damaged(detail)) => return ReadError::Damaged { partition, detail },
            }
        }
    }

    fn trimmed(&self, from: Seq, first: Seq) -> ReadError {
        ReadError::Trimmed { partition: self.partition, from, first }
    }
}
