//! A journal that several machines share, with answers that can be delayed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use journal::memory::MemoryJournal;
use journal::{AppendError, Capabilities, Claim, Journal, ReadError, Record, Room, Snapshot};
use kernel::Event;
use tokio::sync::watch;
use types::{Epoch, PartitionId, Seq};

use super::P;

/// A journal that several machines share: tables are stored in a directory, whole, one for each snapshot.
pub struct SharedJournal {
    pub memory: MemoryJournal,
    pub tables: PathBuf,
    pub silent: watch::Sender<Silent>,
    /// Stale snapshots to return before newer ones.
    pub older: Mutex<Vec<Snapshot>>,
    /// Whether another owner claims right after the next claim, and takes every request.
    pub overtaken: AtomicBool,
}

/// Requests that are never answered.
#[derive(Default)]
pub struct Silent {
    pub inbox: bool,
    /// Frames are stored all the same.
    pub appends: bool,
    pub claims: BTreeSet<PartitionId>,
}

impl SharedJournal {
    pub fn new(memory: MemoryJournal, tables: &Path) -> SharedJournal {
        let (older, overtaken) = (Mutex::default(), AtomicBool::new(false));
        SharedJournal {
            memory,
            tables: tables.to_owned(),
            silent: watch::Sender::default(),
            older,
            overtaken,
        }
    }

    fn kept(&self, partition: PartitionId, through: Seq) -> PathBuf {
        self.tables.join(format!("{}-{}", partition.0, through.0))
    }
}

impl Journal for SharedJournal {
    async fn claim(&self, partition: PartitionId) -> Result<Claim, AppendError> {
        self.silent.subscribe().wait_for(|silent| !silent.claims.contains(&partition)).await.unwrap();
        let claim = self.memory.claim(partition).await?;
        if partition == P && self.overtaken.swap(false, Ordering::Relaxed) {
            let next = self.memory.claim(P).await?;
            let nothing = journal::codec::encode(&Vec::<Event>::new());
            self.memory.append(P, next.epoch, next.events_tail, nothing).await?;
            let end = self.memory.inbox_tail(P).borrow().next();
            self.memory.trim(P, next.epoch, Seq(1), end).await?;
        }
        Ok(claim)
    }

    async fn append(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        expected_tail: Seq,
        frame: Bytes,
    ) -> Result<Seq, AppendError> {
        let appended = self.memory.append(partition, epoch, expected_tail, frame).await;
        self.silent.subscribe().wait_for(|silent| !silent.appends).await.unwrap();
        appended
    }

    async fn read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.memory.read(partition, from, bytes_max).await
    }

    async fn inbox_append(&self, partition: PartitionId, records: Vec<Bytes>) -> Result<Seq, AppendError> {
        self.memory.inbox_append(partition, records).await
    }

    async fn inbox_read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.silent.subscribe().wait_for(|silent| !silent.inbox).await.unwrap();
        self.memory.inbox_read(partition, from, bytes_max).await
    }

    fn inbox_tail(&self, partition: PartitionId) -> watch::Receiver<Seq> {
        self.memory.inbox_tail(partition)
    }

    async fn snapshot_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        snapshot: Snapshot,
    ) -> Result<(), AppendError> {
        let kept = self.kept(partition, snapshot.through).exists() || partition == PartitionId::CONTROL;
        assert!(kept, "the tables come first");
        self.memory.snapshot_put(partition, epoch, snapshot).await
    }

    async fn snapshot_get(&self, partition: PartitionId) -> Result<Option<Snapshot>, ReadError> {
        let older = if partition == P { self.older.lock().unwrap().pop() } else { None };
        if older.is_some() { Ok(older) } else { self.memory.snapshot_get(partition).await }
    }

    async fn trim(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        events: Seq,
        inbox: Seq,
    ) -> Result<(), AppendError> {
        self.memory.trim(partition, epoch, events, inbox).await
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::SHARED
    }

    async fn tables_put(
        &self,
        partition: PartitionId,
        _epoch: Epoch,
        through: Seq,
        dir: PathBuf,
    ) -> Result<(), AppendError> {
        copy(&dir, &self.kept(partition, through));
        Ok(())
    }

    async fn tables_get(&self, partition: PartitionId, through: Seq, dir: PathBuf) -> Result<(), ReadError> {
        copy(&self.kept(partition, through), &dir);
        Ok(())
    }

    fn room(&self) -> Room {
        self.memory.room()
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).into_iter().flatten() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
