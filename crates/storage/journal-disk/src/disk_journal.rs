//! The journal on disk: the log and its two threads, as an implementation of the trait.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use bytes::Bytes;
use journal::{AppendError, Claim, Journal, OpenError, ReadError, Record, Room, Snapshot};
use tokio::sync::watch;
use types::{Epoch, PartitionId, Seq};

use crate::disk::{Disk, RealDisk};
use crate::index::{Index, Lookup, Stream};
use crate::log::{Log, LogCompletion, LogOperation, LogRequest, LogResult};
use crate::manual_writer::ManualWriter;
use crate::queue::RequestQueue;
use crate::reader::LogReader;
use crate::settings::Settings;
use crate::snapshots::Snapshots;
use crate::space::Space;
use crate::writer;

/// The journal of one directory. Dropping it serves the waiting requests, then closes the log.
///
/// Records that are read share memory with others of the same frame: copy those that are kept for long.
pub struct DiskJournal {
    disk: Arc<dyn Disk>,
    index: Arc<Index>,
    space: Arc<Space>,
    reader: Arc<LogReader>,
    snapshots: Arc<Snapshots>,
    queue: Arc<RequestQueue>,
    writer: Option<JoinHandle<()>>,
}

impl DiskJournal {
    /// Opens the journal in `dir`, or creates it. Only one process at a time can open a directory.
    pub fn open(dir: &Path, settings: Settings) -> Result<DiskJournal, OpenError> {
        DiskJournal::open_on(Arc::new(RealDisk::open(dir)?), settings)
    }

    /// Opens the journal on any disk.
    pub fn open_on(disk: Arc<dyn Disk>, settings: Settings) -> Result<DiskJournal, OpenError> {
        let (mut journal, log) = DiskJournal::open_log(disk, &settings)?;
        let started = writer::start(log, Arc::clone(&journal.queue), &settings);
        let writer = started.map_err(failed(&*journal.disk, "starting the writer of"))?;
        journal.writer = Some(writer);
        Ok(journal)
    }

    /// Opens the journal without its threads: nothing is written or answered unless the returned writer is
    /// driven.
    pub fn open_manual(
        disk: Arc<dyn Disk>,
        settings: &Settings,
    ) -> Result<(DiskJournal, ManualWriter), OpenError> {
        let (journal, log) = DiskJournal::open_log(disk, settings)?;
        let writer = ManualWriter::new(log, Arc::clone(&journal.queue), settings);
        Ok((journal, writer))
    }

    fn open_log(disk: Arc<dyn Disk>, settings: &Settings) -> Result<(DiskJournal, Log), OpenError> {
        let log = Log::open(Arc::clone(&disk), settings)?;
        let reserved = log.space().restore(&*disk, false);
        reserved.map_err(failed(&*disk, "creating the space reserve of"))?;
        let snapshots = Snapshots::open(&log).map_err(failed(&*disk, "listing the snapshots of"))?;
        let journal = DiskJournal {
            disk,
            index: Arc::clone(log.index()),
            space: Arc::clone(log.space()),
            reader: Arc::new(LogReader::new(&log)),
            snapshots: Arc::new(snapshots),
            queue: Arc::new(RequestQueue::new()),
            writer: None,
        };
        Ok((journal, log))
    }

    /// Serves the waiting requests, marks the end and releases the directory.
    pub async fn close(self) {
        host::run_blocking(move || drop(self)).await;
    }

    /// The partitions that damage has stopped, and its location.
    pub fn stopped(&self) -> Vec<(PartitionId, String)> {
        let slots = 0..self.index.slots() as u16;
        slots.filter_map(|slot| Some((self.index.partition(slot), self.index.stopped(slot)?))).collect()
    }

    // Not async: each append would pay for a second future around that of the queue.
    fn ask(
        &self,
        partition: PartitionId,
        ask: LogOperation,
        bytes: usize,
    ) -> impl Future<Output = LogResult> + Send + '_ {
        self.queue.ask(LogRequest { slot: self.index.slot(partition), ask }, bytes)
    }

    async fn read_stream(
        &self,
        partition: PartitionId,
        stream: Stream,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        let slot = self.index.slot(partition);
        match self.reader.look_up(slot, stream, from, bytes_max)? {
            Lookup::Records(records) => Ok(records),
            Lookup::Frames(frames) => {
                let reader = Arc::clone(&self.reader);
                host::run_blocking(move || reader.read_frames(slot, stream, from, bytes_max, frames)).await
            }
        }
    }
}

fn failed(disk: &dyn Disk, doing: &'static str) -> impl FnOnce(std::io::Error) -> OpenError {
    let path = disk.place();
    move |source| OpenError::Io { doing, path, source }
}

impl Drop for DiskJournal {
    fn drop(&mut self) {
        self.queue.close();
        if self.writer.take().is_some_and(|writer| writer.join().is_err()) {
            tracing::error!("the writer of the journal panicked");
        }
    }
}

impl Journal for DiskJournal {
    async fn claim(&self, partition: PartitionId) -> Result<Claim, AppendError> {
        match self.ask(partition, LogOperation::Claim, 0).await? {
            LogCompletion::Claimed(claim) => Ok(claim),
            other => unreachable!("a claim is answered by a claim, not {other:?}"),
        }
    }

    async fn append(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        expected_tail: Seq,
        frame: Bytes,
    ) -> Result<Seq, AppendError> {
        let bytes = frame.len();
        appended(self.ask(partition, LogOperation::Append { epoch, expected_tail, frame }, bytes).await)
    }

    async fn read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.read_stream(partition, Stream::Events, from, bytes_max).await
    }

    async fn inbox_append(&self, partition: PartitionId, records: Vec<Bytes>) -> Result<Seq, AppendError> {
        if self.space.is_full() {
            return Err(AppendError::Full);
        }
        let bytes = records.iter().map(Bytes::len).sum();
        appended(self.ask(partition, LogOperation::Inbox { records }, bytes).await)
    }

    async fn inbox_read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.read_stream(partition, Stream::Inbox, from, bytes_max).await
    }

    fn inbox_tail(&self, partition: PartitionId) -> watch::Receiver<Seq> {
        self.index.inbox_tail(self.index.slot(partition))
    }

    async fn snapshot_put(
        &self,
        partition: PartitionId,
        _epoch: Epoch,
        snapshot: Snapshot,
    ) -> Result<(), AppendError> {
        let slot = self.index.slot(partition);
        let snapshots = Arc::clone(&self.snapshots);
        host::run_blocking(move || snapshots.put(slot, &snapshot)).await
    }

    async fn snapshot_get(&self, partition: PartitionId) -> Result<Option<Snapshot>, ReadError> {
        let slot = self.index.slot(partition);
        let snapshots = Arc::clone(&self.snapshots);
        host::run_blocking(move || snapshots.get(slot)).await
    }

    async fn trim(
        &self,
        partition: PartitionId,
        _epoch: Epoch,
        events: Seq,
        inbox: Seq,
    ) -> Result<(), AppendError> {
        self.ask(partition, LogOperation::Trim { events, inbox }, 0).await.map(|_| ())
    }

    fn room(&self) -> Room {
        self.space.room(&*self.disk)
    }
}

fn appended(answer: Result<LogCompletion, AppendError>) -> Result<Seq, AppendError> {
    match answer? {
        LogCompletion::Appended(seq) => Ok(seq),
        other => unreachable!("an append is answered by a number, not {other:?}"),
    }
}
