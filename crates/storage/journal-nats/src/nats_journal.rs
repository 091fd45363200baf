//! The journal of several partitions over a wire to JetStream.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures_util::future::try_join_all;
use journal::{AppendError, Capabilities, Claim, Journal, ReadError, Record, Room, Snapshot};
use tokio::sync::watch;
use types::{Epoch, PartitionId, Seq};

use crate::batch;
use crate::events::Events;
use crate::inbox::{Gaps, Inbox, Shortness};
use crate::jetstream::{JetStreamError, retry};
use crate::limits::{OPEN_TRIES_MAX, ROOM_PERIOD};
use crate::names;
use crate::nonce::Nonces;
use crate::room::Rooms;
use crate::snapshots::Snapshots;
use crate::wire::{Bounds, Wire};

/// An installation: which streams its journal has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The prefix of the names of its streams.
    pub name: String,
    /// The number of partitions without the control partition.
    pub partitions: u16,
    /// The limit of each inbox, if there is one.
    pub inbox_bytes_max: Option<u64>,
}

impl Installation {
    /// All partitions, control last.
    pub fn all_partitions(&self) -> impl Iterator<Item = PartitionId> + use<> {
        (0..self.partitions).map(PartitionId).chain([PartitionId::CONTROL])
    }
}

/// A journal that several processes share.
pub struct NatsJournal<W: Wire, S: Snapshots> {
    wire: Arc<W>,
    snapshots: S,
    nonces: Arc<Nonces>,
    partitions: BTreeMap<PartitionId, Partition>,
    rooms: Arc<Rooms>,
    fenced: AtomicU64,
    gaps: Gaps,
}

struct Partition {
    events: Events,
    inbox: Arc<Inbox>,
}

impl<W: Wire, S: Snapshots> NatsJournal<W, S> {
    /// The journal of streams that exist. `process` is a number that no other journal was opened with, and is what
    /// distinguishes its messages from those of other processes.
    pub async fn over(
        wire: W,
        installation: &Installation,
        snapshots: S,
        process: u64,
    ) -> Result<NatsJournal<W, S>, JetStreamError> {
        let name = &installation.name;
        let (wire, gaps) = (Arc::new(wire), Gaps::default());
        let opened = installation.all_partitions().map(|partition| {
            let (wire, gaps) = (&wire, &gaps);
            async move {
                let inbox = Arc::new(open_inbox(&**wire, name, partition, gaps).await?);
                Ok((partition, Partition { events: Events::new(name, partition), inbox }))
            }
        });
        let partitions: BTreeMap<_, _> = try_join_all(opened).await?.into_iter().collect();
        let rooms = Arc::new(Rooms::new());
        let inboxes: Vec<_> = partitions.values().map(|held| held.inbox.clone()).collect();
        let watched = (Arc::downgrade(&wire), Arc::downgrade(&rooms));
        host::spawn("room", watch_room(watched.0, watched.1, inboxes, installation.inbox_bytes_max));
        Ok(NatsJournal {
            wire,
            snapshots,
            nonces: Arc::new(Nonces::new(process)),
            partitions,
            rooms,
            fenced: AtomicU64::new(0),
            gaps,
        })
    }

    /// How many frames were refused because another owner has claimed the partition.
    pub fn fenced(&self) -> u64 {
        self.fenced.load(Ordering::Relaxed)
    }

    /// How often an inbox ended before the last request that was taken from it.
    pub fn gaps(&self) -> u64 {
        self.gaps.count()
    }

    /// From now on the partition is not claimed if its events end before this message, which is known to be durable.
    pub fn expect(&self, partition: PartitionId, last: u64) {
        self.partition(partition).events.expect(last);
    }

    /// The last message of a partition's events that was acknowledged to this process, if it owns the partition.
    pub fn acknowledged(&self, partition: PartitionId) -> Option<u64> {
        self.partition(partition).events.acknowledged()
    }

    /// Forgets everything that is known about the streams and reads them again: a forced promotion has replaced their history.
    /// All partitions must be claimed again.
    pub async fn forget(&self) -> Result<(), JetStreamError> {
        for partition in self.partitions.values() {
            partition.events.forget();
            let bounds = self.wire.bounds(partition.inbox.stream()).await?;
            partition.inbox.forget(&self.wire, &bounds);
        }
        Ok(())
    }

    fn partition(&self, partition: PartitionId) -> &Partition {
        let found = self.partitions.get(&partition);
        found.unwrap_or_else(|| panic!("the journal has no partition {partition}"))
    }
}

/// Opens an inbox and closes its gap, so that new requests come after all that the events have taken.
async fn open_inbox<W: Wire>(
    wire: &W,
    installation: &str,
    partition: PartitionId,
    gaps: &Gaps,
) -> Result<Inbox, JetStreamError> {
    let (inbox, events) =
        (names::inbox_stream(installation, partition), names::events_stream(installation, partition));
    let bounds = first_bounds(wire, &inbox).await?;
    first_bounds(wire, &events).await?;
    let inbox = Inbox::new(installation, partition, &bounds, gaps.clone());
    if let Err(error) = inbox.close_gap(wire, Shortness::Supposed).await {
        // The other partitions can continue; this one accepts no requests, because there is no room.
        tracing::error!(%partition, %error, "could not close the gap of an inbox");
    }
    Ok(inbox)
}

/// The bounds of a stream that may have just been created: not every server knows it yet.
async fn first_bounds<W: Wire>(wire: &W, stream: &str) -> Result<Bounds, JetStreamError> {
    retry(OPEN_TRIES_MAX, || wire.bounds(stream)).await
}

/// The state, prefixed with the checksum of the last frame it contains, which identifies its history.
fn marked(mark: u32, state: &Bytes) -> Bytes {
    [&mark.to_le_bytes()[..], state].concat().into()
}

fn unmarked(bytes: &Bytes) -> Option<(u32, Bytes)> {
    let (mark, _) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*mark), bytes.slice(size_of::<u32>()..)))
}

/// Reads the free room until the journal is dropped.
async fn watch_room<W: Wire>(
    wire: Weak<W>,
    rooms: Weak<Rooms>,
    inboxes: Vec<Arc<Inbox>>,
    inbox_bytes_max: Option<u64>,
) {
    while let (Some(wire), Some(rooms)) = (wire.upgrade(), rooms.upgrade()) {
        let looked = rooms.look(&*wire, &inboxes, inbox_bytes_max).await;
        if let Err(error) = looked {
            tracing::debug!(%error, "could not read the free room in NATS");
        }
        drop((wire, rooms));
        tokio::time::sleep(ROOM_PERIOD).await;
    }
}

impl<W: Wire, S: Snapshots> Journal for NatsJournal<W, S> {
    async fn claim(&self, partition: PartitionId) -> Result<Claim, AppendError> {
        let Partition { events, inbox } = self.partition(partition);
        let claim = events.claim(&*self.wire, &self.nonces).await?;
        inbox.close_gap(&*self.wire, Shortness::Supposed).await?;
        Ok(claim)
    }

    async fn append(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        expected_tail: Seq,
        frame: Bytes,
    ) -> Result<Seq, AppendError> {
        let bytes = frame.len() as u64;
        let Partition { events, inbox } = self.partition(partition);
        let (expected, read) = ((epoch, expected_tail), inbox.read_through());
        let appended = events.append(&*self.wire, &self.nonces, &self.fenced, expected, read, frame).await?;
        self.rooms.stored(bytes);
        Ok(appended)
    }

    async fn read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.partition(partition).events.read(&*self.wire, from, bytes_max).await
    }

    async fn inbox_append(&self, partition: PartitionId, records: Vec<Bytes>) -> Result<Seq, AppendError> {
        let bytes: usize = records.iter().map(Bytes::len).sum();
        let appended = self.partition(partition).inbox.append(&self.wire, &self.nonces, records).await?;
        self.rooms.stored(bytes as u64);
        Ok(appended)
    }

    async fn inbox_read(
        &self,
        partition: PartitionId,
        from: Seq,
        bytes_max: usize,
    ) -> Result<Vec<Record>, ReadError> {
        self.partition(partition).inbox.read(&*self.wire, from, bytes_max).await
    }

    fn inbox_tail(&self, partition: PartitionId) -> watch::Receiver<Seq> {
        self.partition(partition).inbox.tail(&self.wire)
    }

    fn inbox_step(&self) -> u64 {
        batch::NUMBERS
    }

    async fn snapshot_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        snapshot: Snapshot,
    ) -> Result<(), AppendError> {
        let events = &self.partition(partition).events;
        events.check_epoch(epoch)?;
        let mark = events.mark(&*self.wire, snapshot.through).await.map_err(|error| {
            tracing::warn!(%partition, %error, "could not read the last frame of a snapshot");
            AppendError::Unknown { partition }
        })?;
        let Snapshot { through, bytes } = snapshot;
        self.snapshots.put(partition, epoch, Snapshot { through, bytes: marked(mark, &bytes) }).await
    }

    async fn snapshot_get(&self, partition: PartitionId) -> Result<Option<Snapshot>, ReadError> {
        let mut before = None;
        while let Some((version, snapshot)) = self.snapshots.get(partition, before).await? {
            let (mark, bytes) = unmarked(&snapshot.bytes).ok_or_else(|| ReadError::Damaged {
                partition,
                detail: format!("snapshot {} has no mark of its history", snapshot.through),
            })?;
            let through = snapshot.through;
            if self.partition(partition).events.has(&*self.wire, through, mark).await? {
                return Ok(Some(Snapshot { through, bytes }));
            }
            tracing::warn!(%partition, %through, "ignoring a snapshot of a history that was lost; trying the previous one");
            before = Some(version);
        }
        Ok(None)
    }

    async fn trim(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        events: Seq,
        inbox: Seq,
    ) -> Result<(), AppendError> {
        let held = self.partition(partition);
        let opened = held.events.opened();
        let trimmed = async {
            held.events.trim(&*self.wire, opened, events).await?;
            held.inbox.trim(&*self.wire, opened, inbox).await
        };
        trimmed.await.map_err(|error: JetStreamError| {
            tracing::warn!(%partition, %error, "could not trim the streams; retrying after the next snapshot");
            AppendError::Unknown { partition }
        })?;
        if held.events.check_epoch(epoch).is_ok() {
            self.snapshots.clean(partition, epoch).await;
        }
        Ok(())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::SHARED
    }

    async fn tables_put(
        &self,
        partition: PartitionId,
        epoch: Epoch,
        through: Seq,
        dir: PathBuf,
    ) -> Result<(), AppendError> {
        self.partition(partition).events.check_epoch(epoch)?;
        self.snapshots.tables_put(partition, epoch, through, dir).await
    }

    async fn tables_get(&self, partition: PartitionId, through: Seq, dir: PathBuf) -> Result<(), ReadError> {
        self.snapshots.tables_get(partition, through, dir).await
    }

    fn room(&self) -> Room {
        self.rooms.room()
    }
}
