//! The inbox of one partition: requests that wait at the same time share a message, and each message is stored once.

mod gap;
mod read;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use journal::{AppendError, RECORD_BYTES_MAX};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::Instant;
use types::{PartitionId, Seq};

use crate::batch;
use crate::jetstream::retry::Backoff;
use crate::limits::{INBOX_IN_FLIGHT_MAX, INBOX_PATIENCE, INBOX_WAITING_KIB_MAX};
use crate::names;
use crate::nonce::Nonces;
use crate::wire::{Bounds, Outgoing, PublishError, Wire};

pub(crate) use gap::Shortness;

pub(crate) struct Inbox {
    partition: PartitionId,
    stream: String,
    subject: String,
    /// The stream of the partition's events, which record the requests that were taken.
    events: String,
    /// The region's epoch under which the stream was open when it was last read.
    opened: AtomicU64,
    /// The last record that is known to be durable.
    tail: watch::Sender<Seq>,
    /// The last message that this process has read.
    read: AtomicU64,
    // A lock: held for moments, never across an await.
    state: Mutex<State>,
    /// The room for waiting requests, in KiB.
    room: Semaphore,
    /// Counts how often the stream ended before the last request that was taken.
    gaps: Gaps,
}

/// A counter that all inboxes share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gaps(Arc<AtomicU64>);

impl Gaps {
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn inc(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// Messages that are sent and not acknowledged.
    in_flight: usize,
    /// The trim point: requests below it may not be read.
    allowed: Seq,
    follows: bool,
    /// Rises whenever the stream is replaced.
    history: u64,
}

/// The requests of one append.
struct Waiting {
    records: Vec<Bytes>,
    bytes: usize,
    answer: oneshot::Sender<Result<Seq, AppendError>>,
}

impl Inbox {
    pub(crate) fn new(installation: &str, partition: PartitionId, bounds: &Bounds, gaps: Gaps) -> Inbox {
        Inbox {
            partition,
            stream: names::inbox_stream(installation, partition),
            subject: names::inbox_subject(installation, partition),
            events: names::events_stream(installation, partition),
            tail: watch::Sender::new(batch::last_number(bounds.last)),
            opened: AtomicU64::new(bounds.opened.unwrap_or_default()),
            read: AtomicU64::new(0),
            state: Mutex::default(),
            room: Semaphore::new(INBOX_WAITING_KIB_MAX),
            gaps,
        }
    }

    /// The last message whose requests an owner in this process may have taken.
    pub(crate) fn read_through(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    fn note_read(&self, sequence: u64) {
        self.read.fetch_max(sequence, Ordering::Relaxed);
    }

    pub(crate) fn stream(&self) -> &str {
        &self.stream
    }

    /// Appends all requests or none.
    pub(crate) async fn append<W: Wire>(
        self: &Arc<Self>,
        wire: &Arc<W>,
        nonces: &Arc<Nonces>,
        records: Vec<Bytes>,
    ) -> Result<Seq, AppendError> {
        let bytes = records.iter().map(Bytes::len).sum();
        if bytes > RECORD_BYTES_MAX || records.len() as u64 > batch::NUMBERS {
            return Err(AppendError::TooLarge { bytes, bytes_max: RECORD_BYTES_MAX });
        }
        if records.is_empty() {
            return Ok(*self.tail.borrow());
        }
        let kib = u32::try_from(bytes >> 10).expect("the size was checked") + 1;
        let _room = self.room.acquire_many(kib).await.expect("it is never closed");
        let (answer, answered) = oneshot::channel();
        let starts = {
            let mut state = self.lock();
            state.waiting.push_back(Waiting { records, bytes, answer });
            let starts = state.in_flight < INBOX_IN_FLIGHT_MAX;
            state.in_flight += usize::from(starts);
            starts
        };
        if starts {
            let (inbox, wire, nonces) = (Arc::clone(self), Arc::clone(wire), Arc::clone(nonces));
            host::spawn("inbox", async move { inbox.send_all(&*wire, &nonces).await });
        }
        answered.await.unwrap_or(Err(AppendError::Closed))
    }

    /// Sends waiting requests until there are none.
    async fn send_all<W: Wire>(&self, wire: &W, nonces: &Nonces) {
        while let Some(together) = self.take_waiting() {
            let records: Vec<Bytes> =
                together.iter().flat_map(|waiting| waiting.records.iter().cloned()).collect();
            match self.send(wire, nonces, &records).await {
                Ok(sequence) => self.answer_stored(sequence, records.len(), together),
                Err(error) => {
                    for waiting in together {
                        // The caller may have gone.
                        let _ = waiting.answer.send(Err(error.clone()));
                    }
                }
            }
        }
    }

    /// As many appends as fit into one message; `None` if the sender should end.
    fn take_waiting(&self) -> Option<Vec<Waiting>> {
        let mut state = self.lock();
        let mut together = Vec::new();
        let (mut bytes, mut count) = (0, 0);
        while let Some(next) = state.waiting.front() {
            let fits = bytes + next.bytes <= RECORD_BYTES_MAX
                && (count + next.records.len()) as u64 <= batch::NUMBERS;
            if !fits {
                break;
            }
            bytes += next.bytes;
            count += next.records.len();
            together.extend(state.waiting.pop_front());
        }
        if together.is_empty() {
            state.in_flight -= 1;
            return None;
        }
        Some(together)
    }

    /// Stores the requests after all messages that are known to have existed.
    async fn send<W: Wire>(&self, wire: &W, nonces: &Nonces, records: &[Bytes]) -> Result<u64, AppendError> {
        loop {
            let (known, history) = (batch::sequence_of(*self.tail.borrow()), self.lock().history);
            let sequence = self.send_once(wire, nonces, records).await?;
            if sequence > known || self.lock().history != history {
                return Ok(sequence);
            }
            // The stream was replaced, and an owner may already be past this number. If it is not, it drops duplicate
            // requests by their ids.
            self.close_gap(wire, Shortness::Seen).await?;
        }
    }

    /// Sends one message until it is acknowledged; the server recognizes it by its nonce and stores it once.
    async fn send_once<W: Wire>(
        &self,
        wire: &W,
        nonces: &Nonces,
        records: &[Bytes],
    ) -> Result<u64, AppendError> {
        let partition = self.partition;
        let nonce = nonces.make();
        let payload = batch::encode(partition, nonce, records);
        let begun = Instant::now();
        let mut backoff = Backoff::new();
        let mut open = false;
        loop {
            let sent = wire.publish(Outgoing {
                stream: self.stream.clone(),
                subject: names::subject_in(&self.subject, self.opened.load(Ordering::Relaxed)),
                expected_last: None,
                message_id: Some(nonce.to_string()),
                payload: payload.clone(),
            });
            match sent.await {
                Ok(sequence) => return Ok(sequence),
                Err(PublishError::TooLarge) => {
                    let bytes = records.iter().map(Bytes::len).sum();
                    return Err(AppendError::TooLarge { bytes, bytes_max: RECORD_BYTES_MAX });
                }
                Err(PublishError::Full) if !open => return Err(AppendError::Full),
                Err(PublishError::Full) => {}
                Err(PublishError::WrongLast | PublishError::Unknown(_)) => {
                    open = true;
                    // A promotion reopens the stream under another subject.
                    if let Ok(bounds) = wire.bounds(&self.stream).await {
                        self.note_opened(&bounds);
                    }
                }
            }
            if begun.elapsed() >= INBOX_PATIENCE {
                return Err(AppendError::Unknown { partition });
            }
            backoff.wait().await;
        }
    }

    fn answer_stored(&self, sequence: u64, count: usize, together: Vec<Waiting>) {
        let mut last = batch::last_number(sequence).0 - count as u64;
        self.learn(sequence);
        for waiting in together {
            last += waiting.records.len() as u64;
            let _ = waiting.answer.send(Ok(Seq(last)));
        }
    }

    /// The last known record; the stream is followed from the first call on.
    pub(crate) fn tail<W: Wire>(self: &Arc<Self>, wire: &Arc<W>) -> watch::Receiver<Seq> {
        let follows = std::mem::replace(&mut self.lock().follows, true);
        if !follows {
            let mut last = wire.follow(&self.stream);
            let inbox = Arc::downgrade(self);
            let history = self.lock().history;
            host::spawn("inbox tail", async move {
                loop {
                    let sequence = *last.borrow_and_update();
                    let Some(inbox) = inbox.upgrade() else { return };
                    // A tail that was in flight when the stream was replaced says nothing about the new one.
                    if inbox.lock().history != history {
                        return;
                    }
                    inbox.learn(sequence);
                    drop(inbox);
                    if last.changed().await.is_err() {
                        return;
                    }
                }
            });
        }
        self.tail.subscribe()
    }

    /// While the stream is closed, the subject under which it was last open.
    fn note_opened(&self, bounds: &Bounds) {
        if let Some(opened) = bounds.opened {
            self.opened.store(opened, Ordering::Relaxed);
        }
    }

    /// Forgets everything: the stream was replaced and has these bounds.
    pub(crate) fn forget<W: Wire>(self: &Arc<Self>, wire: &Arc<W>, bounds: &Bounds) {
        self.note_opened(bounds);
        let followed = {
            let mut state = self.lock();
            state.allowed = Seq::ZERO;
            state.history += 1;
            std::mem::take(&mut state.follows)
        };
        self.read.store(0, Ordering::Relaxed);
        self.tail.send_replace(batch::last_number(bounds.last));
        if followed {
            self.tail(wire);
        }
    }

    /// Learns that the stream has this message, and so all before it.
    fn learn(&self, sequence: u64) {
        let number = batch::last_number(sequence);
        self.tail.send_if_modified(|tail| {
            let risen = number > *tail;
            *tail = number.max(*tail);
            risen
        });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the lock panics")
    }
}
