//! Waiting until the pair has what was stored here: for answers that promise that no region's loss undoes them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::decide::role::Role;
use crate::leases::Leases;
use crate::promote::Promoted;
use crate::record::Record;
use crate::{RegionAgent, Regions};
use journal_nats::jetstream::{JetStream, JetStreamError};
use journal_nats::names;
use journal_nats::{Bounds, Outgoing, PublishError, Source, Storage, Wire};

/// Between two looks at one mirror while somebody waits. A look takes a journey to the pair anyway.
const LOOK_EVERY: Duration = Duration::from_millis(2);

const PAIR_LAGS: &str = "the paired region does not have it yet";
const NO_LEASE: &str = "the leases of this region have run out";

/// How far the mirrors are, for whoever waits. One look answers all who wait for the same stream.
pub(super) struct Reach {
    pair: JetStream,
    /// How long an append waits before it fails because the pair does not have it.
    patience: Duration,
    // A lock: looked up by every append, held for a lookup, never while waiting.
    mirrors: Mutex<BTreeMap<String, watch::Sender<Mirror>>>,
    /// Whether the pair stands by, as far as was seen; until then it counts as if it did.
    follows: AtomicBool,
    /// The epoch for which it is noted that the pair stands by.
    noted: AtomicU64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Mirror {
    last: u64,
    /// Nobody waits for the pair before then: it did not answer just now.
    given_up_until: Option<Instant>,
    looked_at: bool,
}

impl Reach {
    pub(super) fn new(pair: JetStream, patience: Duration) -> Arc<Reach> {
        Arc::new(Reach {
            pair,
            patience,
            mirrors: Mutex::default(),
            follows: AtomicBool::new(true),
            noted: AtomicU64::new(0),
        })
    }

    /// Whether the pair stood by when it was seen last.
    pub(super) fn note_follower(&self, follows: bool) {
        if self.follows.swap(follows, Ordering::Relaxed) != follows {
            tracing::warn!(
                follows,
                "whether the pair stands by has changed; semi-sync waits only while it does"
            );
        }
    }

    async fn reached(self: &Arc<Reach>, stream: &str, sequence: u64) -> bool {
        // A pair that was lost by force has nothing to be waited for until it stands by again.
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

    /// Follows a mirror, and sees to it that somebody looks.
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

    /// Looks at one mirror for as long as somebody waits.
    async fn look(&self, stream: &str, mirror: watch::Sender<Mirror>) {
        loop {
            if let Ok(info) = self.pair.info(stream).await {
                mirror.send_modify(|mirror| {
                    // A stream that is not a mirror is the pair's own, with other messages under the same numbers. And a mirror
                    // that was created again has lost what the one before had.
                    mirror.last = if info.is_mirror() { info.last } else { 0 };
                    mirror.given_up_until = None;
                });
            }
            let idle = mirror.send_if_modified(|known| {
                // Nobody can begin to wait meanwhile: that takes this same lock.
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
            tracing::warn!(stream, "the pair does not get what is stored here");
            let until = Instant::now() + self.patience;
            mirror.send_modify(|mirror| mirror.given_up_until = Some(until));
        }
    }
}

impl RegionAgent {
    /// A pair that was left behind by force, and has not stood by since, has nothing to be waited for: a restart does not
    /// change that.
    pub(super) async fn recall_follower(&self) -> Result<(), JetStreamError> {
        let records = &self.here.records;
        let (record, _) = records.record().await?;
        let Some(here) = record.filter(|record| record.role == Role::Active) else { return Ok(()) };
        let promoted: Option<Promoted> = records.promoted().await?;
        let by_force = promoted.is_some_and(|promoted| promoted.epoch == here.epoch && promoted.forced);
        if by_force && records.followed().await? != Some(here.epoch) {
            self.reach.note_follower(false);
        }
        Ok(())
    }

    /// Notes that the pair stands by under this region's epoch, once.
    pub(super) async fn note_followed(
        &self,
        here: &Record,
        pair: Option<&Record>,
    ) -> Result<(), JetStreamError> {
        let follows = pair.is_some_and(|pair| pair.role == Role::Standby && pair.epoch == here.epoch);
        let noted = &self.reach.noted;
        if here.role != Role::Active || !follows || noted.load(Ordering::Relaxed) == here.epoch {
            return Ok(());
        }
        self.here.records.set_followed(here.epoch).await?;
        noted.store(here.epoch, Ordering::Relaxed);
        Ok(())
    }
}

impl Regions {
    /// Whether this region has what it must have to be active; without a witness that is nothing.
    pub fn is_leased(&self) -> bool {
        self.inner.leases.as_ref().is_none_or(Leases::hold)
    }

    /// Waits until the pair has a message, and says whether it has. Once it was waited for in vain, nobody waits for a
    /// while: refusals come at once then.
    pub async fn reached(&self, stream: &str, sequence: u64) -> bool {
        self.inner.reach.reached(stream, sequence).await
    }

    /// Whether the pair can do without what is below a sequence: it has that itself, and the snapshots that were
    /// stored before. If not, why.
    async fn covers(&self, stream: &str, first: u64) -> Result<(), String> {
        let RegionAgent { here, there, settings, seen, .. } = &*self.inner;
        if !seen.borrow().pair_reachable {
            // Asking an unreachable pair now would delay a partition that is just being taken.
            return Err(format!("{} did not answer when it was last asked", settings.pair));
        }
        let missing =
            |error: JetStreamError| format!("{} cannot be asked what it has: {error}", settings.pair);
        let mirror = there.domain.info(stream).await.map_err(missing)?;
        if !mirror.is_mirror() {
            return Err(format!("{} does not mirror {stream}", settings.pair));
        }
        if mirror.last + 1 < first {
            return Err(format!("{} has {stream} only through {}", settings.pair, mirror.last));
        }
        let objects = format!("OBJ_{}", names::snapshot_bucket(&settings.installation));
        let stored = match here.domain.info(&objects).await {
            // Snapshots are kept where both reach them.
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

/// The wire of a region that has a pair: nothing is forgotten that the pair could not do without, and with semi-sync
/// what is stored counts only when the pair has it, too. Without regions it is the wire alone.
pub struct Paired<W> {
    wire: W,
    regions: Option<Regions>,
    semi_sync: bool,
}

impl<W: Wire> Paired<W> {
    pub fn new(wire: W, regions: Option<Regions>, semi_sync: bool) -> Paired<W> {
        Paired { wire, regions, semi_sync }
    }

    /// Whether what is stored at a sequence may be acknowledged. Where it has to wait for the pair and that does
    /// not have it, it counts as unknown, and whoever asks goes on asking: no answer is ever undone by the loss of a
    /// region.
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
        // A request is acknowledged as soon as it is stored. Whoever was held up on the way may have been replaced.
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
        // This is how the outcome of a publish without an answer is found out.
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
