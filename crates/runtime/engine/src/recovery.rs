//! Recovery of a partition: the newest snapshot, then every frame since. Then it starts the pending calls.

use journal::codec::{self, Unreadable};
use journal::{AppendError, Claim, Journal, ReadError, Snapshot};
use kernel::queue::Queues;
use kernel::{Event, Request, State, UnknownPlan};
use tokio::sync::Semaphore;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use types::{PartitionId, Seq, Timestamp};
use view::{Ids, View};

use crate::jobs::record;
use crate::limits::{CLAIM_PATIENCE, RECOVERY_READ_BYTES, ROOM_LOOK};
use crate::partition::queues;
use crate::{Catalog, Catalogs, archive};

/// The recovered state of a partition.
pub(crate) struct Recovered {
    pub state: State,
    pub queues: Queues,
    pub claim: Claim,
    pub snapshot_through: Seq,
    /// Bytes of events since the snapshot.
    pub bytes_since_snapshot: u64,
    /// The newest time in the pending work.
    pub latest: Timestamp,
}

/// Why a partition cannot be recovered. It stays stopped, and its data stays unchanged.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    #[error(transparent)]
    Claim(#[from] AppendError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("frame {seq} of the events: {source}")]
    Frame { seq: Seq, source: Unreadable },
    #[error("request {seq} of the inbox: {source}")]
    Request { seq: Seq, source: Unreadable },
    #[error("the snapshot: {source}")]
    Snapshot { source: Unreadable },
    #[error("{}", snapshot_lost(*partition, *found, *first, *kept))]
    SnapshotLost { partition: PartitionId, found: Seq, first: Seq, kept: SnapshotStore },
    /// The journal may become available again: the claim is retried.
    #[error("the journal has not answered the claim of partition {partition} for {} s", CLAIM_PATIENCE.as_secs())]
    Unanswered { partition: PartitionId },
    #[error(transparent)]
    Plan(#[from] UnknownPlan),
    #[error("the view: {0}")]
    View(#[from] view::Error),
    #[error(
        "the view of ended runs ends at {flushed:?}, the journal begins after {snapshot}: \
         restore the view directory from a backup"
    )]
    ViewLost { flushed: Option<Seq>, snapshot: Seq },
}

pub(crate) async fn recover<J: Journal>(
    journal: &J,
    partition: PartitionId,
    catalogs: &Catalogs,
    view: &View,
    ids: &Ids,
    turns: &Semaphore,
) -> Result<Recovered, RecoveryError> {
    // On one machine a view that cannot be opened is detected before the claim ends the previous epoch.
    if !journal.capabilities().snapshots_carry_tables {
        view.open_partition(partition)?;
    }
    let claimed = in_time(journal, claim(journal, partition)).await;
    let claim = claimed.map_err(|_| RecoveryError::Unanswered { partition })??;
    // Only now: waiting for a claim costs nothing, and must not delay the recovery of other partitions.
    let _turn = turns.acquire().await.expect("the semaphore is never closed");
    let catalog = catalogs.load();
    let mut lost = None;
    loop {
        let snapshot = journal.snapshot_get(partition).await?;
        let through = snapshot.as_ref().map_or(Seq::ZERO, |snapshot| snapshot.through);
        if let Some((found, error)) = lost.take()
            && through <= found
        {
            return Err(error);
        }
        match replay(journal, partition, &catalog, view, ids, claim, snapshot).await {
            // The previous owner may have finished its last snapshot meanwhile, and trimmed up to it.
            Err(error @ RecoveryError::SnapshotLost { .. }) => lost = Some((through, error)),
            recovered => return recovered,
        }
    }
}

/// Waits for a claim; of a remote journal not for ever: a stream without a leader must not keep the instance from
/// taking other partitions. A claim that is stored after the timeout is an epoch without frames, which the next claim follows.
pub(crate) async fn in_time<J: Journal, T>(
    journal: &J,
    claim: impl Future<Output = T>,
) -> Result<T, Elapsed> {
    if journal.capabilities().is_remote { timeout(CLAIM_PATIENCE, claim).await } else { Ok(claim.await) }
}

/// Restores a snapshot and replays every frame from there to the claim.
async fn replay<J: Journal>(
    journal: &J,
    partition: PartitionId,
    catalog: &Catalog,
    view: &View,
    ids: &Ids,
    claim: Claim,
    snapshot: Option<Snapshot>,
) -> Result<Recovered, RecoveryError> {
    if journal.capabilities().snapshots_carry_tables {
        let through = snapshot.as_ref().map(|snapshot| snapshot.through);
        // Snapshots belong to the history of the events: an owner that went further has claimed since.
        if through.is_some_and(|through| through > claim.events_tail) {
            return Err(AppendError::Fenced { partition }.into());
        }
        take_tables(journal, partition, view, through).await?;
    }
    let (mut state, mut queues, snapshot_through) = match snapshot {
        None => (State::default(), Queues::default(), Seq::ZERO),
        Some(snapshot) => {
            let (state, queues): (State, Queues) =
                codec::decode_pair(&snapshot.bytes).map_err(|source| RecoveryError::Snapshot { source })?;
            (state.restore(catalog)?, queues.restore(), snapshot.through)
        }
    };
    let flushed = view.flushed_through(partition)?;
    if flushed.unwrap_or(Seq::ZERO) < snapshot_through {
        return Err(RecoveryError::ViewLost { flushed, snapshot: snapshot_through });
    }
    let mut seq = snapshot_through;
    let mut bytes_since_snapshot = 0;
    while seq < claim.events_tail {
        let records = journal.read(partition, seq.next(), RECOVERY_READ_BYTES).await;
        for record in records
            .map_err(|error| view_lags_snapshot(error, snapshot_through, SnapshotStore::by(journal)))?
        {
            // Another owner has written it since: with it the state would be ahead of the tail that it is recorded for.
            if record.seq > claim.events_tail {
                return Err(AppendError::Fenced { partition }.into());
            }
            let events: Vec<Event> = codec::decode(&record.bytes)
                .map_err(|source| RecoveryError::Frame { seq: record.seq, source })?;
            for event in &events {
                if let Event::Queue(fact) = event {
                    queues::replay(view, partition, fact, &mut queues)?;
                }
                record::write(view, partition, None, event)?;
                if let Some(run) = state.evolve(catalog, event)? {
                    view.put_ended(partition, &archive::ended(&run))?;
                }
            }
            seq = record.seq;
            bytes_since_snapshot += record.bytes.len() as u64;
        }
    }
    let mut latest = Timestamp(0);
    for run in state.runs() {
        ids.restore(&run.request.id, run.request.body_hash, partition);
        latest = run.timeline.last().map_or(latest, |moment| latest.max(moment.at));
    }
    latest = latest.max(restore_waiting(journal, partition, claim, &state, ids).await?);
    Ok(Recovered { state, queues, claim, snapshot_through, bytes_since_snapshot, latest })
}

/// Starts the view with the tables that were stored with the snapshot, whichever instance wrote them. The tables on
/// this disk are discarded: they may belong to another history.
async fn take_tables<J: Journal>(
    journal: &J,
    partition: PartitionId,
    view: &View,
    snapshot: Option<Seq>,
) -> Result<(), RecoveryError> {
    let own = view.clone();
    host::run_blocking(move || own.discard(partition)).await?;
    if let Some(through) = snapshot {
        let staging = view.staging(partition)?;
        journal.tables_get(partition, through, staging.path().to_owned()).await?;
        let own = view.clone();
        host::run_blocking(move || own.adopt(partition, staging.path())).await?;
    }
    let own = view.clone();
    Ok(host::run_blocking(move || own.open_partition(partition)).await?)
}

/// Waits while the disk is full: a partition that gave up would stay stopped when there is room again.
async fn claim<J: Journal>(journal: &J, partition: PartitionId) -> Result<Claim, AppendError> {
    loop {
        match journal.claim(partition).await {
            Err(AppendError::Full) => {
                tracing::warn!(%partition, "the journal is full; the partition waits for disk space to start");
                tokio::time::sleep(ROOM_LOOK).await;
            }
            claimed => return claimed,
        }
    }
}

/// Events are trimmed only up to a durable snapshot: when they begin later, a snapshot is missing.
fn view_lags_snapshot(error: ReadError, found: Seq, kept: SnapshotStore) -> RecoveryError {
    match error {
        ReadError::Trimmed { partition, first, .. } => {
            RecoveryError::SnapshotLost { partition, found, first, kept }
        }
        error => RecoveryError::Read(error),
    }
}

/// The store of the snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotStore {
    /// In the data directory of this process.
    Here,
    /// In a store that several instances share.
    Shared,
}

impl SnapshotStore {
    pub(crate) fn by<J: Journal>(journal: &J) -> SnapshotStore {
        if journal.capabilities().snapshots_carry_tables {
            SnapshotStore::Shared
        } else {
            SnapshotStore::Here
        }
    }

    fn fix(self) -> &'static str {
        match self {
            SnapshotStore::Here => "restore the snapshots directory from a backup",
            SnapshotStore::Shared => {
                "see that cluster.snapshots names the store that they were written to, and restore that store from a backup"
            }
        }
    }
}

/// The error for a partition whose newest snapshot is not the one that its events follow.
pub(crate) fn snapshot_lost(partition: PartitionId, found: Seq, first: Seq, kept: SnapshotStore) -> String {
    let missing = first.0.saturating_sub(1);
    let fix = kept.fix();
    format!("snapshot {missing} of partition {partition} is missing, the newest is {found}: {fix}")
}

/// Registers the ids of requests that still wait in the inbox before any caller can look them up. Returns the time
/// of the newest.
async fn restore_waiting<J: Journal>(
    journal: &J,
    partition: PartitionId,
    claim: Claim,
    state: &State,
    ids: &Ids,
) -> Result<Timestamp, RecoveryError> {
    let mut seq = state.inbox_through();
    let mut latest = Timestamp(0);
    loop {
        let records = match journal.inbox_read(partition, seq.next(), RECOVERY_READ_BYTES).await {
            Err(ReadError::Trimmed { .. }) if is_superseded(journal, partition, claim).await? => {
                return Err(AppendError::Fenced { partition }.into());
            }
            records => records?,
        };
        let Some(last) = records.last() else { return Ok(latest) };
        seq = last.seq;
        for record in &records {
            let request: Request = codec::decode(&record.bytes)
                .map_err(|source| RecoveryError::Request { seq: record.seq, source })?;
            ids.restore(&request.id, request.body_hash, partition);
            latest = latest.max(request.accepted_at);
        }
    }
}

/// Whether another owner has written after a claim.
async fn is_superseded<J: Journal>(
    journal: &J,
    partition: PartitionId,
    claim: Claim,
) -> Result<bool, ReadError> {
    match journal.read(partition, claim.events_tail.next(), 1).await {
        Ok(records) => Ok(!records.is_empty()),
        Err(ReadError::Trimmed { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}
