//! A journal in memory, for tests of the upper layers: the same contract, durable for as long as it is shared.

mod tables;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use tokio::sync::watch;
use types::{Epoch, PartitionId, Seq};

use crate::limits::RECORD_BYTES_MAX;
use crate::{AppendError, Capabilities, Claim, Journal, ReadError, Record, Room, Snapshot};

/// A journal that lives in memory. Every partition exists.
pub struct MemoryJournal {
    /// Shared with the handles that were reopened from this one.
    state: Arc<Mutex<State>>,
    generation: u64,
}

struct State {
    /// Only the handle of the newest generation is open.
    generation: u64,
    accepts: bool,
    capabilities: Capabilities,
    partitions: BTreeMap<PartitionId, MemoryPartition>,
}

struct MemoryPartition {
    epoch: Epoch,
    events: Stream,
    inbox: Stream,
    inbox_tail: watch::Sender<Seq>,
    snapshot: Option<Snapshot>,
    /// The files that belong to the snapshots through these frames.
    tables: BTreeMap<Seq, tables::Files>,
}

#[derive(Default)]
struct Stream {
    /// How many records were trimmed.
    gone: u64,
    records: Vec<Bytes>,
}

impl MemoryJournal {
    pub fn new() -> MemoryJournal {
        let state = State {
            generation: 0,
            accepts: true,
            capabilities: Capabilities::LOCAL,
            partitions: BTreeMap::new(),
        };
        MemoryJournal { state: Arc::new(Mutex::new(state)), generation: 0 }
    }

    /// Simulates a journal of several machines: partitions change owners, and snapshots include tables.
    pub fn shared() -> MemoryJournal {
        let journal = MemoryJournal::new();
        journal.lock().capabilities = Capabilities::SHARED;
        journal
    }

    /// The journal after a restart of the process: the same content and epochs. This handle is closed from now on.
    #[must_use]
    pub fn reopen(&self) -> MemoryJournal {
        let mut state = self.lock();
        state.generation += 1;
        for partition in state.partitions.values_mut() {
            partition.inbox_tail = watch::Sender::new(partition.inbox.tail());
        }
        MemoryJournal { state: Arc::clone(&self.state), generation: state.generation }
    }

    /// From now on the inboxes are full; events still have room.
    pub fn fill(&self) {
        self.lock().accepts = false;
    }

    /// From now on the inboxes have room again.
    pub fn drain(&self) {
        self.lock().accepts = true;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the lock panics")
    }

    fn open<T>(&self, closed: T) -> Result<MutexGuard<'_, State>, T> {
        let state = self.lock();
        if state.generation == self.generation { Ok(state) } else { Err(closed) }
    }
}

impl Default for MemoryJournal {
    fn default() -> MemoryJournal {
        MemoryJournal::new()
    }
}

impl State {
    fn partition(&mut self, id: PartitionId) -> &mut MemoryPartition {
        self.partitions.entry(id).or_insert_with(|| MemoryPartition {
            epoch: Epoch::default(),
            events: Stream::default(),
            inbox: Stream::default(),
            inbox_tail: watch::Sender::new(Seq::ZERO),
            snapshot: None,
            tables: BTreeMap::new(),
        })
    }
}

impl Stream {
    fn tail(&self) -> Seq {
        Seq(self.gone + self.records.len() as u64)
    }

    fn read(&self, partition: PartitionId, from: Seq, bytes_max: usize) -> Result<Vec<Record>, ReadError> {
        let from = from.max(Seq(1));
        let first = Seq(self.gone + 1);
        if from < first {
            return Err(ReadError::Trimmed { partition, from, first });
        }
        let mut bytes = 0;
        let mut answer = Vec::new();
        for (number, record) in (from.0..).zip(self.records.iter().skip((from.0 - first.0) as usize)) {
            bytes += record.len();
            if bytes > bytes_max && !answer.is_empty() {
                break;
            }
            answer.push(Record { seq: Seq(number), bytes: record.clone() });
        }
        Ok(answer)
    }

    fn trim(&mut self, first: Seq) {
        let gone = first.0.saturating_sub(1).clamp(self.gone, self.tail().0);
        self.records.drain(..(gone - self.gone) as usize);
        self.gone = gone;
    }
}

fn check_size(bytes: usize) -> Result<(), AppendError> {
    if bytes > RECORD_BYTES_MAX {
        return Err(AppendError::TooLarge { bytes, bytes_max: RECORD_BYTES_MAX });
    }
    Ok(())
}

impl Journal for MemoryJournal {
    async fn claim(&self, partition: PartitionId) -> Result<Claim, AppendError> {
        let mut state = self.open(AppendError::Closed)?;
        let held = state.partition(partition);
        held.epoch = Epoch(held.epoch.0 + 1);
        Ok(Claim { epoch: held.epoch, events_tail: held.events.tail() })
    }

    async fn append(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        expected_tail: Seq,
        frame: Bytes,
    ) -> Result<Seq, AppendError> {
        check_size(frame.len())?;
        let mut state = self.open(AppendError::Closed)?;
        let held = state.partition(partition);
        if epoch != held.epoch || epoch == Epoch::default() {
            return Err(AppendError::Fenced { partition });
        }
        if expected_tail != held.events.tail() {
            return Err(AppendError::Conflict { partition, tail: held.events.tail() });
        }
        held.events.records.push(frame);
        Ok(held.events.tail())
    }

    async fn read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.open(ReadError::Closed)?.partition(partition).events.read(partition, from, bytes_max)
    }

    async fn inbox_append(&self, partition: PartitionId, records: Vec<Bytes>) -> Result<Seq, AppendError> {
        check_size(records.iter().map(Bytes::len).sum())?;
        let mut state = self.open(AppendError::Closed)?;
        if !state.accepts {
            return Err(AppendError::Full);
        }
        let held = state.partition(partition);
        held.inbox.records.extend(records);
        held.inbox_tail.send_replace(held.inbox.tail());
        Ok(held.inbox.tail())
    }

    async fn inbox_read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.open(ReadError::Closed)?.partition(partition).inbox.read(partition, from, bytes_max)
    }

    fn inbox_tail(&self, partition: PartitionId) -> watch::Receiver<Seq> {
        self.lock().partition(partition).inbox_tail.subscribe()
    }

    async fn snapshot_put(
        &self,
        partition: PartitionId,
        _epoch: Epoch,
        snapshot: Snapshot,
    ) -> Result<(), AppendError> {
        let mut state = self.open(AppendError::Closed)?;
        let held = state.partition(partition);
        if held.snapshot.as_ref().is_none_or(|kept| kept.through <= snapshot.through) {
            held.tables.retain(|through, _| *through >= snapshot.through);
            held.snapshot = Some(snapshot);
        }
        Ok(())
    }

    fn capabilities(&self) -> Capabilities {
        self.lock().capabilities
    }

    async fn tables_put(
        &self,
        partition: PartitionId,
        _epoch: Epoch,
        through: Seq,
        dir: PathBuf,
    ) -> Result<(), AppendError> {
        let files = tables::read(&dir).map_err(|error| AppendError::Damaged {
            partition,
            detail: format!("reading tables: {error}"),
        })?;
        self.open(AppendError::Closed)?.partition(partition).tables.insert(through, files);
        Ok(())
    }

    async fn tables_get(&self, partition: PartitionId, through: Seq, dir: PathBuf) -> Result<(), ReadError> {
        let damaged = |detail: String| ReadError::Damaged { partition, detail };
        let files = self.open(ReadError::Closed)?.partition(partition).tables.get(&through).cloned();
        let files = files.ok_or_else(|| damaged(format!("snapshot {through} has no tables")))?;
        tables::write(&files, &dir).map_err(|error| damaged(format!("writing tables: {error}")))
    }

    async fn snapshot_get(&self, partition: PartitionId) -> Result<Option<Snapshot>, ReadError> {
        Ok(self.open(ReadError::Closed)?.partition(partition).snapshot.clone())
    }

    async fn trim(
        &self,
        partition: PartitionId,
        _epoch: Epoch,
        events: Seq,
        inbox: Seq,
    ) -> Result<(), AppendError> {
        let mut state = self.open(AppendError::Closed)?;
        let held = state.partition(partition);
        held.events.trim(events);
        held.inbox.trim(inbox);
        Ok(())
    }

    fn room(&self) -> Room {
        let state = self.lock();
        let streams = state.partitions.values().flat_map(|held| [&held.events, &held.inbox]);
        let used: usize = streams.flat_map(|stream| &stream.records).map(Bytes::len).sum();
        Room { free_bytes: u64::MAX, used_bytes: used as u64, accepts: state.accepts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{self, Factory};

    struct Fresh;

    impl Factory for Fresh {
        type Journal = MemoryJournal;

        async fn open(&mut self) -> MemoryJournal {
            MemoryJournal::new()
        }

        async fn reopen(&mut self, journal: MemoryJournal) -> MemoryJournal {
            journal.reopen()
        }
    }

    // guards: 10
    #[tokio::test]
    async fn memory_conforms() {
        conformance::run(&mut Fresh).await;
    }

    #[tokio::test]
    async fn a_reopened_journal_closes_the_handle_before_it() {
        let before = MemoryJournal::new();
        let after = before.reopen();
        assert_eq!(before.claim(PartitionId(0)).await, Err(AppendError::Closed));
        assert!(after.claim(PartitionId(0)).await.is_ok());
    }

    #[tokio::test]
    async fn a_full_inbox_refuses_while_events_go_on() {
        let journal = MemoryJournal::new();
        let claim = journal.claim(PartitionId(0)).await.unwrap();
        journal.fill();
        assert_eq!(journal.inbox_append(PartitionId(0), vec![Bytes::new()]).await, Err(AppendError::Full));
        assert!(journal.append(PartitionId(0), claim.epoch, Seq::ZERO, Bytes::new()).await.is_ok());
        journal.drain();
        assert_eq!(journal.inbox_append(PartitionId(0), vec![Bytes::new()]).await, Ok(Seq(1)));
    }
}
