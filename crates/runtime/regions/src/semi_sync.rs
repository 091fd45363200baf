//! Semi-synchronous replication: an append counts only when the pair has it, so that the loss of a region loses nothing
//! that was acknowledged.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::Regions;
use crate::decide::role::Role;
use crate::promote::Promoted;
use crate::record::{Record, RecordStore};
use crate::sites::Sites;
use journal_nats::jetstream::{JetStream, JetStreamError};
use journal_nats::names;
use journal_nats::{Bounds, Outgoing, PublishError, Source, Storage, Wire};

/// The pause between two requests for the position of a mirror; a request takes a round trip to the pair anyway.
const LOOK_EVERY: Duration = Duration::from_millis(2);

const PAIR_LAGS: &str = "the paired region does not have the message yet";
const NO_LEASE: &str = "the leases of this region have expired";

/// The positions of the mirrors in the pair. One request serves all appends that wait for the same stream.
pub(crate) struct Reach {
    pair: JetStream,
    /// How long an append waits for the pair before it fails.
    patience: Duration,
    // A lock: held for a lookup by every append, never while waiting.
    mirrors: Mutex<BTreeMap<String, watch::Sender<Mirror>>>,
    /// Whether the pair was a standby when it was last read; true before the first reading.
    follows: AtomicBool,
    /// The epoch for which it is recorded that the pair is a standby.
    recorded: AtomicU64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Mirror {
    last: u64,
    /// Appends do not wait before this time: the pair has just failed to keep up.
    given_up_until: Option<Instant>,
    looked_at: bool,
}

impl Reach {
    pub(crate) fn new(pair: JetStream, patience: Duration) -> Arc<Reach> {
        Arc::new(Reach {
            pair,
            patience,
            mirrors: Mutex::default(),
            follows: AtomicBool::new(true),
            recorded: AtomicU64::new(0),
        })
    }

    /// Sets whether the pair is a standby.
    pub(crate) fn set_follows(&self, follows: bool) {
        if self.follows.swap(follows, Ordering::Relaxed) != follows {
            tracing::warn!(
                follows,
                "semi-sync: whether the pair is a standby has changed; appends wait for it only while it is"
            );
        }
    }

    async fn reached(self: &Arc<Reach>, stream: &str, sequence: u64) -> bool {
        // After a forced promotion there is nothing to wait for until the pair is a standby again.
        if !self.follows.load(Ordering::Relaxed) {
            return true;
        }
        let deadline = Instant::now() + self.patience;
        let mut mirror = self.look_at(stream, sequence);
        let enough = |mirror: &Mirror| {
            mirror.last >= sequence || mirror.given_up_until.is_some_and(|until| Instant::now() < until)
        };
        match timeout_at(deadline, mirror.wait_for(enough)).await {
            Ok(Ok(mirror)) => mirror.last >= sequence,
            Ok(Err(_)) | Err(_) => {
                self.give_up(stream);
                false
            }
        }
    }

    /// Follows the position of a mirror, and starts the task that reads it if there is none.
    fn look_at(self: &Arc<Reach>, stream: &str, sequence: u64) -> watch::Receiver<Mirror> {
        let mut mirrors = self.mirrors.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = mirrors.entry(stream.to_owned()).or_default();
        let receiver = sender.subscribe();
        let starts = sender.send_if_modified(|mirror| {
            let starts = mirror.last < sequence && !mirror.looked_at;
            mirror.looked_at |= starts;
            starts
        });
        if starts {
            let (reach, stream, sender) = (self.clone(), stream.to_owned(), sender.clone());
            host::spawn("semi-sync", async move { reach.look(&stream, sender).await });
        }
        receiver
    }

    /// Reads the position of a mirror for as long as an append waits.
    async fn look(&self, stream: &str, mirror: watch::Sender<Mirror>) {
        loop {
            if let Ok(info) = self.pair.info(stream).await {
                mirror.send_modify(|mirror| {
                    // A stream that is not a mirror has other messages under the same sequences. And a mirror that was created
                    // again has lost the messages of its predecessor.
                    mirror.last = if info.is_mirror() { info.last } else { 0 };
                    mirror.given_up_until = None;
                });
            }
            let idle = mirror.send_if_modified(|known| {
                // No append can begin to wait meanwhile: that takes the same lock.
                let idle = mirror.receiver_count() == 0;
                known.looked_at = !idle;
                idle
            });
            if idle {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn give_up(&self, stream: &str) {
        let mirrors = self.mirrors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mirror) = mirrors.get(stream) {
            tracing::warn!(stream, "semi-sync: the mirror in the pair does not keep up; failing appends");
            let until = Instant::now() + self.patience;
            mirror.send_modify(|mirror| mirror.given_up_until = Some(until));
        }
    }
}

impl Reach {
    /// Restores after a restart that there is nothing to wait for: the pair was left in a forced promotion, and has not been
    /// a standby since.
    pub(crate) async fn restore(&self, records: &RecordStore) -> Result<(), JetStreamError> {
        let (record, _) = records.record().await?;
        let Some(here) = record.filter(|record| record.role == Role::Active) else { return Ok(()) };
        let promoted: Option<Promoted> = records.promoted().await?;
        let is_forced = promoted.is_some_and(|promoted| promoted.epoch == here.epoch && promoted.forced);
        if is_forced && records.followed().await? != Some(here.epoch) {
            self.set_follows(false);
        }
        Ok(())
    }

    /// Records once that the pair is a standby under the epoch of this region.
    pub(crate) async fn record_follower(
        &self,
        records: &RecordStore,
        here: &Record,
        follows: bool,
    ) -> Result<(), JetStreamError> {
        if here.role != Role::Active || !follows || self.recorded.load(Ordering::Relaxed) == here.epoch {
            return Ok(());
        }
        records.set_followed(here.epoch).await?;
        self.recorded.store(here.epoch, Ordering::Relaxed);
        Ok(())
    }
}

impl Regions {
    /// Whether this region has a lease, or needs none because there is no witness.
    pub fn is_leased(&self) -> bool {
        self.agent.is_leased()
    }

    /// Waits until the pair has a message, and returns whether it has. After a timeout, appends fail without waiting for a
    /// while.
    pub async fn reached(&self, stream: &str, sequence: u64) -> bool {
        self.agent.reach.reached(stream, sequence).await
    }

    /// Fails, with the reason, unless the pair has all messages below a sequence and the snapshots that replace them.
    async fn covers(&self, stream: &str, first: u64) -> Result<(), String> {
        let Sites { here, there, settings, .. } = &*self.agent.sites;
        if !self.agent.roles.is_pair_reachable() {
            // A request to an unreachable pair would delay a partition that is just being acquired.
            return Err(format!("{} did not respond when it was last asked", settings.pair));
        }
        let missing = |error: JetStreamError| format!("the state of {} is unknown: {error}", settings.pair);
        let mirror = there.domain.info(stream).await.map_err(missing)?;
        if !mirror.is_mirror() {
            return Err(format!("{} does not mirror {stream}", settings.pair));
        }
        if mirror.last + 1 < first {
            return Err(format!("{} has {stream} only through {}", settings.pair, mirror.last));
        }
        let objects = format!("OBJ_{}", names::snapshot_bucket(&settings.installation));
        let stored = match here.domain.info(&objects).await {
            // Snapshots are in a store that both regions reach.
            Err(JetStreamError::Missing { .. }) => return Ok(()),
            stored => stored.map_err(|error| error.to_string())?.last,
        };
        let mirrored = there.domain.info(&objects).await.map_err(missing)?.last;
        if mirrored < stored {
            return Err(format!("{} does not have the newest snapshots yet", settings.pair));
        }
        Ok(())
    }
}

/// A wire that respects the paired region: nothing is purged that the pair still needs, and with semi-synchronous
/// replication an append counts only when the pair has it. Without regions it is the wire alone.
pub struct Paired<W> {
    wire: W,
    regions: Option<Regions>,
    semi_sync: bool,
}

impl<W: Wire> Paired<W> {
    pub fn new(wire: W, regions: Option<Regions>, semi_sync: bool) -> Paired<W> {
        Paired { wire, regions, semi_sync }
    }

    /// Whether a stored message may be acknowledged. If the pair does not have it in time, the outcome is unknown and the
    /// caller keeps asking: the loss of a region never revokes an acknowledgement.
    async fn reached(&self, stream: &str, sequence: u64) -> bool {
        match self.regions.as_ref().filter(|_| self.semi_sync) {
            Some(regions) => regions.reached(stream, sequence).await,
            None => true,
        }
    }
}

impl<W: Wire> Wire for Paired<W> {
    async fn publish(&self, message: Outgoing) -> Result<u64, PublishError> {
        let (stream, answers) = (message.stream.clone(), message.expected_last.is_none());
        let sequence = self.wire.publish(message).await?;
        if !self.reached(&stream, sequence).await {
            return Err(PublishError::Unknown(PAIR_LAGS.to_owned()));
        }
        // A request is acknowledged as soon as it is stored. If this took long, another region may be active by now.
        if answers && self.regions.as_ref().is_some_and(|regions| !regions.is_leased()) {
            return Err(PublishError::Unknown(NO_LEASE.to_owned()));
        }
        Ok(sequence)
    }

    async fn bounds(&self, stream: &str) -> Result<Bounds, JetStreamError> {
        self.wire.bounds(stream).await
    }

    async fn storage(&self) -> Result<Storage, JetStreamError> {
        self.wire.storage().await
    }

    async fn get(
        &self,
        stream: &str,
        sequence: u64,
        source: Source,
    ) -> Result<Option<Bytes>, JetStreamError> {
        let found = self.wire.get(stream, sequence, source).await?;
        // A publisher without a response finds out this way whether its message was stored.
        if found.is_some() && source == Source::Leader && !self.reached(stream, sequence).await {
            return Err(JetStreamError::NotReady(PAIR_LAGS.to_owned()));
        }
        Ok(found)
    }

    async fn range(
        &self,
        stream: &str,
        from: u64,
        through: u64,
        bytes_max: usize,
    ) -> Result<Vec<(u64, Bytes)>, JetStreamError> {
        self.wire.range(stream, from, through, bytes_max).await
    }

    async fn purge(&self, stream: &str, first: u64) -> Result<(), JetStreamError> {
        if let Some(regions) = &self.regions {
            regions.covers(stream, first).await.map_err(JetStreamError::NotReady)?;
        }
        self.wire.purge(stream, first).await
    }

    fn follow(&self, stream: &str) -> watch::Receiver<u64> {
        self.wire.follow(stream)
    }
}
