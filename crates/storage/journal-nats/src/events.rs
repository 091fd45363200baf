//! The events of one partition: claims and appends, and what this process knows about the owner.

mod read;
mod trim;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use journal::{AppendError, Claim, RECORD_BYTES_MAX};
use types::{Epoch, PartitionId, Seq};

use crate::fetch::{self, Lost, fetch};
use crate::frame::{Message, Position};
use crate::guarded_append::{self, Fate, Place, SendError};
use crate::jetstream::retry::Backoff;
use crate::limits::SHORT_MAX;
use crate::names;
use crate::nonce::Nonces;
use crate::wire::{Bounds, Wire};

pub(crate) struct Events {
    installation: String,
    partition: PartitionId,
    stream: String,
    subject: String,
    /// The last sequence that this process knows of; the stream may have more.
    known: AtomicU64,
    /// The last sequence that was published as durable; 0 if none was.
    expected: AtomicU64,
    // A lock: held for moments, never across an await.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    owned: Option<Owned>,
    /// The trim point: frames below it may not be read.
    allowed: Seq,
    /// Where reads have ended: the message before the frame that is probably read next.
    places: BTreeMap<Seq, Position>,
}

/// The last ownership of this process.
#[derive(Debug, Clone, Copy)]
struct Owned {
    epoch: Epoch,
    /// The last frame when the partition was claimed.
    since: Seq,
    /// The region's epoch under which the stream was open when the partition was claimed.
    opened: u64,
    /// The last message.
    last: Position,
    append: Append,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Append {
    Idle,
    InFlight,
    /// The caller dropped the append before its outcome was known: only a new claim finds out.
    Unknown,
}

impl Events {
    pub(crate) fn new(installation: &str, partition: PartitionId) -> Events {
        Events {
            installation: installation.to_owned(),
            partition,
            stream: names::events_stream(installation, partition),
            subject: names::events_subject(installation, partition),
            known: AtomicU64::new(0),
            expected: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    /// Fails with `Fenced` unless this process owns the partition under this epoch, as far as it knows.
    pub(crate) fn check_epoch(&self, epoch: Epoch) -> Result<(), AppendError> {
        let owned = self.lock().owned.is_some_and(|owned| owned.epoch == epoch);
        owned.then_some(()).ok_or(AppendError::Fenced { partition: self.partition })
    }

    /// Forgets everything: the stream was replaced.
    pub(crate) fn forget(&self) {
        *self.lock() = State::default();
        self.known.store(0, Ordering::Relaxed);
        self.expected.store(0, Ordering::Relaxed);
    }

    /// From now on the partition is not claimed if its stream ends before this sequence.
    pub(crate) fn expect(&self, last: u64) {
        self.expected.store(last, Ordering::Relaxed);
    }

    /// The last message that was acknowledged to this process, if it owns the partition.
    pub(crate) fn acknowledged(&self) -> Option<u64> {
        self.lock().owned.map(|owned| owned.last.sequence())
    }

    /// Appends a claim after the last message; tries again whenever another message comes first.
    pub(crate) async fn claim<W: Wire>(&self, wire: &W, nonces: &Nonces) -> Result<Claim, AppendError> {
        let mut backoff = Backoff::new();
        loop {
            let bounds = self.complete_bounds(wire).await?;
            let Some(opened) = bounds.opened else {
                // The region is not active. The caller gives up, or the region becomes active.
                backoff.wait().await;
                continue;
            };
            // Another owner has appended and trimmed meanwhile.
            let Some(before) = self.last_position(wire, bounds.last).await? else { continue };
            let claim = Message::claim(self.partition, &before, nonces.make());
            let payload = claim.encode();
            let last = claim.position(checksum_of(&payload));
            let sent = guarded_append::send(wire, self.place(opened), bounds.last, payload).await;
            match sent.map_err(|error| self.refusal(error, 0))? {
                Fate::Refused => continue,
                Fate::Stored => {}
            }
            self.learn(last.sequence());
            let mut state = self.lock();
            // Two claims of one process may complete in either order; the one with the higher epoch counts.
            if state.owned.is_none_or(|owned| owned.epoch < claim.epoch) {
                state.places.clear();
                let since = claim.number;
                state.owned = Some(Owned { epoch: claim.epoch, since, opened, last, append: Append::Idle });
            }
            return Ok(Claim { epoch: claim.epoch, events_tail: claim.number });
        }
    }

    /// The bounds of the stream, once it has all messages that are known to be durable. A leader that was just elected may take
    /// a while to report them.
    async fn complete_bounds<W: Wire>(&self, wire: &W) -> Result<Bounds, AppendError> {
        let mut backoff = Backoff::new();
        let known = self.known.load(Ordering::Relaxed);
        let expected = self.expected.load(Ordering::Relaxed);
        let mut ends = 0;
        for _ in 0..SHORT_MAX {
            let bounds = fetch::bounds(wire, &self.stream).await;
            if bounds.last >= known.max(expected) {
                return Ok(bounds);
            }
            ends = bounds.last;
            backoff.wait().await;
        }
        let (bucket, key) = (names::partition_bucket(&self.installation), names::number(self.partition));
        let detail = format!(
            "stream {} ends at message {ends}, and message {} was acknowledged; see which server lost its data and \
             restore the stream from the paired region or a newer backup; to go on with what is there, as after a \
             restore from a backup, and without what is lost, delete the key {key} of the bucket {bucket} and start all \
             instances again",
            self.stream,
            known.max(expected)
        );
        Err(AppendError::Damaged { partition: self.partition, detail })
    }

    /// The last message, or none if it was trimmed because others have followed it.
    async fn last_position<W: Wire>(&self, wire: &W, last: u64) -> Result<Option<Position>, AppendError> {
        if last == 0 {
            return Ok(Some(Position::START));
        }
        let detail = match fetch(wire, &self.stream, last, |bytes| self.check(bytes, last)).await {
            Ok((message, checksum)) => return Ok(Some(message.position(checksum))),
            Err(Lost::Trimmed(bounds)) if bounds.first <= bounds.last => return Ok(None),
            Err(Lost::Trimmed(bounds)) => format!(
                "stream {} was emptied: it starts at {} and ends at {}; restore it from the paired region or a backup",
                self.stream, bounds.first, bounds.last
            ),
            Err(Lost::Damaged(detail)) => detail,
        };
        Err(AppendError::Damaged { partition: self.partition, detail })
    }

    /// Appends a frame of an owner that has read the inbox through `inbox`. `fenced` counts the frames that were refused
    /// because of another owner.
    pub(crate) async fn append<W: Wire>(
        &self,
        wire: &W,
        nonces: &Nonces,
        fenced: &AtomicU64,
        expected: (Epoch, Seq),
        inbox: u64,
        frame: Bytes,
    ) -> Result<Seq, AppendError> {
        let (epoch, expected_tail) = expected;
        let partition = self.partition;
        let bytes = frame.len();
        if bytes > RECORD_BYTES_MAX {
            return Err(AppendError::TooLarge { bytes, bytes_max: RECORD_BYTES_MAX });
        }
        let (before, opened) = self.begin(epoch, expected_tail)?;
        let in_flight = InFlight { events: self, epoch, outcome: Append::Unknown };
        let message = Message::frame(partition, &before, nonces.make(), inbox, frame);
        let payload = message.encode();
        let last = message.position(checksum_of(&payload));
        let sent = guarded_append::send(wire, self.place(opened), before.sequence(), payload).await;
        match sent {
            Ok(Fate::Stored) => {
                self.learn(last.sequence());
                in_flight.stored(last);
                Ok(message.number)
            }
            Ok(Fate::Refused) => {
                fenced.fetch_add(1, Ordering::Relaxed);
                in_flight.fenced();
                Err(AppendError::Fenced { partition })
            }
            Err(error @ (SendError::Full | SendError::TooLarge)) => {
                in_flight.settled();
                Err(self.refusal(error, bytes))
            }
            Err(error @ SendError::Damaged(_)) => Err(self.refusal(error, bytes)),
        }
    }

    /// The region's epoch under which the stream was open when this process last claimed the partition.
    pub(crate) fn opened(&self) -> Option<u64> {
        self.lock().owned.map(|owned| owned.opened)
    }

    fn place(&self, opened: u64) -> Place<'_> {
        Place { stream: &self.stream, subject: &self.subject, opened }
    }

    /// The message that the next frame follows, and the region's epoch under which the partition was claimed.
    fn begin(&self, epoch: Epoch, expected_tail: Seq) -> Result<(Position, u64), AppendError> {
        let partition = self.partition;
        let mut state = self.lock();
        let Some(owned) = state.owned.as_mut().filter(|owned| owned.epoch == epoch) else {
            return Err(AppendError::Fenced { partition });
        };
        match owned.append {
            Append::Idle => {}
            Append::Unknown => return Err(AppendError::Unknown { partition }),
            Append::InFlight => {
                drop(state);
                panic!("partition {partition} has an append in flight");
            }
        }
        if owned.last.number != expected_tail {
            return Err(AppendError::Conflict { partition, tail: owned.last.number });
        }
        owned.append = Append::InFlight;
        Ok((owned.last, owned.opened))
    }

    fn refusal(&self, error: SendError, bytes: usize) -> AppendError {
        match error {
            SendError::Full => AppendError::Full,
            SendError::TooLarge => AppendError::TooLarge { bytes, bytes_max: RECORD_BYTES_MAX },
            SendError::Damaged(detail) => AppendError::Damaged { partition: self.partition, detail },
        }
    }

    /// The message in these bytes, if it belongs at this sequence.
    fn check(&self, bytes: &Bytes, sequence: u64) -> Result<(Message, u32), String> {
        let (message, checksum) = Message::decode(bytes).map_err(|bad| bad.to_string())?;
        if message.partition != self.partition {
            return Err(format!("it belongs to partition {}", message.partition));
        }
        if message.sequence() != sequence {
            return Err(format!("it belongs at {}", message.sequence()));
        }
        Ok((message, checksum))
    }

    fn learn(&self, last: u64) {
        self.known.fetch_max(last, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the lock panics")
    }
}

/// The append in flight of a partition. If it is dropped, its outcome is unknown.
struct InFlight<'a> {
    events: &'a Events,
    epoch: Epoch,
    outcome: Append,
}

impl InFlight<'_> {
    fn stored(mut self, last: Position) {
        self.outcome = Append::Idle;
        self.with_owned(|owned| owned.last = last);
    }

    fn settled(mut self) {
        self.outcome = Append::Idle;
    }

    /// Nothing can be appended under this epoch any more.
    fn fenced(self) {
        let mut state = self.events.lock();
        if state.owned.is_some_and(|owned| owned.epoch == self.epoch) {
            state.owned = None;
        }
    }

    /// Changes the ownership that the append began under; not a later one of this process.
    fn with_owned(&self, change: impl FnOnce(&mut Owned)) {
        let mut state = self.events.lock();
        if let Some(owned) = state.owned.as_mut().filter(|owned| owned.epoch == self.epoch) {
            change(owned);
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let outcome = self.outcome;
        self.with_owned(|owned| owned.append = outcome);
    }
}

/// The checksum at the end of a message.
fn checksum_of(payload: &Bytes) -> u32 {
    let end = payload.last_chunk().expect("every message has a checksum");
    u32::from_le_bytes(*end)
}
